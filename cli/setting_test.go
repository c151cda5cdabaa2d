package cli

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEverySettingIsInTheManual: docs/operations.md has a row for each, with the default that counts.
func TestEverySettingIsInTheManual(t *testing.T) {
	raw, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]string)
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(cells[1], " `--") {
			continue
		}
		name, mark, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(cells[1], " `--")), "`")
		fallback := strings.Trim(strings.TrimSpace(cells[2]), "`")
		if fallback == "none" {
			fallback = ""
		}
		if rows[name] != "" {
			t.Errorf("--%s has two rows", name)
		}
		rows[name] = fallback + mark
	}
	for _, s := range settings() {
		want := s.fallback
		if s.secret {
			want += " ●"
		}
		got, there := rows[s.name]
		switch {
		case !there:
			t.Errorf("--%s has no row in docs/operations.md", s.name)
		case got != want:
			t.Errorf("--%s: docs/operations.md says %q, the table says %q", s.name, got, want)
		}
		delete(rows, s.name)
	}
	for name := range rows {
		t.Errorf("docs/operations.md describes --%s, which is no setting", name)
	}
}

// TestBadValuesAreExplained: for every setting that can be wrong, a wrong value and what its mistake has to say.
func TestBadValuesAreExplained(t *testing.T) {
	const (
		length = "a length of time with its unit"
		yes    = "should be one of: true, false"
	)
	cases := []struct{ name, value, says string }{
		{"listen", "8788", "should be host:port"},
		{"listen", "127.0.0.1:http", "has no port"},
		{"base-url", "book.example.org", "a scheme and a host"},
		{"base-url", "https://book.example.org/clinic", "a scheme and a host"},
		{"trusted-proxies", "10.0.0.5,proxy", "an address or a network"},
		{"rate-limit", "on", "should be one of: default, off"},
		{"admin-key", "short", "needs at least 24"},
		{"admin-key", "a key with spaces in it, quite long", "visible ASCII"},
		{"timeslots-cache-ttl", "300", length},
		{"presence-stale-after", "0s", "longer than nothing"},
		{"presence-sweep", "-1s", length},
		{"presence-mirror", "often", length},
		{"presence-reconcile", "0", "longer than nothing"},
		{"queue-backoff", "0s", "longer than nothing"},
		{"queue-max-attempts", "0", "a number from 1 to 1000"},
		{"queue-max-attempts", "ten", "a number from 1 to 1000"},
		{"max-holds-per-address", "0", "a number from 1 to 1000000"},
		{"max-holds-per-day", "-5", "a number from 1 to 1000000"},
		{"max-streams", "many", "a number from 1 to 1000000"},
		{"max-streams-per-address", "1e3", "a number from 1 to 1000000"},
		{"smtp-url", "mail.example.org:587", "smtp://user:password@host:587"},
		{"smtp-url", "https://mail.example.org", "smtp://user:password@host:587"},
		{"smtp-url", "smtp://mail.example.org:none", "smtp://user:password@host:587"},
		{"smtp-url", "smtp://mail.example.org:99999", "port"},
		{"mail-from", "Harbour Clinic", "should be an address"},
		{"webhook-allow-private", "yes", yes},
		{"log-format", "xml", "should be one of: text, json"},
		{"redis", "redis://localhost", "not in this build yet"},
		{"database", "postgres://localhost", "not in this build yet"},
		{"upstream-url", "pms.example/GetData.ashx", "the whole address"},
		{"upstream-url", "ftp://pms.example/GetData.ashx", "the whole address"},
		{"upstream-url", "https://user:secret@pms.example/", "no user and password"},
		{"upstream-spacing", "10", length},
		{"upstream-retry-delay", "0s", "longer than nothing"},
		{"upstream-timeout", "soon", length},
		{"upstream-quarantine", "-90s", length},
		{"agent-allow-legacy", "1", yes},
		{"debug-replies", "on", yes},
	}
	checked := []string{"data", "owner-email", "owner-password", "upstream-client-id", "upstream-user", "upstream-password", "upstream-vendor"} // take any text
	for _, c := range cases {
		checked = append(checked, c.name)
		_, _, err := resolved(t, nil, "--"+c.name+"="+c.value)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.name) {
			t.Errorf("--%s %q: got %v, want it to name the setting and to say %q", c.name, c.value, err, c.says)
		}
		if i := slices.IndexFunc(settings(), func(s setting) bool { return s.name == c.name }); settings()[i].secret && err != nil && strings.Contains(err.Error(), c.value) {
			t.Errorf("--%s is a secret, and stands in the message: %v", c.name, err)
		}
	}
	for _, s := range settings() {
		if !slices.Contains(checked, s.name) {
			t.Errorf("--%s has no wrong value in this test", s.name)
		}
	}
}

// TestSettingsThatNeedEachOther are found out when the house is opened, before anything is served.
func TestSettingsThatNeedEachOther(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"credentials without an address", []string{"--upstream-user", "jo"}, "set --upstream-url too"},
		{"an address without credentials", []string{"--upstream-url", "https://pms.example/GetData.ashx"}, "--upstream-client-id"},
		{"an owner without a password", []string{"--owner-email", "jo@example.org"}, "--owner-password"},
		{"an owner with a short password", []string{"--owner-email", "jo@example.org", "--owner-password", "short"}, "password"},
	} {
		got := command(t, nil, "", append([]string{"serve", "--listen", "127.0.0.1:0", "--data", t.TempDir()}, c.args...)...)
		if got.code == 0 || !strings.Contains(got.stderr, c.says) {
			t.Errorf("%s: exit code %d, %q; want it refused and to say %q", c.name, got.code, got.stderr, c.says)
		}
	}
}
