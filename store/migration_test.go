package store

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestMigrationsAreNumberedInSequence(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		says  string // a part of the error; empty means that the files are accepted
	}{
		"in order":       {[]string{"0002_more.sql", "0001_first.sql"}, ""},
		"none":           {nil, ""},
		"a gap":          {[]string{"0001_first.sql", "0003_third.sql"}, "0003_third.sql should be number 0002"},
		"a number twice": {[]string{"0001_a.sql", "0001_b.sql"}, "0001_b.sql should be number 0002"},
		"another name":   {[]string{"first.sql"}, "first.sql is not named like 0001_first.sql"},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"migrations/README.md": {}}
			for _, f := range c.files {
				files["migrations/"+f] = &fstest.MapFile{Data: []byte("-- " + f)}
			}
			all, err := ReadMigrations(files)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want an error with %q", err, c.says)
				}
				return
			}
			if err != nil || len(all) != len(c.files) {
				t.Fatalf("got %d of %d: %v", len(all), len(c.files), err)
			}
			for i, m := range all {
				if m.Version != i+1 || m.Text != "-- "+m.Name || len(m.Checksum) != 64 {
					t.Errorf("got %+v in place %d", m, i+1)
				}
			}
		})
	}
}
