package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDataIsPrintedAsJSON: every command that prints data can print JSON, empty lists as lists.
func TestDataIsPrintedAsJSON(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	for _, c := range []struct{ command, want string }{
		{"admin list", `[]`}, {"apikey list", `[]`}, {"queue list", `"operations": []`}, {"verify", `"sound": true`},
	} {
		said := must(t, append(strings.Fields(c.command), "--data", dir, "--json")...)
		if !json.Valid([]byte(said)) || !strings.Contains(said, c.want) {
			t.Errorf("%s: got %s, want JSON with %s", c.command, said, c.want)
		}
	}
	must(t, "apikey", "create", "--data", dir, "--name", "phone", "--scope", "agent")
	contains(t, "apikey list", must(t, "apikey", "list", "--data", dir, "--json"), `"name": "phone"`,
		`"scope": "agent"`)
	if err := os.WriteFile(filepath.Join(dir, databaseFile), []byte(strings.Repeat("no database ", 1000)),
		0o600); err != nil {
		t.Fatal(err)
	}
	got := command(t, nil, "", "verify", "--data", dir, "--json")
	if got.code != 1 || !json.Valid([]byte(got.stdout)) || !strings.Contains(got.stdout, `"sound": false`) {
		t.Errorf("a damaged database: got %+v", got)
	}
}

// TestExitCodes: 0 for success, 1 for a failure, 2 for a wrong command line.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"--version": 0, "version": 0, "--help": 0, "nonsense": 2, "--nope": 2, "serve --listen": 2, "serve here": 2,
		"apikey nonsense": 2, "restore": 2, "apikey create": 2, "apikey create --name x": 2,
		"apikey create --name x --scope y": 2, "queue retry": 2, "admin create": 2,
		"apikey create --name x --scope agent": 1, "queue list": 1, "export": 1, "verify": 1, "restore nowhere": 1,
	} {
		args := strings.Fields(line)
		if want == 1 {
			args = append(args, "--data", filepath.Join(t.TempDir(), "nowhere"))
		}
		if got := command(t, nil, "", args...); got.code != want {
			t.Errorf("%s: got %+v, want exit code %d", line, got, want)
		}
	}
	if version, flag := must(t, "version"), must(t, "--version"); version != flag {
		t.Errorf("--version printed %q, version %q", flag, version)
	}
}
