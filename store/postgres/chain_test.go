package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/fstest"

	"holdfast/store"
	"holdfast/store/storetest"
)

// onItsOwn runs fn with a connection that does not belong to a node.
func onItsOwn(url string, fn func(context.Context, *conn) error) error {
	o := Options{URL: url}
	if err := o.fill(); err != nil {
		return err
	}
	at, err := newServer(o)
	if err != nil {
		return err
	}
	return at.with(context.Background(), fn)
}

func TestCheckFindsTamperedAuditChain(t *testing.T) {
	t.Parallel()
	storetest.Tamper(t, func(t *testing.T) (store.Store, func(string) error) {
		url := migrated(t)
		return mustOpen(t, Options{URL: url, Alone: true}), func(sql string) error {
			return onItsOwn(url, func(ctx context.Context, c *conn) error { return c.script(ctx, sql) })
		}
	})
}

// TestMigrationChainsExistingEntries checks that entries of the previous schema become links, in the order in which
// they were written.
func TestMigrationChainsExistingEntries(t *testing.T) {
	t.Parallel()
	url := database(t)
	files := fstest.MapFS{}
	known, err := store.ReadMigrations(migrations)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range known {
		if m.Version < 5 {
			files[filepath.Join("migrations", m.Name)] = &fstest.MapFile{Data: []byte(m.Text)}
		}
	}
	const entries = 2345 // more than the migration links in one step
	err = onItsOwn(url, func(ctx context.Context, c *conn) error {
		if err := migrate(ctx, c, schema{files: files}, slog.New(slog.DiscardHandler), false); err != nil {
			return err
		}
		return c.script(ctx, fmt.Sprintf(`INSERT INTO audit_entries (id, at, actor, action, subject, reason, before, after)
			SELECT 'e' || (%d - i), 1, '', '', '', '', NULL, CASE WHEN i %% 2 = 0 THEN '{"v":1}' END FROM generate_series(1, %d) i`, entries, entries))
	})
	if err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, Options{URL: url})
	defer storetest.Verify(t, s)
	if head, err := s.ChainLink(t.Context(), 0); err != nil || head.Position != entries {
		t.Errorf("the chain has %d links, %v; want %d", head.Position, err, entries)
	}
}
