package sqlite

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/store"
)

var update = flag.Bool("update", false, "write schema.sum from the migrations")

// TestSchemaSumsMatchMigrations compares schema.sum with the schemas that the migrations create, version by version.
// The flag -update writes the file.
func TestSchemaSumsMatchMigrations(t *testing.T) {
	known, err := store.ReadMigrations(migrations)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for version := range len(known) + 1 {
		made, err := expectedSchema(t.Context(), known[:version])
		if err != nil {
			t.Fatal(err)
		}
		want.WriteString(schemaSum(known[:version], made))
	}
	if *update {
		if err := os.WriteFile("schema.sum", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if schemaSums != want.String() {
		t.Errorf("schema.sum differs from the migrations; run: go test ./store/sqlite -run SchemaSums -update")
	}
}

// TestSchemaSumCoversEveryObject checks that the sum changes if an object is missing, added or altered, or if a
// migration differs.
func TestSchemaSumCoversEveryObject(t *testing.T) {
	made := []store.Migration{{Checksum: "1"}, {Checksum: "2"}}
	all := func() map[string]object {
		return map[string]object{"table a": {"table", "a", "CREATE TABLE a (b)"}, "index i": {"index", "i", "CREATE INDEX i ON a (b)"}}
	}
	sum := schemaSum(made, all())
	for name, alter := range map[string]func(map[string]object){
		"missing": func(all map[string]object) { delete(all, "index i") },
		"added":   func(all map[string]object) { all["trigger t"] = object{"trigger", "t", "CREATE TRIGGER t"} },
		"altered": func(all map[string]object) { all["table a"] = object{"table", "a", "CREATE TABLE a (b, c)"} },
	} {
		other := all()
		alter(other)
		if schemaSum(made, other) == sum {
			t.Errorf("%s: the checksum does not change", name)
		}
	}
	if schemaSum(made[:1], all()) == sum {
		t.Error("without the last migration, the checksum is the same")
	}
	if schemaSum(made, all()) != sum {
		t.Error("the same schema has two checksums")
	}
}

// BenchmarkOpen opens a database whose checksum is in schemaSums, and one for which Open must create the expected
// schema.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "holdfast.db")
	sums := schemaSums
	defer func() { schemaSums = sums }()
	for _, c := range []struct{ name, sums string }{{"known", sums}, {"anew", ""}} {
		b.Run(c.name, func(b *testing.B) {
			schemaSums = c.sums
			for b.Loop() {
				s, err := Open(b.Context(), Options{Path: path})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
