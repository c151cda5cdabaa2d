package sqlite

import (
	"os"
	"strings"
	"testing"

	"holdfast/store"
)

// TestPrivacyPageNamesEveryTable checks that the page names the personal data of every table, its retention and its
// legal ground.
func TestPrivacyPageNamesEveryTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/privacy.md")
	if err != nil {
		t.Fatal(err)
	}
	known, err := store.ReadMigrations(migrations)
	if err != nil {
		t.Fatal(err)
	}
	made, err := expectedSchema(t.Context(), known)
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	for _, o := range made {
		if o.kind != "table" {
			continue
		}
		tables++
		if !strings.Contains(string(page), "`"+o.name+"`") {
			t.Errorf("docs/privacy.md does not describe the table `%s`", o.name)
		}
	}
	if tables < 30 {
		t.Errorf("only %d tables; the test proves nothing", tables)
	}
}
