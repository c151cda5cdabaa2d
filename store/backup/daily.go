package backup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"holdfast/store"
	"holdfast/store/bucket"
	"holdfast/store/disk"
)

// notifyAge is the age of the last good backup after which the clinic gets an email, and the time between two emails.
const notifyAge = 3 * 24 * time.Hour

// Daily makes the daily backups of a plan. Only one goroutine may use it at a time.
type Daily struct {
	*Backups
	destination destination // nil if there is none
	began       time.Time
	retryAt     time.Time // Run does nothing before this time; set after a failure
	notifiedAt  time.Time
	denied      bool // the log already reports that expired backups could not be deleted
}

// Daily returns the Daily that makes the backups of b.
func (b *Backups) Daily() *Daily {
	return &Daily{Backups: b, destination: b.Plan.destination(b.Data), began: time.Now()}
}

// CheckDestination logs a warning if the backup destination is unusable. The server calls it when it starts, so that
// the operator sees the problem then and not only after a failed backup at night.
func (d *Daily) CheckDestination(ctx context.Context) {
	if d.destination == nil {
		return
	}
	_, err := d.listCopies(ctx)
	if err == nil {
		_, err = d.destination.recipient(d.Data)
	}
	if err != nil && ctx.Err() == nil {
		d.Logger.Warn("backup destination unusable", "destination", d.destination, "error", err)
	}
}

// Run makes a backup if one is due, copies it, and deletes expired backups. Call it once a minute. After a failure it
// does nothing until Retry has passed.
func (d *Daily) Run(ctx context.Context, now time.Time) {
	if now.Before(d.retryAt) {
		return
	}
	err := d.run(ctx, now)
	if err == nil || ctx.Err() != nil {
		return
	}
	d.retryAt = now.Add(Retry)
	d.Logger.Error("daily backup failed; retrying", "in", Retry, "error", err)
	last, _ := d.Last()
	if last.IsZero() {
		last = d.began
	}
	if now.Sub(last) >= notifyAge && now.Sub(d.notifiedAt) >= notifyAge {
		d.notifiedAt = now
		if err := d.Notify(ctx, last, err.Error()); err != nil {
			d.Logger.Error("failed to queue the email about failing backups", "error", err)
		}
	}
}

// run makes a backup if one is due, deletes the expired ones, and copies the newest to the destination.
func (d *Daily) run(ctx context.Context, now time.Time) error {
	here, zone := d.file(Folder), d.Zone()
	made, err := ownBackups(here)
	if err != nil {
		return err
	}
	var newest time.Time
	for _, at := range made {
		if !at.After(now) { // after the clock is set back, a backup from the future does not count as today's
			newest = at
		}
	}
	if d.Plan.due(newest, now, zone) {
		if err := d.requireSpace(here); err != nil {
			return err
		}
		path := filepath.Join(here, ownName(now))
		if err := d.Create(ctx, path); err != nil {
			return err
		}
		d.Logger.Info("backup written and verified", "directory", path)
		newest = now.UTC().Truncate(time.Millisecond)
		made = append(made, newest)
		slices.SortFunc(made, time.Time.Compare)
	}
	failed := errors.Join(d.expire(ctx, directory(here), made), d.Plan.Keep.expireEarlier(here, now))
	if d.destination != nil {
		failed = errors.Join(failed, d.copyToDestination(ctx, ownName(newest)))
	}
	return failed
}

// listCopies returns when each daily backup at the destination was made, and stores the newest of these times for Last.
func (d *Daily) listCopies(ctx context.Context) (made []time.Time, err error) {
	all, err := d.destination.backups(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		if b.own {
			made = append(made, b.made)
		}
	}
	if len(made) > 0 {
		d.backedUp.Store(&made[len(made)-1])
	}
	return made, nil
}

// requireSpace returns store.ErrFull if a backup would leave too little free space for the server. The server needs
// free space of twice the size of the database plus 64 MB.
func (b *Backups) requireSpace(dir string) error {
	free, known := disk.Free(dir)
	bytes, measured := b.DatabaseBytes()
	if !known || !measured {
		return nil
	}
	if least := 3*bytes + 64<<20; free < least {
		return fmt.Errorf("%w: a backup of the database (%d MB) needs %d MB of free space, but only %d MB is free. "+
			"Free some space, or reduce --backup-keep",
			store.ErrFull, bytes>>20, least>>20, free>>20)
	}
	return nil
}

// expire deletes the expired daily backups in a destination. If the access key of a bucket has no right to delete,
// expire logs this once. In that case, the bucket's own lifecycle rules must delete the backups (docs/backup.md).
func (d *Daily) expire(ctx context.Context, in destination, made []time.Time) error {
	var failed error
	denied := false
	for _, at := range d.Plan.Keep.expired(made, d.Zone()) {
		if err := in.remove(ctx, ownName(at)); errors.Is(err, bucket.ErrDenied) {
			denied = true
		} else {
			failed = errors.Join(failed, err)
		}
	}
	if denied && !d.denied {
		d.denied = true
		d.Logger.Info("expired backups not deleted from the backup destination: access denied", "destination", in)
	}
	return failed
}

// copyToDestination copies a backup to the destination, unless the destination already has it. After a copy, it deletes
// the expired copies.
func (d *Daily) copyToDestination(ctx context.Context, name string) error {
	to, err := d.destination.recipient(d.Data)
	if err != nil {
		return err
	}
	made, err := d.listCopies(ctx)
	if err != nil {
		return fmt.Errorf("the backups at %s could not be listed: %w", d.destination, err)
	}
	if slices.ContainsFunc(made, func(at time.Time) bool { return ownName(at) == name }) {
		return nil
	}
	if err := d.destination.copyBackup(ctx, filepath.Join(d.file(Folder), name), name, to); err != nil {
		return fmt.Errorf("the backup was not copied to %s: %w", d.destination, err)
	}
	d.Logger.Info("backup copied and verified", "copy", d.destination.path(name), "sealed", to != nil)
	if made, err = d.listCopies(ctx); err != nil {
		return err
	}
	return d.expire(ctx, d.destination, made)
}
