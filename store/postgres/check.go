package postgres

import (
	"context"
	"errors"
	"fmt"

	"holdfast/store"
	"holdfast/store/table"
)

// Check implements store.Store. PostgreSQL itself ensures the integrity of references and files.
func (s *Store) Check(ctx context.Context) error {
	if err := s.reads.pool.open(ctx); err != nil {
		return err
	}
	var found []error
	violation := func(format string, args ...any) { found = append(found, fmt.Errorf(format, args...)) }
	err := s.server.with(ctx, func(ctx context.Context, c *conn) error {
		known, err := store.ReadMigrations(migrations)
		if err != nil {
			return err
		}
		// The check reads one snapshot of the database, without a time limit.
		if err := c.script(ctx,
			`SET statement_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`); err != nil {
			return err
		}
		step := func(i int) { store.BeginStep(ctx, "checking the database", store.Of(i, 5)) }
		step(0)
		wrong, err := trustSchema(ctx, c, source(known))
		for _, what := range wrong {
			violation("schema: %s", what)
		}
		ask := func(ctx context.Context, each func(table.Row), text string) error {
			_, err := c.exchange(ctx, asks(func(r *row) { each(r) }, text))
			return err
		}
		rows := table.Check{Query: ask, Violation: violation}
		for i, check := range []func(context.Context) error{rows.Rows, rows.Resources, rows.People, rows.Chain} {
			if err == nil {
				step(1 + i)
				err = check(ctx)
			}
		}
		return err
	})
	if err != nil {
		return translate(err)
	}
	return errors.Join(found...)
}
