package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"

	"holdfast/store"
	"holdfast/store/table"
)

// TestEveryTableIsCarried checks that store.Carried lists every table. Otherwise a clinic that moves would lose a table
// that a migration added.
func TestEveryTableIsCarried(t *testing.T) {
	dir := t.TempDir()
	c, err := OpenCarrier(t.Context(), filepath.Join(dir, "clinic.db"), dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	have := []string(nil)
	want := append([]string{"appointment_resources"}, table.Derived...) // tables computed from the appointments
	err = c.conn.query(t.Context(), func(r *row) { have = append(have, r.Text()) },
		`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name <> 'schema_versions' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	for _, carried := range store.Carried {
		want = append(want, carried.Name)
	}
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("the tables are %v, and the copied tables are %v", have, want)
	}
}

// interrupted is a Carrier that cannot read one of its tables.
type interrupted struct {
	*Carrier
	table string
}

var errInterrupted = errors.New("the reading broke off")

func (x interrupted) Rows(ctx context.Context, table store.CarriedTable, columns []string, each func(store.Row) error) error {
	if table.Name == x.table {
		return errInterrupted
	}
	return x.Carrier.Rows(ctx, table, columns, each)
}

// TestUnreadableRowsAreNotMissing compares with a target that cannot be read. The error must contain the failure, and
// must not report rows as missing.
func TestUnreadableRowsAreNotMissing(t *testing.T) {
	open := func() *Carrier {
		dir := t.TempDir()
		c, err := OpenCarrier(t.Context(), filepath.Join(dir, "clinic.db"), dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		for _, at := range []int64{1, 2} {
			row := []store.Row{{"a-network", at, int64(1)}}
			if err := c.Insert(t.Context(), store.CarriedTable{Name: "tallies"}, []string{"key", "at", "n"}, row); err != nil {
				t.Fatal(err)
			}
		}
		return c
	}
	from, to := open(), open()
	if _, err := to.conn.exec(`UPDATE meta SET value = ? WHERE key = 'database_id'`, idOf(t, from)); err != nil {
		t.Fatal(err)
	}
	if err := store.Compare(t.Context(), from, to); err != nil {
		t.Fatalf("two equal databases: got %v", err)
	}
	if err := store.Compare(t.Context(), from, interrupted{to, "tallies"}); !errors.Is(err, errInterrupted) || errors.Is(err, store.ErrInvalid) {
		t.Errorf("an unreadable target: got %v, want the read error", err)
	}
}

func idOf(t *testing.T, c *Carrier) string {
	t.Helper()
	id, err := c.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}
