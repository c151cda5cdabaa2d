package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write docs/settings.md from the table of settings")

// TestSettingsPageComesFromTheTable compares docs/settings.md with the table; -update writes it.
func TestSettingsPageComesFromTheTable(t *testing.T) {
	const page = "../docs/settings.md"
	if *update {
		if err := os.WriteFile(page, []byte(settingsPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != settingsPage() {
		t.Errorf("%s differs from the table of settings (%v); run: go test ./cli -run SettingsPage -update", page, err)
	}
	for _, s := range settings() {
		if !slices.Contains(settingGroups, s.group) || s.value == "" || s.help == "" || strings.HasSuffix(s.help, ".") {
			t.Errorf("--%s: group %q, value %q, help %q", s.name, s.group, s.value, s.help)
		}
	}
}

// TestDatabaseHelpRecommendsFile: the URL of the database contains its password, and other users can read the arguments
// of a process.
func TestDatabaseHelpRecommendsFile(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"migrate", "--help"}} {
		contains(t, strings.Join(args, " "), command(t, nil, "", args...).stdout, "prefer --database-file")
	}
	contains(t, "help settings", strings.Join(strings.Fields(command(t, nil, "", "help", "settings").stdout), " "),
		"prefer --database-file")
}

// TestHelpFitsOnOneScreen: the help lists every command in its group, ten flags, and the command that lists the others.
func TestHelpFitsOnOneScreen(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := process{args: []string{"--help"}, stdout: &out, stderr: &out}
	if code := run(t.Context(), p); code != 0 {
		t.Fatalf("exit code %d: %s", code, &out)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) > 53 {
		t.Errorf("%d lines, want at most 53", len(lines))
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 115 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, c := range rootCommand(p).Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && !strings.Contains(out.String(), " "+c.Name()+" ") {
			t.Errorf("%s is in no group of commands", c.Name())
		}
	}
	out.Reset()
	p.args = []string{"help", "settings"}
	if code := run(t.Context(), p); code != 0 {
		t.Fatalf("help settings: exit code %d: %s", code, &out)
	}
	for _, s := range settings() {
		if !strings.Contains(out.String(), "--"+s.name+" "+s.value) {
			t.Errorf("help settings does not show --%s", s.name)
		}
	}
}

// TestBadValuesAreExplained tests every setting that can be invalid, with an invalid value and the expected error.
func TestBadValuesAreExplained(t *testing.T) {
	t.Parallel()
	const (
		length = "a duration with a unit"
		yes    = "must be one of: true, false"
	)
	cases := []struct{ name, value, says string }{
		{"listen", "8788", "must be host:port"},
		{"keep-sign-ins", "7", "must be between 1d and 36500d"},
		{"keep-records", "9600h", "must be between 1d and 36500d"},
		{"keep-operations", "0d", "must be between 1d and 36500d"},
		{"listen", "127.0.0.1:http", "must end with a port"},
		{"base-url", "book.example.org", "a scheme and a host"},
		{"base-url", "https://book.example.org/clinic", "a scheme and a host"},
		{"domain", "book.example.org,192.0.2.1", "a DNS name"},
		{"https-listen", "443", "must be host:port"},
		{"http-listen", ":http", "must end with a port"},
		{"acme-directory", "http://acme.example/dir", "must be an address such as https://"},
		{"acme-email", "Jo <jo@example.org>", "must be an email address"},
		{"acme-ca", "setting_test.go", "contains no PEM certificate"},
		{"trusted-proxies", "10.0.0.5,proxy", "an address or a network"},
		{"rate-limit", "on", "must be one of: default, off"},
		{"admin-key", "short", "needs at least 24"},
		{"admin-key", "a key with spaces in it, quite long", "visible ASCII"},
		{"timeslots-cache-ttl", "300", length},
		{"owner-email", "jo", "must be an email address"},
		{"owner-password", "short", "needs at least 12"},
		{"presence-stale-after", "0s", "greater than 0"},
		{"presence-sweep", "-1s", length},
		{"presence-mirror", "often", length},
		{"presence-reconcile", "0", "greater than 0"},
		{"queue-backoff", "0s", "greater than 0"},
		{"queue-max-attempts", "0", "a number from 1 to 1000"},
		{"queue-max-attempts", "ten", "a number from 1 to 1000"},
		{"notice-max-age", "0s", "greater than 0"},
		{"max-holds-per-address", "0", "a number from 1 to 1000000"},
		{"max-holds-per-day", "-5", "a number from 1 to 1000000"},
		{"max-hold-share", "0", "a number from 1 to 100"},
		{"max-sessions-per-address", "0", "a number from 1 to 1000000"},
		{"max-idle-per-address", "few", "a number from 1 to 1000000"},
		{"max-connections-per-address", "many", "a number from 1 to 1000000"},
		{"max-streams", "many", "a number from 1 to 1000000"},
		{"max-streams-per-address", "1e3", "a number from 1 to 1000000"},
		{"smtp-url", "mail.example.org:587", "smtp://user:password@host:587"},
		{"smtp-url", "https://mail.example.org", "smtp://user:password@host:587"},
		{"smtp-url", "smtp://mail.example.org:none", "smtp://user:password@host:587"},
		{"smtp-url", "smtp://mail.example.org:99999", "port"},
		{"sms-url", "ftp://user:canary@sms.example.org/%zz", "cannot be read"},
		{"sms-url", "twilio://AC1:canary@", "the sender"},
		{"sms-url", "seven://?from=Clinic", "the account"},
		{"sms-method", "DELETE", "must be one of: POST, PUT, GET"},
		{"mail-from", "Harbour Clinic", "must be an address"},
		{"webhook-allow-private", "yes", yes},
		{"log-format", "xml", "must be one of: text, json"},
		{"log-level", "loud", "must be one of: debug, info, warn, error"},
		{"log-client-address", "yes", "must be one of: true, false"},
		{"backup-at", "3am", "a time such as 03:00"},
		{"backup-at", "24:00", "a time such as 03:00"},
		{"backup-keep", "7,4", "three numbers"},
		{"backup-keep", "0,4,12", "the number of days must be at least 1"},
		{"backup-every", "10ms", "a duration from 1s to 24h"},
		{"backup-to", "s3://Our Bucket", "must look like s3://bucket"},
		{"backup-to", "s3://bucket/../else", "must look like s3://bucket"},
		{"backup-to", "s3://bucket/copies", "needs --backup-s3-access-key"},
		{"backup-s3-endpoint", "s3.example.net", "an address such as https://"},
		{"backup-s3-endpoint", "https://key:secret@s3.example.net", "an address such as https://"},
		{"backup-s3-region", "EU (Frankfurt)", "the name of a region"},
		{"backup-s3-access-key", "a key", "visible ASCII"},
		{"backup-s3-secret-key", "a key with blanks", "visible ASCII"},
		{"redis", "http://user:secret@localhost", "redis://"},
		{"redis", "redis://user:secret@localhost/first", "redis://"},
		{"database", "mysql://user:secret@localhost/clinic", "postgres://"},
		{"database", "postgres://user:its@secret@localhost/clinic", "%40 for @"},
		{"database", "postgres://user:secret@localhost/clinic?sslmode=always", "sslmode is invalid"},
		{"database", "postgres://user:secret@localhost/clinic?target_session_attrs=first", "target_session_attrs"},
		{"database", "postgres://user:its/secret@localhost/clinic", "percent-encoded"},
		{"upstream-url", "pms.example/GetData.ashx", "the full address"},
		{"upstream-url", "ftp://pms.example/GetData.ashx", "the full address"},
		{"upstream-url", "https://user:secret@pms.example/", "must not contain a user name or password"},
		{"upstream-spacing", "10", length},
		{"upstream-retry-delay", "0s", "greater than 0"},
		{"upstream-timeout", "soon", length},
		{"upstream-quarantine", "-90s", length},
		{"upstream-openings-every", "often", length},
		{"upstream-openings-max-age", "0s", "greater than 0"},
		{"agent-bound", "1s", "agent-bound"},
		{"agent-allow-legacy", "1", yes},
		{"debug-replies", "on", yes},
		{"after-rollback", "on", yes},
	}
	// These settings accept any text.
	checked := []string{"data", "sms-headers", "sms-body", "sms-success",
		"upstream-client-id", "upstream-user", "upstream-password", "upstream-vendor"}
	for _, c := range cases {
		checked = append(checked, c.name)
		_, _, err := resolved(t, nil, "--"+c.name+"="+c.value)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.name) {
			t.Errorf("--%s %q: got %v, want an error with the setting and %q", c.name, c.value, err, c.says)
		}
		if i := slices.IndexFunc(settings(), func(s setting) bool {
			return s.name == c.name
		}); settings()[i].secret && err != nil && strings.Contains(err.Error(), c.value) {
			t.Errorf("--%s is a secret, but the message contains it: %v", c.name, err)
		}
	}
	for _, s := range settings() {
		if !slices.Contains(checked, s.name) {
			t.Errorf("--%s has no invalid value in this test", s.name)
		}
	}
}

// TestSettingsThatNeedEachOther: all conflicts are reported together, before any file is created. Commands that do not
// use these settings do not check them.
func TestSettingsThatNeedEachOther(t *testing.T) {
	t.Parallel()
	const endpoint = "https://pms.example/GetData.ashx"
	missing := func(name string) string {
		return "flag --" + name + " (HOLDFAST_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "): is missing"
	}
	client, user, password := missing("upstream-client-id"), missing("upstream-user"), missing("upstream-password")
	for _, c := range []struct {
		name          string
		environ, args []string
		says          []string // all of them, and their number
	}{
		{"an address alone", nil, []string{"--upstream-url", endpoint}, []string{client, user, password}},
		{"beside a mistake", nil, []string{"--upstream-url", endpoint, "--rate-limit", "maybe"},
			[]string{"--rate-limit", client, user, password}},
		{"most of it", []string{"HOLDFAST_UPSTREAM_URL=" + endpoint, "HOLDFAST_UPSTREAM_USER=jo"}, nil,
			[]string{client, password}},
		{"a user alone", nil, []string{"--upstream-user", "jo"}, []string{missing("upstream-url"), client, password}},
		{"a vendor alone", nil, []string{"--upstream-vendor", "jo"},
			[]string{missing("upstream-url"), client, user, password}},
		{"an address that is none", nil, []string{"--upstream-url", "pms", "--upstream-user", "jo"},
			[]string{"the full address", client, password}},
		{"an empty file", nil, []string{"--upstream-url", endpoint, "--upstream-client-id", "c", "--upstream-user",
			"jo", "--upstream-password-file", write(t, "\n")}, []string{"--upstream-password-file: the file"}},
		{"an empty database file", nil, []string{"--database-file", write(t, "\n")}, []string{"is empty"}},
		{"an owner without a password", []string{"HOLDFAST_OWNER_EMAIL=jo@example.org"}, nil,
			[]string{missing("owner-password")}},
		{"a password of nobody", nil, []string{"--owner-password", "walrus teapot umbrella"}, []string{missing("owner-email")}},
		{"half a key of a bucket", nil, []string{"--backup-s3-access-key", "a"},
			[]string{missing("backup-s3-secret-key")}},
		{"two groups", nil, []string{"--owner-email", "jo@example.org", "--upstream-url", endpoint},
			[]string{missing("owner-password"), client, user, password}},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		got := command(t, c.environ, "", append([]string{"serve", "--listen", "127.0.0.1:0", "--data", dir},
			c.args...)...)
		if got.code != 2 || got.stdout != "" {
			t.Errorf("%s: exit code %d, printed %q; want 2 and no output", c.name, got.code, got.stdout)
		}
		contains(t, c.name, got.stderr, c.says...)
		if n := max(1, strings.Count(got.stderr, "\n  - ")); n != len(c.says) {
			t.Errorf("%s: got %d mistakes, want %d: %s", c.name, n, len(c.says), got.stderr)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: the data directory was created: %v", c.name, err)
		}
	}
	half := []string{"HOLDFAST_UPSTREAM_URL=" + endpoint, "HOLDFAST_OWNER_EMAIL=jo@example.org"}
	if got := command(t, half, "", "export", "--data", clinicDir(t)); got.code != 0 {
		t.Errorf("export with half of the settings of serve: got %+v, want success", got)
	}
}

// settingsPage returns docs/settings.md.
func settingsPage() string {
	var b strings.Builder
	b.WriteString(`# Settings

Each setting has one name in three places: the flag ` + "`--base-url`" + `, the environment variable ` + "`HOLDFAST_BASE_URL`" + `, and a line
` + "`HOLDFAST_BASE_URL=…`" + ` in the file of ` + "`--config`" + `. A flag takes precedence over the environment, and the environment over the file.
` + "`holdfast config print`" + ` shows every setting and where its value comes from; its output is such a file.

- The server reports all mistakes at once, with exit code 2, before it opens anything. An unknown ` + "`HOLDFAST_…`" + ` is a warning.
- A secret (●) can be read from a file: ` + "`--admin-key-file`, `HOLDFAST_ADMIN_KEY_FILE`" + `. That keeps it out of the process list and of
  ` + "`docker inspect`" + `. Secrets are never printed.
- A ` + "`DURATION`" + ` is a number with its unit: ` + "`90s`, `5m`, `12h`. `DAYS` are written as `30d`." + `
- In the file, ` + "`#`" + ` starts a comment. Quotes around a value are removed. A name may also be written ` + "`base-url` or `BASE_URL`." + `
- ` + "`holdfast help settings`" + ` prints this table.
`)
	for _, group := range settingGroups {
		fmt.Fprintf(&b, "\n## %s\n\n| setting | default | meaning |\n|---|---|---|\n", group)
		for _, s := range settings() {
			if s.group != group {
				continue
			}
			mark, fallback := "", "none"
			if s.secret {
				mark = " ●"
			}
			if s.fallback != "" {
				fallback = "`" + s.fallback + "`"
			}
			text := strings.ToUpper(s.help[:1]) + s.help[1:] + "."
			if s.more != "" {
				text += " " + s.more
			}
			value := strings.ReplaceAll(s.value, "|", `\|`)
			fmt.Fprintf(&b, "| `--%s %s`%s | %s | %s |\n", s.name, value, mark, fallback, text)
		}
	}
	return b.String()
}
