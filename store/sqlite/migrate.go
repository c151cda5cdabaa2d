package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"holdfast/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// beyondSQL holds the Go parts of migrations. Such a part runs in the same transaction as the SQL of its migration.
var beyondSQL = map[string]func(*conn) error{"0003_owners.sql": hashOwners, "0009_audit_chain.sql": chainEntries}

// SchemaVersion returns the newest schema version that this program supports.
func SchemaVersion() int {
	all, err := store.ReadMigrations(migrations)
	if err != nil {
		panic(err) // the files are part of the program
	}
	return len(all)
}

// migrate applies the missing migrations, each in its own transaction. It takes one snapshot before the first
// migration. It returns an error if the database has a newer schema or a different migration, and ErrSchema if the
// schema was changed by hand.
func migrate(ctx context.Context, c *conn, files fs.FS, snapshots string, log *slog.Logger) error {
	known, err := store.ReadMigrations(files)
	if err != nil {
		return err
	}
	if err := c.script(versionsTable); err != nil {
		return err
	}
	applied, err := appliedMigrations(ctx, c)
	if err != nil {
		return err
	}
	if err := recognise(applied, known); err != nil {
		if len(applied) > len(known) {
			err = fmt.Errorf("%w, or %s", err, wayBack(len(known), snapshots))
		}
		return err
	}
	// This check must come before any change: a foreign trigger would run during the migrations.
	if err := trustSchema(ctx, c, known[:len(applied)]); err != nil {
		return err
	}
	due := known[len(applied):]
	if len(applied) > 0 && len(due) > 0 { // a new database needs no snapshot
		path, err := snapshot(ctx, c, snapshots, due[0].Version)
		if err != nil {
			return fmt.Errorf("taking a snapshot before migration %s: %w", due[0].Name, err)
		}
		log.Info("snapshot written before the upgrade", "migrations", len(due), "snapshot", path)
	}
	for _, m := range due {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := apply(c, m); err != nil {
			return fmt.Errorf("migration %s (rolled back): %w", m.Name, err)
		}
	}
	store.LogMigrations(log, known, due)
	return nil
}

func appliedMigrations(ctx context.Context, c *conn) (all []store.Migration, err error) {
	err = c.query(ctx, func(r *row) {
		all = append(all, store.Migration{Version: r.Int(), Name: r.Text(), Checksum: r.Text()})
	}, `SELECT version, name, checksum FROM schema_versions ORDER BY version`)
	return all, err
}

func apply(c *conn, m store.Migration) error {
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := c.script(m.Text)
	if also := beyondSQL[m.Name]; err == nil && also != nil {
		err = also(c)
	}
	if err == nil {
		_, err = c.exec(`INSERT INTO schema_versions (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)`,
			m.Version, m.Name, m.Checksum, time.Now())
	}
	if err == nil {
		_, err = c.exec("COMMIT")
	}
	if err != nil {
		c.fault = nil
		return errors.Join(err, c.rollback())
	}
	return nil
}

// snapshot copies the current database before the migration with this version. The name of the copy shows which
// programs can still open it: those that support schema version-1.
func snapshot(ctx context.Context, c *conn, dir string, version int) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	name := fmt.Sprintf("before-%04d-%s.db", version, time.Now().UTC().Format("20060102T150405.000Z"))
	path := filepath.Join(dir, name)
	return path, copyInto(ctx, c, path)
}

// recognise returns an error if this program cannot have created the schema.
func recognise(applied, known []store.Migration) error {
	if len(applied) > len(known) {
		return fmt.Errorf(
			"the database has schema version %d, but this program supports versions up to %d: run the newer program",
			len(applied), len(known),
		)
	}
	for i, a := range applied {
		if a.Checksum != known[i].Checksum {
			return fmt.Errorf("migration %s was applied in a different form from the one in this program, so the "+
				"schema cannot be trusted: restore a backup made by this program, or run the program that created "+
				"the database", a.Name)
		}
	}
	return nil
}

var snapshotName = regexp.MustCompile(`^before-(\d{4})-.+\.db$`)

// wayBack returns advice for a downgrade: it names the newest snapshot that this program could open, if there is one.
func wayBack(known int, snapshots string) string {
	advice := "restore a backup made by this program (no snapshot was found in " + snapshots + ")"
	entries, err := os.ReadDir(snapshots)
	if err != nil {
		return advice
	}
	for _, e := range entries { // sorted by name, so by version, then time
		match := snapshotName.FindStringSubmatch(e.Name())
		if match == nil {
			continue
		}
		if version, _ := strconv.Atoi(match[1]); version <= known+1 {
			advice = "go back by restoring the snapshot " + filepath.Join(snapshots, e.Name())
		}
	}
	return advice
}
