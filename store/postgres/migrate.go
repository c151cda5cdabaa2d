package postgres

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/store"
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

// source is all the text that made the schema.
func source(known []migration) string {
	var all strings.Builder
	for _, m := range known {
		all.WriteString(m.text)
	}
	return all.String()
}

// migrate applies what is missing, each migration in one transaction of its own. Nodes that start together take turns. It
// refuses a database that a newer program has changed, that was changed by a migration other than ours, or whose guarantee
// was weakened (ErrSchema). PostgreSQL's own backups are what there is to go back to.
func migrate(ctx context.Context, c *conn, files fs.FS, log *slog.Logger) (err error) {
	known, err := readMigrations(files)
	if err != nil {
		return err
	}
	// Migrating may take longer than a booking may, and so may waiting for another node that migrates.
	if err := c.script(ctx, `SET statement_timeout = 0; SET lock_timeout = 0`); err != nil {
		return err
	}
	if _, err := c.exchange(ctx, stmt(`SELECT pg_advisory_lock($1)`, int64(orderLock+1))); err != nil {
		return err
	}
	defer func() {
		_, undone := c.exchange(context.WithoutCancel(ctx), stmt(`SELECT pg_advisory_unlock($1)`, int64(orderLock+1)))
		err = errors.Join(err, undone)
	}()
	applied, err := appliedMigrations(ctx, c)
	if err != nil {
		return err
	}
	if err := recognise(applied, known); err != nil {
		return err
	}
	for _, m := range known[len(applied):] {
		if err := apply(ctx, c, m); err != nil {
			return fmt.Errorf("migration %s (nothing of it was kept): %w", m.name, translate(err))
		}
		log.Info("migration applied", "migration", m.name)
	}
	return refuseWeak(ctx, c, source(known))
}

func appliedMigrations(ctx context.Context, c *conn) (all []migration, err error) {
	made, err := oneOn(ctx, c, (*row).bool, `SELECT to_regclass('schema_versions') IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	if !made {
		return nil, c.script(ctx, `CREATE TABLE schema_versions (
			version    bigint NOT NULL PRIMARY KEY,
			name       text   NOT NULL,
			checksum   text   NOT NULL,
			applied_at bigint NOT NULL)`)
	}
	_, err = c.exchange(ctx, asks(func(r *row) {
		all = append(all, migration{version: r.int(), name: r.text(), checksum: r.text()})
	}, `SELECT version, name, checksum FROM schema_versions ORDER BY version`))
	return all, err
}

func apply(ctx context.Context, c *conn, m migration) error {
	if err := c.script(ctx, `BEGIN`); err != nil {
		return err
	}
	err := c.script(ctx, m.text)
	if err == nil {
		_, err = c.exchange(ctx, stmt(`INSERT INTO schema_versions (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)`,
			m.version, m.name, m.checksum, time.Now()), stmt(`COMMIT`))
	}
	if err != nil {
		return errors.Join(err, c.script(context.WithoutCancel(ctx), `ROLLBACK`))
	}
	return nil
}

// recognise refuses a schema that this program cannot have made.
func recognise(applied, known []migration) error {
	if len(applied) > len(known) {
		return fmt.Errorf("%w: the database has schema version %d, but this program knows only up to %d: run the newer program",
			store.ErrInvalid, len(applied), len(known))
	}
	for i, a := range applied {
		if a.checksum != known[i].checksum {
			return fmt.Errorf("%w: migration %s was applied in another form than this program has it, so the schema cannot be trusted: "+
				"restore a backup made by this program, or run the program that made the database", ErrSchema, a.name)
		}
	}
	return nil
}
