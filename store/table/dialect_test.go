package table

import (
	"testing"
	"time"

	"holdfast/store"
)

func TestDialectTranslatesWordsAndArguments(t *testing.T) {
	for _, test := range []struct{ text, sqlite, postgres string }{
		{"COMMIT", "COMMIT", "COMMIT"},
		{"a = ? AND b = ?", "a = ? AND b = ?", "a = $1 AND b = $2"},
		{"a = ?2 OR b = ?1 OR c = ?2", "a = ?2 OR b = ?1 OR c = ?2", "a = $2 OR b = $1 OR c = $2"},
		{"a = ?3 AND b = ?", "a = ?3 AND b = ?", "a = $3 AND b = $4"},
		{"a = 'who?' AND b = ?", "a = 'who?' AND b = ?", "a = 'who?' AND b = $1"},
		{"a = 'it''s ?' AND b = ?", "a = 'it''s ?' AND b = ?", "a = 'it''s ?' AND b = $1"},
		{"payload = '{}'", "payload = '{}'", "payload = '{}'"},
		{"{instr}(a, ?) > 0 AND archived = {false}", "instr(a, ?) > 0 AND archived = 0",
			"strpos(a, $1) > 0 AND archived = false"},
		{"a IN ({each}(?)) LIMIT +?", "a IN (SELECT value FROM json_each(?)) LIMIT +?",
			"a IN (SELECT json_array_elements_text($1)) LIMIT $2"},
		{"a {any}SELECT value FROM {texts}(?){end}", "a IN (SELECT value FROM json_each(?))",
			"a = ANY (ARRAY(SELECT value FROM json_array_elements_text($1)))"},
	} {
		if got := SQLite.Text(test.text); got != test.sqlite {
			t.Errorf("SQLite parses %q as %q, want %q", test.text, got, test.sqlite)
		}
		if got := Postgres.Text(test.text); got != test.postgres {
			t.Errorf("PostgreSQL parses %q as %q, want %q", test.text, got, test.postgres)
		}
	}
}

type thing struct {
	ID         string
	Version    int64
	Owner      string         `column:"client_id"`
	Of         store.Identity `column:"of_,inline"`
	EndedAt    time.Time      `column:",null"`
	HoldTTL    int
	Calculated string `column:"-"`
}

func TestColumnsComeFromFields(t *testing.T) {
	n := nounOf[thing]("things", "id", column{name: "of_phone"})
	const want = "id, version, client_id, of_name, of_email, of_birth_date, ended_at, hold_ttl"
	if n.names != want {
		t.Errorf("columns: got %s, want %s", n.names, want)
	}
	at := time.UnixMilli(1).UTC()
	all := n.values(&thing{Owner: "o", EndedAt: at, HoldTTL: 9})
	if got := *all[2].(*string); got != "o" {
		t.Errorf("client_id: got %q, want o", got)
	}
	if got := *all[6].(*time.Time); got != at || n.values(&thing{})[6] != nil {
		t.Errorf("ended_at: got %v, want %v, and NULL for zero", got, at)
	}
	if all[7] != 9 {
		t.Errorf("hold_ttl: got %v, want 9", all[7])
	}
}

func TestNounWritesItsStatements(t *testing.T) {
	type thing struct {
		ID      string
		Version int64
	}
	n := nounOf[thing]("things", "id",
		merged("largest", func(v *thing) any { return v.Version }, "max(largest, excluded.largest)"))
	for _, test := range []struct{ got, want string }{
		{n.from, "SELECT id, version FROM things "},
		{n.qualified, "things.id, things.version"},
		{n.insert, "INSERT INTO things (id, version, largest) VALUES (?, ?, ?)"},
		{n.put, "INSERT INTO things (id, version, largest) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET " +
			"version = excluded.version, largest = max(largest, excluded.largest)"},
		{n.update, "UPDATE things SET version = ?, largest = ? WHERE id = ? AND version = ?"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}
