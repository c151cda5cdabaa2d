package sqlite

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

//go:embed migrations/*.sql
var migrations embed.FS

// A migration is one numbered SQL file. It is never edited once released: the database remembers its checksum.
type migration struct {
	version  int
	name     string
	text     string
	checksum string // SHA-256 of the text, in hexadecimal
}

// beyondSQL is what a migration does besides its text, in the same transaction.
var beyondSQL = map[string]func(*conn) error{"0003_owners.sql": hashOwners}

var migrationName = regexp.MustCompile(`^(\d{4})_[a-z0-9_]+\.sql$`)

// SchemaVersion is the newest schema this program knows.
func SchemaVersion() int {
	all, err := readMigrations(migrations)
	if err != nil {
		panic(err) // the files are part of the program
	}
	return len(all)
}

func readMigrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []migration
	for i, path := range names {
		name := filepath.Base(path)
		match := migrationName.FindStringSubmatch(name)
		if match == nil {
			return nil, fmt.Errorf("migration %s is not named like 0001_first.sql", name)
		}
		if version, _ := strconv.Atoi(match[1]); version != i+1 {
			return nil, fmt.Errorf("migration %s should be number %04d", name, i+1)
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		all = append(all, migration{i + 1, name, string(text), hex.EncodeToString(sum[:])})
	}
	return all, nil
}

// migrate applies what is missing, each migration in one transaction of its own and after a snapshot. It refuses a
// database that a newer program has changed, or that was changed by a migration other than ours, or by hand (ErrSchema).
func migrate(ctx context.Context, c *conn, files fs.FS, snapshots string, log *slog.Logger) error {
	known, err := readMigrations(files)
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
	// Before anything is changed: a trigger that somebody added would run in the migrations.
	if err := trustSchema(ctx, c, known[:len(applied)]); err != nil {
		return err
	}
	for _, m := range known[len(applied):] {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(applied) > 0 { // a new database has nothing to go back to
			path, err := snapshot(ctx, c, snapshots, m.version)
			if err != nil {
				return fmt.Errorf("taking a snapshot before migration %s: %w", m.name, err)
			}
			log.Info("snapshot taken before a migration", "migration", m.name, "snapshot", path)
		}
		if err := apply(c, m); err != nil {
			return fmt.Errorf("migration %s (nothing of it was kept): %w", m.name, err)
		}
		log.Info("migration applied", "migration", m.name)
	}
	return nil
}

func appliedMigrations(ctx context.Context, c *conn) (all []migration, err error) {
	err = c.query(ctx, func(r *row) {
		all = append(all, migration{version: r.int(), name: r.text(), checksum: r.text()})
	}, `SELECT version, name, checksum FROM schema_versions ORDER BY version`)
	return all, err
}

func apply(c *conn, m migration) error {
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := c.script(m.text)
	if also := beyondSQL[m.name]; err == nil && also != nil {
		err = also(c)
	}
	if err == nil {
		_, err = c.exec(`INSERT INTO schema_versions (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)`,
			m.version, m.name, m.checksum, time.Now())
	}
	if err == nil {
		_, err = c.exec("COMMIT")
	}
	if err != nil {
		c.fault = nil
		_, undone := c.exec("ROLLBACK")
		return errors.Join(err, undone)
	}
	return nil
}

// snapshot copies the database as it is before migration version. The name says which program can still open it: one
// that knows the schema up to version-1.
func snapshot(ctx context.Context, c *conn, dir string, version int) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	name := fmt.Sprintf("before-%04d-%s.db", version, time.Now().UTC().Format("20060102T150405.000Z"))
	path := filepath.Join(dir, name)
	return path, copyInto(ctx, c, path)
}

// recognise refuses a schema that this program cannot have made.
func recognise(applied, known []migration) error {
	if len(applied) > len(known) {
		return fmt.Errorf("the database has schema version %d, but this program knows only up to %d: run the newer program",
			len(applied), len(known))
	}
	for i, a := range applied {
		if a.checksum != known[i].checksum {
			return fmt.Errorf("migration %s was applied in another form than this program has it, so the schema cannot be "+
				"trusted: restore a backup made by this program, or run the program that made the database", a.name)
		}
	}
	return nil
}

var snapshotName = regexp.MustCompile(`^before-(\d{4})-.+\.db$`)

// wayBack names the newest snapshot that this program could open, so that going back is one file move.
func wayBack(known int, snapshots string) string {
	advice := "restore a backup that it made (no snapshot was found in " + snapshots + ")"
	entries, err := os.ReadDir(snapshots)
	if err != nil {
		return advice
	}
	for _, e := range entries { // by name, so by version, then time
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
