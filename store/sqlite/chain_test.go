package sqlite

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"testing/fstest"

	"holdfast/store"
	"holdfast/store/storetest"
)

func TestCheckFindsTamperedAuditChain(t *testing.T) {
	storetest.Tamper(t, func(t *testing.T) (store.Store, func(string) error) {
		path := filepath.Join(t.TempDir(), "holdfast.db")
		s := mustOpen(t, path, migrations)
		return s, func(sql string) error {
			c, err := openConn(dsn(path))
			if err != nil {
				return err
			}
			defer c.close()
			return c.script(sql)
		}
	})
}

// TestMigrationChainsExistingEntries checks that entries of the previous schema become links. An erasure has blanked
// one of them.
func TestMigrationChainsExistingEntries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	files := migrationFiles(t)
	maps.DeleteFunc(files, func(name string, _ *fstest.MapFile) bool { return name >= "migrations/0009_audit_chain.sql" })
	old := mustOpen(t, path, files)
	const entries = 2345 // more than the migration links in one step
	err := old.Write(context.Background(), func(x store.Tx) error {
		for i := range entries {
			err := x.(*tx).run(`INSERT INTO audit_entries (id, at, actor, action, subject, reason, before, after) VALUES (?, 1, '', '', '', '', NULL, ?)`,
				fmt.Sprint("e", entries-i), string(`{"v":1}`[:7*(i%2)]))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, old)
	now := mustOpen(t, path, migrations)
	defer storetest.Verify(t, now)
	if head, err := now.ChainLink(t.Context(), 0); err != nil || head.Position != entries {
		t.Errorf("the chain has %d links, %v; want %d", head.Position, err, entries)
	}
}
