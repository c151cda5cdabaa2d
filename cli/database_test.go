package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadCommandsCreateNoDatabase: every command that reads a clinic reports a mistyped directory and creates
// nothing, whether the directory exists or not.
func TestReadCommandsCreateNoDatabase(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"export"}, {"apikey", "create", "--name", "x", "--scope", "admin"}, {"apikey", "list"},
		{"apikey", "revoke", "x"}, {"backup"}, {"verify"}, {"admin",
			"create", "--email", "jo@clinic.example", "--name", "Jo"},
		{"admin", "reset-password", "--email", "jo@clinic.example"}, {"admin", "list"},
		{"setup-url"}, {"migrate"}, {"keys", "rotate"}, {"queue", "list"}, {"queue", "retry", "x"},
		{"why", "--type", "checkup", "--at", "2026-11-30T10:00:00Z"}, {"mcp"},
	} {
		t.Run(strings.Join(args[:min(len(args), 2)], " "), func(t *testing.T) {
			there := t.TempDir()
			for _, dir := range []string{there, filepath.Join(there, "not", "made")} {
				got := command(t, nil, "walrus teapot umbrella\n", append(args, "--data", dir)...)
				want := "holdfast: no database in " + dir +
					". Set --data to the directory of your clinic, or create a clinic with: holdfast serve\n"
				if got.code != 1 || got.stderr != want {
					t.Errorf("got %d, %q; want 1 and %q", got.code, got.stderr, want)
				}
			}
			if left, err := os.ReadDir(there); err != nil || len(left) > 0 {
				t.Errorf("the command left %v (%v)", left, err)
			}
		})
	}
}

func TestMissingDatabaseIsNamed(t *testing.T) {
	t.Parallel()
	house := t.TempDir()
	for _, name := range []string{"harbour-data", "hill-data", "other"} {
		if err := os.Mkdir(filepath.Join(house, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(house, name, databaseFile), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	harbour, hill := filepath.Join(house, "harbour-data"), filepath.Join(house, "hill-data")
	for _, c := range []struct{ typed, says string }{
		{filepath.Join(house, "harbor-data"), "Did you mean " + harbour + " or " + hill + "?"},
		{filepath.Join(house, "hil-data"), "Did you mean " + hill + " or "},
		{filepath.Join(harbour, databaseFile), "Did you mean " + harbour + "?"},
		{filepath.Join(harbour, backupsDir), "Did you mean " + harbour + "?"},
	} {
		err := needDatabase(t.Context(), c.typed)
		if err == nil || !strings.Contains(err.Error(), "no database in "+c.typed+". "+c.says) {
			t.Errorf("%s: got %v, want %q", c.typed, err, c.says)
		}
	}
}

// TestOpenWaitsForDatabaseInCreation: a script can run commands immediately after the first start of the server.
func TestOpenWaitsForDatabaseInCreation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, lockFile), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error)
	go func() { answered <- needDatabase(t.Context(), dir) }()
	if err := os.WriteFile(filepath.Join(dir, databaseFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}
