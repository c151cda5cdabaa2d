package planted

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const door = `package house

const width, height = 2, 3

type Door struct{ open bool }

// Open opens the door.
func (d *Door) Open() {
	if d.open {
		return
	}
	d.open = true
}

func knock(times int) int {
	times++
	return times
}
`

func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/house/door.go": door, "a/house/door_test.go": door,
		"a/house/sql/door.sql": "SELECT 1\nFROM doors\nWHERE open;\nSELECT 1\n",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFindNamesOnePlace(t *testing.T) {
	root := tree(t)
	for _, c := range []struct{ in, old, wrong, line, wrongLine string }{
		{"house.Door.Open", "= true", "= false", "\td.open = true", "\td.open = false"},
		{"house.knock", "times++", "times--", "\ttimes++", "\ttimes--"},
		{"house.width", "2, 3", "3, 2", "const width, height = 2, 3", "const width, height = 3, 2"},
		{"house.Door", "bool", "int", "type Door struct{ open bool }", "type Door struct{ open int }"},
		{"a/house/sql/door.sql", "doors\nWHERE open", "doors\nWHERE closed", "FROM doors\nWHERE open;",
			"FROM doors\nWHERE closed;"},
	} {
		p, err := Bug{c.in, c.old, c.wrong}.Find(root)
		if err != nil || p.Old != c.line || p.Wrong != c.wrongLine {
			t.Errorf("%s: got %+v, %v; want %q and %q", c.in, p, err, c.line, c.wrongLine)
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.File)))
		if err != nil {
			t.Fatal(err)
		}
		wrong, err := Apply(root, p)
		if want := strings.Replace(string(text), c.line, c.wrongLine, 1); err != nil || wrong[p.File] != want {
			t.Errorf("%s: got %q, %v; want %q", c.in, wrong[p.File], err, want)
		}
	}
}

func TestFindRefusesWhatIsNotUnique(t *testing.T) {
	root := tree(t)
	for name, b := range map[string]Bug{
		"no package":        {"attic.Door", "x", "y"},
		"no declaration":    {"house.Window", "x", "y"},
		"a type's method":   {"house.Open", "d.open", "y"},
		"no such pattern":   {"house.Door.Open", "closed", "y"},
		"a pattern twice":   {"house.Door.Open", "d.open", "y"},
		"no such file":      {"a/house/sql/window.sql", "x", "y"},
		"twice in the file": {"a/house/sql/door.sql", "SELECT 1", "y"},
	} {
		if p, err := b.Find(root); err == nil {
			t.Errorf("%s: got %+v, want an error", name, p)
		}
	}
}
