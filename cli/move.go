package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/store"
	"holdfast/store/backup"
	"holdfast/store/disk"
	"holdfast/store/postgres"
	"holdfast/store/sqlite"
)

// move moves the clinic of cfg to a different kind of database. If a move is interrupted at any point, the same command
// continues it. Until the move is complete, the clinic stays at its source. toFile is the file from which to was read,
// if any.
func (p process) move(ctx context.Context, cfg config, to, toFile string, dry bool) error {
	m := &moving{out: p.stdout, log: newLog(cfg, p.stderr), dry: dry, setting: "--database postgres://…"}
	if toFile != "" {
		m.setting = "--database-file " + toFile
	}
	into, isDir := strings.CutPrefix(to, "sqlite:")
	switch {
	case isDir && into == "":
		return errors.New("--to sqlite: needs a directory, such as sqlite:./holdfast-data")
	case isDir && cfg.database == "":
		return fmt.Errorf(
			"the clinic in %s is already in SQLite; to move it to another directory, stop the server and move the "+
				"directory",
			cfg.data,
		)
	case !isDir && cfg.database != "":
		return errors.New(
			"the clinic is already in PostgreSQL; to move it to another PostgreSQL database, use PostgreSQL's own " +
				"tools, or holdfast backup and psql",
		)
	}
	var err error
	if m.dir, err = openDataDir(cfg.data, time.Now(), lockPatience); err != nil {
		return err
	}
	defer m.dir.close()
	if isDir {
		return m.home(ctx, cfg.database, into)
	}
	url, err := parseDatabase(to)
	if err != nil {
		return fmt.Errorf("--to is not sqlite:DIRECTORY, so it %w", err)
	}
	return m.grow(ctx, url)
}

// moving holds the output, the logger and the options of one clinic move.
type moving struct {
	out io.Writer
	log *slog.Logger
	dry bool
	// the flag with which a server opens the clinic in PostgreSQL, without a password
	setting string
	dir     *dataDir // data directory of the clinic before the move
}

// grow moves the clinic from SQLite in the data directory to PostgreSQL.
func (m *moving) grow(ctx context.Context, url string) error {
	file := m.dir.file(databaseFile)
	if disk.Size(file) <= 0 {
		return fmt.Errorf("there is no SQLite database in %s; to move a clinic out of PostgreSQL, set --database", m.dir.path)
	}
	from, err := sqlite.OpenCarrier(ctx, file, m.dir.file(backupsDir), m.log)
	if err != nil {
		return err
	}
	if m.dry {
		return errors.Join(m.count(ctx, from), from.Close())
	}
	queued, err := m.queued(ctx, from)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	to, err := postgres.OpenTarget(ctx, url, m.log)
	if err != nil {
		return errors.Join(nodesFirst(err), from.Close())
	}
	if err = m.carry(ctx, from, to); err == nil {
		err = m.growQueue(ctx, queued, url)
	}
	id, unnamed := to.ID(ctx)
	if err := errors.Join(err, unnamed, from.Close(), to.Close()); err != nil {
		return err
	}
	if err := m.dir.belongTo(id); err != nil {
		return err
	}
	kept := m.dir.file(filepath.Join(backupsDir, "moved-"+time.Now().UTC().Format(backup.StampFormat)))
	if err := os.Mkdir(kept, 0o700); err != nil {
		return err
	}
	// Rename the database last: until then, the next run continues here.
	for _, name := range []string{queueFile, databaseFile} {
		if err := os.Rename(m.dir.file(name), filepath.Join(kept, name)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := errors.Join(disk.Sync(kept), disk.Sync(m.dir.path)); err != nil {
		return err
	}
	return m.say("all rows compared. The clinic is now in PostgreSQL:\n"+
		"  holdfast serve --data %s %s\n"+
		"The old database is in %s and contains personal data: delete it once you trust the new database\n", m.dir.path,
		m.setting, kept)
}

// home moves the clinic from PostgreSQL to SQLite in a directory.
func (m *moving) home(ctx context.Context, url, into string) error {
	from, err := postgres.OpenCarrier(ctx, url, m.log)
	var moved *postgres.MovedError
	if errors.As(err, &moved) && moved.To == "sqlite:"+m.dir.path && disk.Size(m.dir.file(databaseFile)) > 0 && !m.dry {
		return m.arrived(m.dir) // the move was interrupted after its last row
	}
	if err != nil {
		return nodesFirst(err)
	}
	defer from.Close()
	if part, err := from.Unfinished(ctx); err != nil {
		return err
	} else if part != "" {
		return errors.New("this PostgreSQL database contains part of a clinic from an interrupted move: run that " +
			"move again first")
	}
	id, err := from.ID(ctx)
	if err == nil {
		err = m.dir.belongTo(id)
	}
	if err != nil {
		return err
	}
	if m.dry {
		return m.count(ctx, from)
	}
	dir := m.dir
	if path, err := filepath.Abs(into); err != nil {
		return err
	} else if path != dir.path {
		if err := bringKeys(m.dir, path); err != nil {
			return err
		}
		if dir, err = openDataDir(path, time.Now(), lockPatience); err != nil {
			return err
		}
		defer dir.close()
	}
	if disk.Size(dir.file(queueFile)) >= 0 {
		return fmt.Errorf(
			"%s contains the queue of a clinic that was served from this directory (%s). Move the queue away, or "+
				"choose another directory",
			dir.path, queueFile,
		)
	}
	if err := m.fill(ctx, from, dir); err != nil {
		return err
	}
	queued, err := m.queuedAt(ctx, url)
	if err != nil {
		return err
	}
	// Mark the source before the queue gets its name: until then, the nodes can serve the source again, and attempt
	// these operations.
	if err := from.MarkMoved(ctx, "sqlite:"+dir.path); err != nil {
		return err
	}
	if err := m.fillQueue(ctx, queued, dir); err != nil {
		return err
	}
	return m.arrived(dir)
}

// arrived marks the directory as the data directory of a clinic in SQLite.
func (m *moving) arrived(dir *dataDir) error {
	if err := os.Remove(dir.file(postgresFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := disk.Sync(dir.path); err != nil {
		return err
	}
	return m.say("all rows compared. The clinic is now in SQLite:\n  holdfast serve --data %s\n"+
		"The old database is still in PostgreSQL and contains personal data. Every server refuses to open it: drop "+
		"the old database once you trust the new one\n",
		dir.path)
}

// halfDir is the subdirectory of the target directory that the database is first written to.
const halfDir = ".migrate"

// fill writes the clinic to the database file of a directory. The file gets its name when it is complete. If the
// database file already exists, it must contain the same clinic.
func (m *moving) fill(ctx context.Context, from store.Carrier, dir *dataDir) error {
	there := dir.file(databaseFile)
	if disk.Size(there) > 0 {
		to, err := sqlite.OpenCarrier(ctx, there, dir.file(backupsDir), m.log)
		if err != nil {
			return err
		}
		return errors.Join(m.carry(ctx, from, to), to.Close())
	}
	half := dir.file(halfDir) // kept until the database is complete
	if err := os.Mkdir(half, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	fresh := filepath.Join(half, databaseFile)
	to, err := sqlite.OpenCarrier(ctx, fresh, half, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if err := errors.Join(m.carry(ctx, from, to), to.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(fresh, there), disk.Sync(dir.path), os.RemoveAll(half))
}

// carry copies all rows. If the target already contains all of them, an earlier move was interrupted after the copy,
// and carry returns nil.
func (m *moving) carry(ctx context.Context, from, to store.Carrier) error {
	err := store.Carry(ctx, from, to, func(table string, rows, there int) {
		switch {
		case there > 0:
			_ = m.say("%-20s %d, of which %d were copied earlier\n", table, rows, there)
		case rows > 0:
			_ = m.say("%-20s %d\n", table, rows)
		}
	})
	if !errors.Is(err, store.ErrDuplicate) {
		return err
	}
	here, unread := from.ID(ctx)
	there, unread2 := to.ID(ctx)
	if err := errors.Join(unread, unread2); err != nil {
		return err
	}
	if here != there {
		return fmt.Errorf("nothing was moved: %w. The target contains another clinic; choose an empty target", err)
	}
	if differs := store.Compare(ctx, from, to); differs != nil {
		return fmt.Errorf(
			"nothing was moved: %w. The target contains an older or newer copy of this clinic (%w); choose an empty "+
				"target", err,
			differs,
		)
	}
	return m.say("the target already contains the clinic\n")
}

// count prints the number of rows in each table.
func (m *moving) count(ctx context.Context, from store.Carrier) error {
	for _, table := range store.Carried {
		rows, err := store.Counted(ctx, from, table)
		if err != nil {
			return err
		}
		if err := m.say("%-20s %d\n", table.Name, rows); err != nil {
			return err
		}
	}
	return m.say("nothing was moved\n")
}

func (m *moving) say(format string, args ...any) error {
	_, err := fmt.Fprintf(m.out, format, args...)
	return err
}

// nodesFirst adds to postgres.ErrInUse what the operator must do: stop every node first.
func nodesFirst(err error) error {
	if errors.Is(err, postgres.ErrInUse) {
		return fmt.Errorf("nothing was moved: %w. Stop every node first", err)
	}
	return err
}

// bringKeys copies the keys of a clinic to the directory that it moves to, and the public half of its backup key. It
// returns an error if the directory has a different secret.key.
func bringKeys(from *dataDir, to string) error {
	keys, err := os.ReadFile(from.file(secretFile))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return unusable(to, err)
	}
	if sealed, err := os.ReadFile(from.file(backup.RecipientFile)); err == nil {
		if err := disk.Replace(filepath.Join(to, backup.RecipientFile), sealed); err != nil {
			return unusable(to, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	there, err := os.ReadFile(filepath.Join(to, secretFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.Join(os.WriteFile(filepath.Join(to, secretFile), keys, 0o600), disk.Sync(to))
	case err != nil:
		return unusable(to, err)
	case !bytes.Equal(keys, there):
		return fmt.Errorf("nothing was moved: %s has its own secret.key, which would make this clinic's links and "+
			"tokens invalid. Choose another directory", to)
	}
	return nil
}
