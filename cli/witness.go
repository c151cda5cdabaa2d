package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"holdfast/engine/timed"
	"holdfast/store/backup"
	"holdfast/store/bolt"
	"holdfast/store/disk"
	"holdfast/store/sqlite"
)

// A database that was lost, put back, or left without its write-ahead log looks sound: SQLite reads what is there. So the
// queue's file beside it keeps a witness, which database it was and the number of its last change, and a database that
// knows less is not served. The witness is a second behind at most; a restore removes it with the queue.

// witnessInterval is how often the witness is brought up to date.
const witnessInterval = time.Second

// keepWitness writes down how far the database has come, until ctx ends and once more then.
func (h *house) keepWitness(ctx context.Context) {
	var kept bolt.Witness
	var failing bool
	keep := func() {
		now := bolt.Witness{DatabaseID: h.store.ID(), Change: h.store.LastChange()}
		if now == kept {
			return
		}
		err := h.file.SetWitness(context.WithoutCancel(ctx), now)
		if err == nil {
			kept = now
		} else if !failing {
			h.log.Warn("database marker not stored; retrying", "error", err)
		}
		failing = err != nil
	}
	defer keep()
	keep()
	timed.Every(ctx, witnessInterval, func(time.Time) { keep() })
}

// hearWitness refuses a database that is another than the queue beside it was written for, or that has lost what was
// acknowledged.
func (h *house) hearWitness(ctx context.Context) error {
	seen, err := h.file.Witness(ctx)
	if err != nil || seen.DatabaseID == "" {
		return err
	}
	var what string
	switch last := h.store.LastChange(); {
	case seen.DatabaseID != h.store.ID():
		what = fmt.Sprintf("%s and %s do not belong together: the queue was written for another database", h.dir.file(databaseFile), queueFile)
	case last < seen.Change:
		what = fmt.Sprintf("%s lacks changes that were acknowledged: it ends with change %d, and change %d was seen in it. "+
			"Its log, %s-wal, was removed or damaged, or an older copy was put in its place", h.dir.file(databaseFile), last, seen.Change, databaseFile)
	default:
		return nil
	}
	return fmt.Errorf("%s. Put the right files back. %s. If this database is the one to go on with, move %s away: what was still to be "+
		"delivered comes back from the database, and is looked up before it is repeated", what, h.dir.restoreWords(), h.dir.file(queueFile))
}

// expectDatabase refuses a directory whose database is missing or empty although there is a queue, which is only made
// after it: a new database would be an empty clinic.
func (d *dataDir) expectDatabase() error {
	if err := disk.Regular(d.file(databaseFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if disk.Size(d.file(databaseFile)) > 0 || disk.Size(d.file(queueFile)) <= 0 {
		return nil
	}
	return fmt.Errorf("%s is missing or empty, and beside it is the queue of a clinic that was served here. Put the file back, with its log "+
		"(%s-wal) if there is one. %s. For a new, empty clinic, move %s away or name another directory with --data",
		d.file(databaseFile), databaseFile, d.restoreWords(), d.file(queueFile))
}

// withRemedy adds to a refusal of the database what helps against it.
func (h *house) withRemedy(err error) error {
	if h.dir == nil || !errors.Is(err, sqlite.ErrDamaged) && !errors.Is(err, sqlite.ErrSchema) {
		return err
	}
	return fmt.Errorf("%w. %s", err, h.dir.restoreWords())
}

// restoreWords is the command that puts the newest backup in the place of what is here.
func (d *dataDir) restoreWords() string {
	newest := backup.NewestIn(d.path)
	if newest == "" {
		return fmt.Sprintf("Put a backup in its place with: holdfast restore --data %s BACKUP (none was found in %s)", d.path, d.file(backupsDir))
	}
	return fmt.Sprintf("Put the newest backup in its place with: holdfast restore --data %s %s", d.path, newest)
}
