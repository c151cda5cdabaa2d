package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"filippo.io/age"

	"holdfast/engine"
	"holdfast/engine/timed"
	"holdfast/store"
	"holdfast/store/bucket"
)

// # Backups that nobody has to remember
//
// Once a day the server makes a backup into its data directory, checks it, and deletes those of its own that the plan does not
// keep. Where a backup destination is named, each is copied there and read back. What fails is tried again, said in the log and to be
// seen in /metrics, and after some days the clinic gets a mail.

const (
	// retryBackup is how long after a failure the next try is.
	retryBackup = 15 * time.Minute
	// tellBackup is how old the last good backup may become before the clinic is told, and how often it is told.
	tellBackup = 3 * 24 * time.Hour
)

// backupKeeper carries a plan out.
type backupKeeper struct {
	*house
	plan    backupPlan
	second  place // nil: none
	began   time.Time
	retryAt time.Time // after a failure
	toldAt  time.Time
	stays   bool // it was said that what is past its days stays at the backup destination
}

// keepBackups carries a plan out until ctx ends. It looks once a minute, so a start is over before its first backup.
func (h *house) keepBackups(ctx context.Context, plan backupPlan) {
	if !plan.on {
		return
	}
	k := h.newBackupKeeper(plan)
	k.tryOut(ctx)
	timed.Every(ctx, time.Minute, func(now time.Time) { k.look(ctx, now) })
}

func (h *house) newBackupKeeper(plan backupPlan) *backupKeeper {
	return &backupKeeper{house: h, plan: plan, second: plan.place(h.dir.path), began: time.Now()}
}

// tryOut finds out at the start whether the backup destination can be used, and says so if it cannot: nobody wants to know in the night.
func (k *backupKeeper) tryOut(ctx context.Context) {
	if k.second == nil {
		return
	}
	_, err := k.lookSecond(ctx)
	if err == nil {
		_, err = k.second.sealer(k.dir)
	}
	if err != nil && ctx.Err() == nil {
		k.log.Warn("backup destination unusable", "place", k.second, "error", err)
	}
}

// look does what is due.
func (k *backupKeeper) look(ctx context.Context, now time.Time) {
	if now.Before(k.retryAt) {
		return
	}
	err := k.keep(ctx, now)
	if err == nil || ctx.Err() != nil {
		return
	}
	k.retryAt = now.Add(retryBackup)
	k.log.Error("nightly backup failed; retrying", "in", retryBackup, "error", err)
	last, _ := k.lastGoodBackup(k.plan)
	if last.IsZero() {
		last = k.began
	}
	if now.Sub(last) >= tellBackup && now.Sub(k.toldAt) >= tellBackup {
		k.toldAt = now
		if err := k.engine.Message.NotifyOfBackups(ctx, last, err.Error()); err != nil {
			k.log.Error("email about failing backups not queued", "error", err)
		}
	}
}

// keep makes a backup if one is due, copies what the backup destination lacks, and deletes what the plan does not keep.
func (k *backupKeeper) keep(ctx context.Context, now time.Time) error {
	here, zone := k.dir.file(backupsDir), k.engine.Clinic.Zone()
	made, err := ownBackupsIn(here)
	if err != nil {
		return err
	}
	var newest time.Time
	for _, at := range made {
		if !at.After(now) { // one from before the clock was set back says nothing about today
			newest = at
		}
	}
	if k.plan.due(newest, now, zone) {
		if err := k.roomFor(here); err != nil {
			return err
		}
		if err := k.backup(ctx, filepath.Join(here, ownBackupName(now))); err != nil {
			return err
		}
		k.log.Info("backup written and verified", "directory", filepath.Join(here, ownBackupName(now)))
		newest = now.UTC().Truncate(time.Millisecond)
		made = append(made, newest)
		slices.SortFunc(made, time.Time.Compare)
	}
	failed := errors.Join(k.expire(ctx, directory(here), made), k.plan.keep.expireEarlier(here, now))
	if k.second != nil {
		failed = errors.Join(failed, k.copyOver(ctx, ownBackupName(newest)))
	}
	return failed
}

// lookSecond lists when the server's own backups at the backup destination were made, and notes the newest for those who may not wait for that
// place. One that cannot be read says nothing new.
func (k *backupKeeper) lookSecond(ctx context.Context) (made []time.Time, err error) {
	all, err := k.second.backups(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		if b.own {
			made = append(made, b.made)
		}
	}
	if len(made) > 0 {
		k.backedUp.Store(&made[len(made)-1])
	}
	return made, nil
}

// roomFor refuses a backup that would leave the server too little of its disk: a clinic that can write is worth more than a copy
// of it beside it.
func (h *house) roomFor(dir string) error {
	free, known := freeBytes(dir)
	m, measured := h.engine.Measurements()
	if !known || !measured {
		return nil
	}
	if least := 3*uint64(m.Bytes) + 64<<20; free < least {
		return fmt.Errorf("%w: a backup beside the database of %d MB needs %d MB free, and %d MB are. Make room, or keep fewer with --backup-keep",
			store.ErrFull, m.Bytes>>20, least>>20, free>>20)
	}
	return nil
}

// expire deletes the server's own backups in a place that the plan does not keep. Where the key of a bucket may not delete, the bucket's own rules do
// (docs/backup.md), and it is said once.
func (k *backupKeeper) expire(ctx context.Context, in place, made []time.Time) error {
	var failed error
	denied := false
	for _, at := range k.plan.keep.expendable(made, k.engine.Clinic.Zone()) {
		if err := in.remove(ctx, ownBackupName(at)); errors.Is(err, bucket.ErrDenied) {
			denied = true
		} else {
			failed = errors.Join(failed, err)
		}
	}
	if denied && !k.stays {
		k.stays = true
		k.log.Info("expired backups kept at the backup destination: no right to delete", "place", in)
	}
	return failed
}

// copyOver copies a backup to the backup destination, sealed where there is a key, if that does not have it, reads it back, and deletes what the
// plan does not keep there.
func (k *backupKeeper) copyOver(ctx context.Context, name string) error {
	recipient, err := k.second.sealer(k.dir)
	if err != nil {
		return err
	}
	made, err := k.lookSecond(ctx)
	if err != nil {
		return fmt.Errorf("what %s has cannot be found out: %w", k.second, err)
	}
	if slices.ContainsFunc(made, func(at time.Time) bool { return ownBackupName(at) == name }) {
		return nil
	}
	if err := k.second.copyBackup(ctx, k.dir.file(filepath.Join(backupsDir, name)), name, recipient); err != nil {
		return fmt.Errorf("the backup was not copied to %s: %w", k.second, err)
	}
	k.log.Info("backup copied and verified", "copy", k.second.path(name), "sealed", recipient != nil)
	if made, err = k.lookSecond(ctx); err != nil {
		return err
	}
	return k.expire(ctx, k.second, made)
}

// copyBackup makes a durable copy of a backup's directory, sealed for a recipient if there is one, whole or not at all, and compares
// what it reads back.
func copyBackup(from, to string, recipient *age.X25519Recipient) (err error) {
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(to), ".backup-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	for _, f := range files {
		source, target := filepath.Join(from, f.Name()), filepath.Join(partial, f.Name())
		var want []byte
		if recipient != nil {
			target += sealedSuffix
			want, err = sealFile(source, target, recipient)
		} else if err = copyFile(source, target); err == nil {
			want, err = digestOf(source)
		}
		if err != nil {
			return err
		}
		if got, err := digestOf(target); err != nil || !bytes.Equal(got, want) {
			return errors.Join(fmt.Errorf("%s reads back as something else: look at that disk", f.Name()), err)
		}
	}
	if err := syncDir(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

func digestOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}

// lastGoodBackup is when the newest backup was made that is where the plan wants it: at the backup destination, if there is one, as far as its keeper has
// found. It does not look there itself: a request that asked would wait for a mount that hangs. engine.ErrNoBackup.
func (h *house) lastGoodBackup(plan backupPlan) (time.Time, error) {
	if !plan.on || plan.second == "" {
		return h.dir.lastBackup()
	}
	if last := h.backedUp.Load(); last != nil {
		return *last, nil
	}
	return time.Time{}, engine.ErrNoBackup
}
