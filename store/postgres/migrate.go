package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"holdfast/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// beyondSQL is what a migration does besides its text, in the same transaction.
var beyondSQL = map[string]func(context.Context, *conn) error{"0005_audit_chain.sql": chainEntries}

// SchemaVersion is the newest schema this program knows.
func SchemaVersion() int {
	all, err := store.ReadMigrations(migrations)
	if err != nil {
		panic(err) // the files are part of the program
	}
	return len(all)
}

// source is all the text that made the schema.
func source(known []store.Migration) string {
	var all strings.Builder
	for _, m := range known {
		all.WriteString(m.Text)
	}
	return all.String()
}

// migrate applies what is missing, each migration in one transaction of its own. Nodes that start together take turns. It
// refuses a database that a newer program has changed, that was changed by a migration other than ours, or whose guarantee
// was weakened (ErrSchema). PostgreSQL's own backups are what there is to go back to.
func migrate(ctx context.Context, c *conn, files fs.FS, log *slog.Logger) (err error) {
	known, err := store.ReadMigrations(files)
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
			return fmt.Errorf("migration %s (nothing of it was kept): %w", m.Name, translate(err))
		}
		log.Info("migration applied", "migration", m.Name)
	}
	return refuseWeak(ctx, c, source(known))
}

func appliedMigrations(ctx context.Context, c *conn) (all []store.Migration, err error) {
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
		all = append(all, store.Migration{Version: r.int(), Name: r.text(), Checksum: r.text()})
	}, `SELECT version, name, checksum FROM schema_versions ORDER BY version`))
	return all, err
}

func apply(ctx context.Context, c *conn, m store.Migration) error {
	if err := c.script(ctx, `BEGIN`); err != nil {
		return err
	}
	err := c.script(ctx, m.Text)
	if also := beyondSQL[m.Name]; err == nil && also != nil {
		err = also(ctx, c)
	}
	if err == nil {
		_, err = c.exchange(ctx, stmt(`INSERT INTO schema_versions (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)`,
			m.Version, m.Name, m.Checksum, time.Now()), stmt(`COMMIT`))
	}
	if err != nil {
		return errors.Join(err, c.script(context.WithoutCancel(ctx), `ROLLBACK`))
	}
	return nil
}

// recognise refuses a schema that this program cannot have made.
func recognise(applied, known []store.Migration) error {
	if len(applied) > len(known) {
		return fmt.Errorf("%w: the database has schema version %d, but this program knows only up to %d: run the newer program",
			store.ErrInvalid, len(applied), len(known))
	}
	for i, a := range applied {
		if a.Checksum != known[i].Checksum {
			return fmt.Errorf("%w: migration %s was applied in another form than this program has it, so the schema cannot be trusted: "+
				"restore a backup made by this program, or run the program that made the database", ErrSchema, a.Name)
		}
	}
	return nil
}
