package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/store"
)

// TestBusyBlocksTakeTwoStatements checks that PutBusyBlocks sends one statement for the deleted blocks and one for the
// added ones. All other writers wait during that time.
func TestBusyBlocksTakeTwoStatements(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, Options{URL: migrated(t)})
	t.Cleanup(func() { _ = s.Close() })
	ctx, from := t.Context(), time.Now().UTC().Truncate(time.Hour)
	blocks := func(id string, first int) (all []store.Block) {
		for i := range 20 {
			at := from.Add(time.Duration(first+i) * time.Hour)
			all = append(all, store.Block{ID: fmt.Sprint(id, i), Start: at, End: at.Add(time.Hour)})
		}
		return all
	}
	put := func(blocks []store.Block) {
		t.Helper()
		if err := s.Write(ctx, func(tx store.Tx) error {
			_, err := tx.PutBusyBlocks(ctx, "s0", blocks)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Write(ctx, clinic); err != nil {
		t.Fatal(err)
	}
	put(blocks("old", 0))
	if err := errors.Join(
		raw(t, s, `CREATE TABLE told (what text)`),
		raw(t, s, `CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO told VALUES (TG_OP); RETURN NULL; END $$`),
		raw(t, s, `CREATE TRIGGER tell AFTER INSERT OR DELETE ON blocks FOR EACH STATEMENT EXECUTE FUNCTION tell()`),
	); err != nil {
		t.Fatal(err)
	}
	put(blocks("new", 20))
	var statements, there int
	if err := s.server.with(ctx, func(ctx context.Context, c *conn) error {
		_, err := c.exchange(ctx,
			asks(func(r *row) { statements = r.Int() }, `SELECT count(*)::integer FROM told`),
			asks(func(r *row) { there = r.Int() }, `SELECT count(*)::integer FROM blocks WHERE id LIKE 'new%'`))
		return err
	}); err != nil || statements != 2 || there != 20 {
		t.Errorf("replacing 20 by 20 took %d statements and left %d of the new ones, %v", statements, there, err)
	}
}
