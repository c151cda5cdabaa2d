package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed sql/*.sql
var sources embed.FS

// files lists the files of sql/, each after the files that it uses.
var files = []string{"schema", "selection", "lapse", "hold", "restore", "presence", "home"}

// version is the version of the files in sql/. TestVersionMatchesText checks that it changes whenever they do.
const version = 11

// schemaLock is the advisory lock that a node holds while it creates the tables. store/postgres uses the numbers below
// it.
const schemaLock = 4716222640829337646 + 16

// makeTables creates missing tables and functions, both at startup and after a broken connection, because the server
// may then be a different one. If a newer program has changed the database, makeTables leaves it unchanged: each
// version can still call the next version's functions.
func makeTables(ctx context.Context, at *pgconn.Config) (err error) {
	at = at.Copy()
	at.RuntimeParams["statement_timeout"], at.RuntimeParams["lock_timeout"] = "30000", "30000"
	at.RuntimeParams["synchronous_commit"] = "on" // the tables survive a crash; their contents do not
	c, err := pgconn.ConnectConfig(ctx, at)
	if err != nil {
		return err
	}
	// rolls back a transaction that was not committed
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	if _, err := c.Exec(ctx, `BEGIN`).ReadAll(); err != nil {
		return err
	}
	var made bool
	if err := askOne(ctx, c, `SELECT pg_advisory_xact_lock($1) IS NULL`, []any{int64(schemaLock)},
		new(bool)); err != nil {
		return err
	}
	if err := askOne(ctx, c, `SELECT to_regclass('holds_schema') IS NOT NULL`, nil, &made); err != nil {
		return err
	}
	known := 0
	if made {
		if err := askOne(ctx, c, `SELECT COALESCE(max(version), 0) FROM holds_schema`, nil, &known); err != nil {
			return err
		}
	}
	if known >= version {
		return nil
	}
	for _, name := range files {
		text, err := sources.ReadFile("sql/" + name + ".sql")
		if err != nil {
			return err
		}
		if _, err := c.Exec(ctx, string(text)).ReadAll(); err != nil {
			return fmt.Errorf("%s.sql: %w", name, err)
		}
	}
	if _, err := c.Exec(ctx, fmt.Sprintf(`INSERT INTO holds_schema (version) VALUES (%d); COMMIT`,
		version)).ReadAll(); err != nil {
		return err
	}
	return nil
}
