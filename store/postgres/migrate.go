package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
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

// schema is the migrations of a program, and whom it may serve beside: see oldestBeside.
type schema struct {
	files        fs.FS
	oldestBeside int
	target       bool // of a move: a schema that is made new is refused by servers until a whole clinic is in it
}

// program is this program's.
var program = schema{files: migrations, oldestBeside: oldestBeside}

// migrate applies what is missing, each migration in one transaction of its own. Nodes that start together take turns. It
// refuses a database that a newer program has changed, that was changed by a migration other than ours, or whose guarantee
// was weakened (ErrSchema); with beside, a newer schema is taken that is open to this one. ErrInUse: nodes serve that must be stopped first. PostgreSQL's own backups are what there is to go back to.
func migrate(ctx context.Context, c *conn, of schema, log *slog.Logger, beside bool) (err error) {
	known, err := store.ReadMigrations(of.files)
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
	if err := c.script(ctx, versionsTable); err != nil {
		return err
	}
	applied, err := appliedMigrations(ctx, c)
	if err != nil {
		return err
	}
	if beside && len(applied) > len(known) {
		if err := refuseNewer(ctx, c, len(applied), len(known)); err != nil {
			return err
		}
		log.Info("schema belongs to a newer program that runs next to this one", "schema", len(applied), "known", len(known))
		applied = applied[:len(known)]
	}
	if err := recognise(applied, known); err != nil {
		return err
	}
	if len(applied) < len(known) {
		if err := refuseOldNodes(ctx, c, of.oldestBeside); err != nil {
			return err
		}
	}
	for _, m := range known[len(applied):] {
		if err := applyInTurn(ctx, c, m, of); err != nil {
			return fmt.Errorf("migration %s (nothing of it was kept): %w", m.Name, translate(err))
		}
		log.Info("migration applied", "migration", m.Name)
	}
	return refuseWeak(ctx, c, source(known))
}

// versionsTable remembers which migrations were applied.
const versionsTable = `CREATE TABLE IF NOT EXISTS schema_versions (
		version    bigint NOT NULL PRIMARY KEY,
		name       text   NOT NULL,
		checksum   text   NOT NULL,
		applied_at bigint NOT NULL)`

// appliedMigrations are none where the database is empty.
func appliedMigrations(ctx context.Context, c *conn) (all []store.Migration, err error) {
	made, err := oneOn(ctx, c, (*row).Bool, `SELECT to_regclass('schema_versions') IS NOT NULL`)
	if err != nil || !made {
		return nil, err
	}
	_, err = c.exchange(ctx, asks(func(r *row) {
		all = append(all, store.Migration{Version: r.Int(), Name: r.Text(), Checksum: r.Text()})
	}, `SELECT version, name, checksum FROM schema_versions ORDER BY version`))
	return all, err
}

// A migration that cannot have a table within migrationWait releases every lock and retries, migrationTries times: behind
// a change of a table that waits for a long question, all who ask after it would wait too.
const (
	migrationWait  = time.Second
	migrationTries = 60
)

// applyInTurn applies a migration between two batches of the nodes that serve.
func applyInTurn(ctx context.Context, c *conn, m store.Migration, of schema) error {
	for try := 1; ; try++ {
		err := apply(ctx, c, m, of)
		if !isBusy(err) || try == migrationTries {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(migrationWait / 4):
		}
	}
}

func apply(ctx context.Context, c *conn, m store.Migration, of schema) error {
	// The order's lock first, as every batch has it: a migration that took a table first and waited for the lock would wait for ever.
	_, err := c.exchange(ctx, stmt(`BEGIN`), stmt(`SELECT set_config('lock_timeout', $1, true)`, strconv.FormatInt(migrationWait.Milliseconds(), 10)),
		stmt(`SELECT pg_advisory_xact_lock($1)`, int64(orderLock)))
	if err == nil {
		err = c.script(ctx, m.Text)
	}
	if also := beyondSQL[m.Name]; err == nil && also != nil {
		err = also(ctx, c)
	}
	if err == nil {
		_, err = c.exchange(ctx, stmt(`INSERT INTO schema_versions (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)`,
			m.Version, m.Name, m.Checksum, time.Now()),
			stmt(`INSERT INTO meta (key, value) VALUES ('`+openTo+`', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, strconv.Itoa(of.oldestBeside)))
	}
	if err == nil && of.target && m.Version == 1 {
		_, err = c.exchange(ctx, stmt(`INSERT INTO meta (key, value) VALUES ('`+unfinished+`', $1)`, begun))
	}
	if err == nil {
		err = c.script(ctx, `COMMIT`)
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

// Due says which version the schema of a database has, and which migrations this program would apply to it; it changes nothing. It
// refuses a schema that this program cannot have made, and one that it does not know.
func Due(ctx context.Context, url string) (version int, due []string, err error) {
	o := Options{URL: url}
	if err := o.fill(); err != nil {
		return 0, nil, err
	}
	at, err := newServer(o)
	if err != nil {
		return 0, nil, err
	}
	c, err := at.connect(ctx)
	if err != nil {
		return 0, nil, fmt.Errorf("opening the database: %w", translate(err))
	}
	defer c.close()
	known, err := store.ReadMigrations(migrations)
	if err != nil {
		return 0, nil, err
	}
	applied, err := appliedMigrations(ctx, c)
	if err == nil {
		err = recognise(applied, known)
	}
	if err != nil {
		return 0, nil, err
	}
	for _, m := range known[len(applied):] {
		due = append(due, m.Name)
	}
	return len(applied), due, nil
}
