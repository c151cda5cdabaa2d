package sqlite

import (
	"log/slog"
	"path/filepath"
	"slices"
	"testing"

	"holdfast/store"
)

// TestEveryTableIsCarried: a table that a migration adds is carried too, or a clinic that moves leaves it behind.
func TestEveryTableIsCarried(t *testing.T) {
	dir := t.TempDir()
	c, err := OpenCarrier(t.Context(), filepath.Join(dir, "clinic.db"), dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var have, want []string
	err = c.conn.query(t.Context(), func(r *row) { have = append(have, r.text()) },
		`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name <> 'schema_versions' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range store.Carried {
		want = append(want, table.Name)
	}
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("the tables are %v, and carried are %v", have, want)
	}
}
