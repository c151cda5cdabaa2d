package sqlite

import (
	"context"
	"errors"
	"fmt"

	"holdfast/store"
	"holdfast/store/table"
)

// Check implements store.Store.
func (s *Store) Check(ctx context.Context) error {
	return s.reads.snapshot(ctx, func(ctx context.Context, c *conn) error {
		known, err := store.ReadMigrations(migrations)
		if err != nil {
			return err
		}
		return check(ctx, c, known)
	})
}

// check lists every violation, each as readable text.
func check(ctx context.Context, c *conn, known []store.Migration) error {
	var found []error
	violation := func(format string, args ...any) { found = append(found, fmt.Errorf(format, args...)) }
	rows := table.Check{
		Violation: violation,
		Query: func(ctx context.Context, each func(table.Row), text string) error {
			return c.query(ctx, func(r *row) { each(r) }, text)
		},
	}
	parts := []struct {
		since int // the first schema version with this part; an older copy lacks it
		check func() error
	}{
		{0, func() error { return checkFile(ctx, c, violation) }},
		{0, func() error { return checkSchema(ctx, c, known, violation) }},
		{0, func() error { return rows.Rows(ctx) }},
		{resourcesSince, func() error { return rows.Resources(ctx) }},
		{peopleSince, func() error { return rows.People(ctx) }},
		{chainedSince, func() error { return rows.Chain(ctx) }},
	}
	for i, part := range parts {
		if len(known) < part.since {
			continue
		}
		store.BeginStep(ctx, "checking the database", store.Of(i, len(parts)))
		if err := part.check(); err != nil {
			return err
		}
	}
	return errors.Join(found...)
}

func checkFile(ctx context.Context, c *conn, violation func(string, ...any)) error {
	err := c.query(ctx, func(r *row) {
		if s := r.Text(); s != "ok" {
			violation("integrity: %s (%w)", s, ErrDamaged)
		}
	}, "PRAGMA integrity_check")
	if err != nil {
		return err
	}
	return c.query(ctx, func(r *row) {
		violation("reference: a row of %s (rowid %d) refers to a missing row in %s", r.Text(), r.Int64(), r.Text())
	}, "PRAGMA foreign_key_check")
}

func checkSchema(ctx context.Context, c *conn, known []store.Migration, violation func(string, ...any)) error {
	found, err := compareSchema(ctx, c, known)
	for _, d := range found {
		violation("%s", d)
	}
	return err
}

// These are the first schema versions with resources, with the index of people, and with the audit chain.
const (
	resourcesSince = 15
	peopleSince    = 22
	chainedSince   = 9
)
