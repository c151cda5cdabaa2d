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

// beyondSQL holds the Go parts of migrations. Such a part runs in the same transaction as the SQL of its migration.
var beyondSQL = map[string]func(context.Context, *conn) error{"0005_audit_chain.sql": chainEntries}

// SchemaVersion returns the newest schema version that this program supports.
func SchemaVersion() int {
	all, err := store.ReadMigrations(migrations)
	if err != nil {
		panic(err) // the files are part of the program
	}
	return len(all)
}

// source returns the text of all migrations.
func source(known []store.Migration) string {
	var all strings.Builder
	for _, m := range known {
		all.WriteString(m.Text)
	}
	return all.String()
}

// schema holds a program's migrations, and the oldest schema whose programs may serve at the same time as this program
// (see the constant oldestBeside).
type schema struct {
	files        fs.FS
	oldestBeside int
	target       bool // set for the target of a move: servers refuse a new database until it contains a complete clinic
}

// program is the schema of this program.
var program = schema{files: migrations, oldestBeside: oldestBeside}

// migrate applies the missing migrations, each in its own transaction. Nodes that start at the same time take turns.
// It refuses a database that a newer program or a different migration has modified, or whose guarantee was weakened
// (ErrSchema). If beside is true, it accepts a newer schema that is open to this program. It returns ErrInUse if
// running nodes must be stopped first. migrate makes no backup: to go back, restore a backup of PostgreSQL.
func migrate(ctx context.Context, c *conn, of schema, log *slog.Logger, beside bool) (err error) {
	known, err := store.ReadMigrations(of.files)
	if err != nil {
		return err
	}
	// A migration, and the wait for another node's migration, may take longer than a booking.
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
		open, err := oneOn(ctx, c, (*row).Text, openToValue)
		if err == nil {
			err = refuseNewer(len(applied), len(known), open)
		}
		if err != nil {
			return err
		}
		log.Info("schema belongs to a newer version of the program, which is running alongside this one", "schema", len(applied), "known",
			len(known))
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
	missing := known[len(applied):]
	for _, m := range missing {
		if err := applyInTurn(ctx, c, m, of); err != nil {
			return fmt.Errorf("migration %s (rolled back): %w", m.Name, translate(err))
		}
	}
	store.LogMigrations(log, known, missing)
	return refuseWeak(ctx, c, source(known))
}

// versionsTable records the applied migrations.
const versionsTable = `CREATE TABLE IF NOT EXISTS schema_versions (
		version    bigint NOT NULL PRIMARY KEY,
		name       text   NOT NULL,
		checksum   text   NOT NULL,
		applied_at bigint NOT NULL)`

// appliedMigrations returns the applied migrations. If the database is empty, there are none.
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

// If a migration cannot lock a table within migrationWait, it releases every lock and retries, at most migrationTries
// times. A migration that waited longer for a slow query would block all later queries of the table.
const (
	migrationWait  = time.Second
	migrationTries = 60
)

// applyInTurn applies a migration between two batches of the running nodes.
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
	// A migration takes orderLock first, as every batch does. If it locked a table first and then waited for orderLock,
	// it could deadlock.
	_, err := c.exchange(ctx, stmt(`BEGIN`),
		stmt(`SELECT set_config('lock_timeout', $1, true)`, strconv.FormatInt(migrationWait.Milliseconds(), 10)),
		stmt(`SELECT pg_advisory_xact_lock($1)`, int64(orderLock)))
	if err == nil {
		err = c.script(ctx, m.Text)
	}
	if also := beyondSQL[m.Name]; err == nil && also != nil {
		err = also(ctx, c)
	}
	if err == nil {
		_, err = c.exchange(ctx,
			stmt(`INSERT INTO schema_versions (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)`, m.Version,
				m.Name, m.Checksum, time.Now()),
			stmt(`INSERT INTO meta (key, value) VALUES ('`+openTo+
				`', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, strconv.Itoa(of.oldestBeside)))
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

// recognise returns an error if this program cannot have created the schema.
func recognise(applied, known []store.Migration) error {
	if len(applied) > len(known) {
		return fmt.Errorf(
			"%w: the database has schema version %d, but this program supports versions up to %d: run the newer "+
				"program",
			store.ErrInvalid, len(applied), len(known),
		)
	}
	for i, a := range applied {
		if a.Checksum != known[i].Checksum {
			return fmt.Errorf("%w: migration %s was applied in a different form from the one in this program, so the "+
				"schema cannot be trusted: restore a backup made by this program, or run the program that created "+
				"the database", ErrSchema, a.Name)
		}
	}
	return nil
}

// Upgrade is what this program would do to the schema of a database.
type Upgrade struct {
	From       int      // schema version of the database
	Migrations []string // the missing migrations, in order
	Rolling    bool     // nodes of the version that uses the database now can keep running during the migrations
}

// Due returns the upgrade of a database to this program's schema. It changes nothing. It returns an error if this
// program cannot have created the schema, or if the schema is newer than the program.
func Due(ctx context.Context, url string) (Upgrade, error) {
	o := Options{URL: url}
	if err := o.fill(); err != nil {
		return Upgrade{}, err
	}
	at, err := newServer(o)
	if err != nil {
		return Upgrade{}, err
	}
	c, err := at.connect(ctx)
	if err != nil {
		return Upgrade{}, opening(err)
	}
	defer c.close()
	return due(ctx, c, program)
}

func due(ctx context.Context, c *conn, of schema) (Upgrade, error) {
	known, err := store.ReadMigrations(of.files)
	if err != nil {
		return Upgrade{}, err
	}
	applied, err := appliedMigrations(ctx, c)
	if err == nil {
		err = recognise(applied, known)
	}
	if err != nil {
		return Upgrade{}, err
	}
	u := Upgrade{From: len(applied)}
	for _, m := range known[len(applied):] {
		u.Migrations = append(u.Migrations, m.Name)
	}
	// A running node can be older than the schema, so refuseOldNodes looks at the nodes as well.
	switch err := refuseOldNodes(ctx, c, of.oldestBeside); {
	case err == nil:
		u.Rolling = len(applied) >= of.oldestBeside
	case !errors.Is(err, ErrOldNodes):
		return Upgrade{}, err
	}
	return u, nil
}
