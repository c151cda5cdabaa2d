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

// A database that was lost, replaced, or separated from its write-ahead log looks intact: SQLite reads the remaining
// file without an error. So the queue's file contains a marker: the id of the database, and the number of its last
// change. At its start, the server refuses a database that lacks this change. The marker is at most one second old. A
// restore removes it together with the queue.

// markerInterval is how often the server updates the marker.
const markerInterval = time.Second

// keepMarker updates the marker until ctx ends, and a last time when ctx ends.
func (h *house) keepMarker(ctx context.Context) {
	var stored bolt.Marker
	var failing bool
	update := func() {
		now := bolt.Marker{DatabaseID: h.store.ID(), Change: h.store.LastChange()}
		if now == stored {
			return
		}
		err := h.file.SetMarker(context.WithoutCancel(ctx), now)
		if err == nil {
			stored = now
		} else if !failing {
			h.log.Warn("failed to store the database marker; retrying", "error", err)
		}
		failing = err != nil
	}
	defer update()
	update()
	timed.Every(ctx, markerInterval, func(time.Time) { update() })
}

// checkMarker returns an error if the queue's file belongs to another database, or if the database lacks acknowledged
// changes.
func (h *house) checkMarker(ctx context.Context) error {
	marker, err := h.file.Marker(ctx)
	if err != nil || marker.DatabaseID == "" {
		return err
	}
	var what string
	switch last := h.store.LastChange(); {
	case marker.DatabaseID != h.store.ID():
		what = fmt.Sprintf("%s and %s do not belong together: the queue was written for a different database",
			h.dir.file(databaseFile), queueFile)
	case last < marker.Change:
		what = fmt.Sprintf("%s lacks changes that were acknowledged: it ends with change %d, but the server had "+
			"already written change %d. Its log, %s-wal, was removed or damaged, or the file was replaced by an "+
			"older copy",
			h.dir.file(databaseFile), last, marker.Change, databaseFile)
	default:
		return nil
	}
	return fmt.Errorf("%s. Restore the files that belong together. %s. To continue with this database, move %s away: "+
		"the server rebuilds the queue from the database, and looks up each operation before repeating it", what,
		h.dir.restoreWords(), h.dir.file(queueFile))
}

// expectDatabase returns an error if the database is missing or empty even though there is a queue. The queue is
// created after the database, so the database was lost, and a new one would be an empty clinic.
func (d *dataDir) expectDatabase() error {
	if err := disk.Regular(d.file(databaseFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if disk.Size(d.file(databaseFile)) > 0 || disk.Size(d.file(queueFile)) <= 0 {
		return nil
	}
	return fmt.Errorf("%s is missing or empty, although the directory contains the queue of a clinic. Restore the "+
		"file, with its log (%s-wal) if there is one. %s. For a new, empty clinic, move %s away or choose another "+
		"directory with --data", d.file(databaseFile), databaseFile, d.restoreWords(), d.file(queueFile))
}

// withRemedy adds the restore command to an error about a damaged database.
func (h *house) withRemedy(err error) error {
	if h.dir == nil || !errors.Is(err, sqlite.ErrDamaged) && !errors.Is(err, sqlite.ErrSchema) {
		return err
	}
	return fmt.Errorf("%w. %s", err, h.dir.restoreWords())
}

// restoreWords returns a sentence with the command that restores the newest backup.
func (d *dataDir) restoreWords() string {
	newest := backup.NewestIn(d.path)
	if newest == "" {
		return fmt.Sprintf("Restore a backup with: holdfast restore --data %s BACKUP (none was found in %s)", d.path,
			d.file(backupsDir))
	}
	return fmt.Sprintf("Restore the newest backup with: holdfast restore --data %s %s", d.path, newest)
}
