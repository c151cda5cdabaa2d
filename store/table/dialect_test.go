package table

import "testing"

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
			t.Errorf("SQLite reads %q as %q, want %q", test.text, got, test.sqlite)
		}
		if got := Postgres.Text(test.text); got != test.postgres {
			t.Errorf("PostgreSQL reads %q as %q, want %q", test.text, got, test.postgres)
		}
	}
}

type thing struct {
	id      string
	version int64
}

func TestNounWritesItsStatements(t *testing.T) {
	n := nounOf("things", 1, cols(
		text("id", func(v *thing) *string { return &v.id }),
		long("version", func(v *thing) *int64 { return &v.version }),
		column[thing]{
			name: "largest", value: func(v *thing) any { return v.version }, merge: "max(largest, excluded.largest)",
		},
	))
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
