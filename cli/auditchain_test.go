package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lastLink runs verify and returns the last link of the audit chain that it prints.
func lastLink(t *testing.T, args ...string) string {
	t.Helper()
	said := must(t, append([]string{"verify"}, args...)...)
	contains(t, "verify", said, "is intact", "0 overlaps", "audit chain unbroken; its last link is ")
	_, link, _ := strings.Cut(said, "last link is ")
	return strings.TrimSpace(link)
}

// TestVerifyKnowsNotedLink: verify accepts an audit chain with a noted link, in the database, in its backups and
// after a restore, and refuses a chain without it.
func TestVerifyKnowsNotedLink(t *testing.T) {
	t.Parallel()
	dir, backup := clinicDir(t), filepath.Join(t.TempDir(), "backup")
	must(t, "backup", "--data", dir, "--to", backup)
	early := lastLink(t, "--data", dir)
	if got := lastLink(t, backup); got != early {
		t.Errorf("the backup ends with %s, want %s", got, early)
	}
	must(t, "apikey", "create", "--data", dir, "--name", "phone", "--scope", "agent")
	late := lastLink(t, "--data", dir, "--audit-link", early)
	if late == early {
		t.Fatalf("the chain still ends with %s", late)
	}
	contains(t, "verify --json", must(t, "verify", "--data", dir, "--json", "--audit-link", late), `"sound": true`,
		`"auditLink": "`+late+`"`)
	must(t, "restore", "--data", dir, backup)
	for what, args := range map[string][]string{
		"cut":      {"--data", dir, "--audit-link", late},
		"a backup": {backup, "--audit-link", late},
		"another hash": {"--data", dir, "--audit-link", early[:len(early)-1] +
			string("0123456789abcdef"[(strings.IndexByte("0123456789abcdef", early[len(early)-1])+1)%16])},
	} {
		got := command(t, nil, "", append([]string{"verify"}, args...)...)
		if got.code != 1 || !strings.Contains(got.stderr, "was truncated before that link, or rewritten") {
			t.Errorf("%s: got %+v", what, got)
		}
	}
	for _, bad := range []string{"1", "0:" + strings.Repeat("0", 64), "x:" + strings.Repeat("0", 64), "1:" +
		strings.Repeat("0", 66), "1:zz"} {
		if got := command(t, nil, "", "verify", "--data", dir, "--audit-link", bad); got.code != 2 ||
			!strings.Contains(got.stderr, "is not a valid audit link") {
			t.Errorf("--audit-link %s: got %+v, want exit code 2", bad, got)
		}
	}
}

// TestVerifyNamesTheBrokenEntry changes an audit entry in the database file. verify fails and names that entry.
func TestVerifyNamesTheBrokenEntry(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	must(t, "apikey", "create", "--data", dir, "--name", "phone", "--scope", "agent")
	path := filepath.Join(dir, databaseFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(text, []byte("apikey.created"), []byte("apikey.revoked"), 1)
	if bytes.Equal(changed, text) {
		t.Fatal("the entry was not found")
	}
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		t.Fatal(err)
	}
	got := command(t, nil, "", "verify", "--data", dir)
	if got.code != 1 || got.stdout != "" {
		t.Errorf("got %+v, want exit code 1", got)
	}
	contains(t, "verify", got.stderr, "audit: the chain is broken: link ", "entry ", "was altered")
	asJSON := command(t, nil, "", "verify", "--data", dir, "--json")
	if asJSON.code != 1 {
		t.Errorf("--json: got %+v, want exit code 1", asJSON)
	}
	contains(t, "verify --json", asJSON.stdout, `"sound": false`, "the chain is broken: link ")
}
