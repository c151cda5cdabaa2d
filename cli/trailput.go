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
	"time"

	"filippo.io/age"

	"holdfast/store/sqlite"
)

// madeStep is a step that was read out of the database, on its way to the backup destination.
type madeStep struct {
	spool  string // the file in the data directory
	bytes  int64
	sum    []byte // of the file
	file   string // its name in the set
	digest string
	at     time.Time // up to when it has everything
	moment sqlite.Moment
	keys   []byte // secret.key
}

// step makes the next step of a trail: of the whole database, or of what has changed since the last. If nothing has, there is none. One of which nobody
// knows whether it was put is put once more before, as it was: what was under way may still come, in the place of another.
func (k *trailKeeper) step(ctx context.Context, t *trail, recipient *age.X25519Recipient, whole bool) error {
	if t.unsure != nil {
		if err := k.send(ctx, t, t.unsure); err != nil {
			return err
		}
		_ = os.Remove(t.unsure.spool)
		t.unsure = nil
	}
	made, err := k.read(ctx, t, recipient, whole)
	if err != nil {
		return err
	}
	if made.moment.Changed > 0 || !bytes.Equal(made.keys, t.keys) {
		err = k.send(ctx, t, made)
	} else {
		k.noted(made)
	}
	if errors.Is(err, errUnsure) {
		t.unsure = made
		return err
	}
	return errors.Join(err, os.Remove(made.spool))
}

// read reads what the next step has into a file of the data directory.
func (k *trailKeeper) read(ctx context.Context, t *trail, recipient *age.X25519Recipient, whole bool) (_ *madeStep, err error) {
	made := &madeStep{at: time.Now(), file: stepName(t.next, recipient != nil)}
	if made.keys, err = os.ReadFile(k.dir.file(secretFile)); err != nil {
		return nil, err
	}
	spool, err := os.CreateTemp(k.dir.path, spoolFile)
	if err != nil {
		return nil, err
	}
	made.spool = spool.Name()
	written := sha256.New()
	head := stepHead{Trail: t.set, Number: t.next, Made: made.at.UTC(), After: t.after, Keys: made.keys}
	k.slow.Stop()
	made.moment, made.digest, err = writeStep(io.MultiWriter(spool, written), recipient, head, func(each func(int, []byte) error) (sqlite.Moment, error) {
		return k.pages.Read(ctx, whole, each)
	})
	k.slow.Reset(slowStep)
	if err := errors.Join(err, spool.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(made.spool))
	}
	made.sum, made.bytes = written.Sum(nil), size(made.spool)
	return made, nil
}

// send puts a step into its place.
func (k *trailKeeper) send(ctx context.Context, t *trail, made *madeStep) error {
	if err := k.dir.noteCopied(k.second.String(), t.set, made.file); err != nil {
		return err
	}
	if err := k.second.putStep(ctx, made.spool, t.set, made.file, made.sum, made.at); err != nil {
		return fmt.Errorf("%s was not written: %w", filepath.Join(t.path, made.file), err)
	}
	t.goOn(made)
	k.noted(made)
	return nil
}

// noted says that the backup destination has everything of a step's moment.
func (k *trailKeeper) noted(made *madeStep) {
	k.pages.Keep(made.moment)
	k.copied.Store(&made.at)
}

// goOn notes that a step is where it should be.
func (t *trail) goOn(made *madeStep) {
	t.file, t.bytes, t.after, t.keys = made.file, made.bytes, made.digest, made.keys
	if t.next == 0 {
		t.first = t.bytes
	} else {
		t.since += t.bytes
	}
	t.next++
}

// putStep puts a file into its place, durably, whole or not at all, and dates it; one of the same name was never counted. What it reads back
// has to have the digest.
func putStep(from, to string, digest []byte, at time.Time) (err error) {
	partial, err := os.CreateTemp(filepath.Dir(to), stepPartial) // made with 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(partial.Name())
		}
	}()
	source, err := os.Open(from)
	if err != nil {
		return errors.Join(err, partial.Close())
	}
	defer source.Close()
	_, err = partial.ReadFrom(source)
	if err := errors.Join(err, partial.Sync(), partial.Close()); err != nil {
		return err
	}
	if got, err := digestOf(partial.Name()); err != nil || !bytes.Equal(got, digest) {
		return errors.Join(errors.New("it reads back as something else: look at that disk"), err)
	}
	if err := os.Chtimes(partial.Name(), time.Time{}, at); err != nil {
		return err
	}
	if err := os.Rename(partial.Name(), to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}
