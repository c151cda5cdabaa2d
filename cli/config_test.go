package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

const longEnough = "a-bootstrap-key-of-27-chars"

// resolved reads the settings as serve would.
func resolved(t *testing.T, environ []string, args ...string) (config, []string, error) {
	t.Helper()
	c := &cobra.Command{}
	defineSettings(c, forServing)
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return resolve(c, environ)
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNearestSourceWins tests the precedence of settings: flag, environment, file, default.
func TestNearestSourceWins(t *testing.T) {
	t.Parallel()
	const flag, env, file = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"
	for _, c := range []struct {
		flag, env, file bool
		want, from      string
	}{
		{false, false, false, "127.0.0.1:8788", "default"},
		{false, false, true, file, "line 2"},
		{false, true, false, env, "environment HOLDFAST_LISTEN"},
		{false, true, true, env, "environment HOLDFAST_LISTEN"},
		{true, false, false, flag, "flag --listen"},
		{true, false, true, flag, "flag --listen"},
		{true, true, false, flag, "flag --listen"},
		{true, true, true, flag, "flag --listen"},
	} {
		var args, environ []string
		if c.flag {
			args = append(args, "--listen", flag)
		}
		if c.env {
			environ = append(environ, "HOLDFAST_LISTEN="+env)
		}
		if c.file {
			args = append(args, "--config", write(t, "# where\nHOLDFAST_LISTEN="+file+"\n"))
		}
		got, _, err := resolved(t, environ, args...)
		if err != nil {
			t.Errorf("flag %t, environment %t, file %t: %v", c.flag, c.env, c.file, err)
			continue
		}
		if got.listen != c.want || !strings.HasSuffix(got.given["listen"].from, c.from) {
			t.Errorf("flag %t, environment %t, file %t: got %s from %q, want %s from %q",
				c.flag, c.env, c.file, got.listen, got.given["listen"].from, c.want, c.from)
		}
	}
}

// TestSettingsFile reads a settings file with the spellings that other programs use: spaces, quotes and other forms of
// the names.
func TestSettingsFile(t *testing.T) {
	t.Parallel()
	path := write(t, "\n# comment\n  HOLDFAST_LISTEN = \"127.0.0.1:9\"\ndata='./somewhere'\nlog-format=json\nRATE_LIMIT=off\nHOLDFAST_BASE_URL=\n")
	got, _, err := resolved(t, []string{"HOLDFAST_CONFIG=" + path})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"./x # where it is": "./x", "./x\t# where": "./x", "./x#1": "./x#1", "#1": "#1",
		" # nothing": "./holdfast-data", `"./a # b" # c`: "./a # b", `'./a # b'`: "./a # b", `"./a" b`: `"./a" b`,
		`"./it's"#c`: "./it's",
	} {
		c, _, err := resolved(t, nil, "--config", write(t, "HOLDFAST_DATA="+line+"\n"))
		if err != nil || c.data != want {
			t.Errorf("%s: got %q, %v; want %q", line, c.data, err, want)
			continue
		}
		var printed strings.Builder
		if err := printConfig(&printed, c); err != nil {
			t.Fatal(err)
		}
		if again, _, err := resolved(t, nil, "--config", write(t, printed.String())); err != nil || again.data != want {
			t.Errorf("%s, printed and read again: got %q, %v; want %q", line, again.data, err, want)
		}
	}
	if got.listen != "127.0.0.1:9" || got.data != "./somewhere" || got.logFormat != "json" || got.rateLimit ||
		got.baseURL != "" {
		t.Errorf("got %+v", got)
	}
}

// TestImportReportsAllMistakes: one start reports every mistake in the settings.
func TestImportReportsAllMistakes(t *testing.T) {
	t.Parallel()
	path := write(t, "HOLDFAST_LOG_FORMAT=xml\nLISTNE=1\nnonsense\nconfig=other\n")
	_, _, err := resolved(t, []string{"HOLDFAST_ADMIN_KEY=tooshort", "HOLDFAST_TRUSTED_PROXIES=10.0.0.0/8,everyone"},
		"--config", path, "--listen", "8788", "--base-url", "ftp://x", "--rate-limit", "some", "--timeslots-cache-ttl",
		"300",
		"--redis", "127.0.0.1:6379", "--database", "mysql://clinic:tooshort@127.0.0.1")
	if err == nil {
		t.Fatal("got no error")
	}
	contains(t, "message", err.Error(), "12 settings",
		"--listen", "--base-url", "--rate-limit", "--timeslots-cache-ttl", "300s", "--redis", "--database",
		"HOLDFAST_ADMIN_KEY", "24",
		"HOLDFAST_TRUSTED_PROXIES", `"everyone"`, "line 1", "line 2", "HOLDFAST_LISTEN?", "line 3", "line 4")
	if strings.Contains(err.Error(), "tooshort") {
		t.Errorf("the message contains the secret: %s", err)
	}
}

// TestSecretsComeFromFilesToo: a secret can be read from a file, and is never printed.
func TestSecretsComeFromFilesToo(t *testing.T) {
	t.Parallel()
	path := write(t, longEnough+"\n")
	for name, c := range map[string]struct{ environ, args []string }{
		"flag":              {nil, []string{"--admin-key", longEnough}},
		"flag, file":        {nil, []string{"--admin-key-file", path}},
		"environment":       {[]string{"HOLDFAST_ADMIN_KEY=" + longEnough}, nil},
		"environment, file": {[]string{"HOLDFAST_ADMIN_KEY_FILE=" + path}, nil},
		"config":            {nil, []string{"--config", write(t, "HOLDFAST_ADMIN_KEY="+longEnough)}},
		"config, file":      {nil, []string{"--config", write(t, "admin-key-file="+path)}},
	} {
		got, _, err := resolved(t, c.environ, c.args...)
		if err != nil || got.adminKey != longEnough {
			t.Errorf("%s: got %q, %v; want the key", name, got.adminKey, err)
		}
		shown := command(t, c.environ, "", append([]string{"config", "print"}, c.args...)...)
		if shown.code != 0 || strings.Contains(shown.stdout+shown.stderr, longEnough) {
			t.Errorf("%s: config print: exit code %d, the key is shown: %t", name, shown.code,
				strings.Contains(shown.stdout, longEnough))
		}
	}
	_, _, err := resolved(t, []string{"HOLDFAST_ADMIN_KEY=" + longEnough, "HOLDFAST_ADMIN_KEY_FILE=" + path})
	if err == nil || !strings.Contains(err.Error(), "set twice") {
		t.Errorf("both set: got %v, want an error", err)
	}
	// A flag takes precedence over the environment, in either form.
	if got, _, err := resolved(t, []string{"HOLDFAST_ADMIN_KEY=" + strings.Repeat("x", 30)}, "--admin-key-file",
		path); err != nil || got.adminKey != longEnough {
		t.Errorf("flag over environment: got %q, %v", got.adminKey, err)
	}
}

// TestUnknownEnvironmentWarns: unknown variables cause a warning, except those that Kubernetes sets for a service with
// this name.
func TestUnknownEnvironmentWarns(t *testing.T) {
	t.Parallel()
	_, warnings, err := resolved(t, []string{
		"HOLDFAST_LISTENN=x", "HOLDFAST_QUITE_SOMETHING_ELSE=1", "PATH=/bin",
		"HOLDFAST_PORT=tcp://10.0.0.1:8788", "HOLDFAST_PORT_8788_TCP=tcp://10.0.0.1:8788",
		"HOLDFAST_SERVICE_HOST=10.0.0.1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 2 {
		t.Fatalf("got %d warnings, want 2: %q", len(warnings), warnings)
	}
	contains(t, "warning", warnings[0], "HOLDFAST_LISTENN", "did you mean HOLDFAST_LISTEN?")
	if strings.Contains(warnings[1], "did you mean") {
		t.Errorf("the error suggests an unrelated flag: %s", warnings[1])
	}
	for _, s := range settings() {
		if s.env() == "HOLDFAST_PORT" {
			t.Error("HOLDFAST_PORT is a setting, but Kubernetes sets it to an address")
		}
	}
}

// TestUnknownLineIsLogged: an unknown setting in the file is logged with its line, like one in the environment. A
// line without a setting is refused.
func TestUnknownLineIsLogged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line, says string
		refused    bool
	}{
		{"HOLDFAST_BOGUS=1", "line 2: HOLDFAST_BOGUS is not a setting and was ignored", false},
		{"HOLDFAST_BOGUS=", "line 2: HOLDFAST_BOGUS is not a setting and was ignored", false},
		{"HOLDFAST_LISTNE=1", "did you mean HOLDFAST_LISTEN?", false},
		{"BOGUS=1", "line 2: HOLDFAST_BOGUS is not a setting", true},
		{"HOLDFAST_BOGUS", "line 2: must be KEY=VALUE", true},
		{"HOLDFAST_CONFIG=other", "cannot name another", true},
		{"export HOLDFAST_LISTEN=127.0.0.1:9", "line 2: remove the word export", true},
		{"HOLDFAST_PRESENCE_SWEEP=-5s", "must not be negative", true},
		{"HOLDFAST_LISTEN=", "", false},
	} {
		path := write(t, "# settings\n"+c.line+"\nHOLDFAST_LOG_FORMAT=json\n")
		got, warnings, err := resolved(t, nil, "--config", path)
		said := strings.Join(warnings, "\n")
		if c.refused {
			if err == nil {
				t.Errorf("%s: was accepted, want an error", c.line)
				continue
			}
			said = err.Error()
		} else if err != nil || got.logFormat != "json" {
			t.Errorf("%s: got %v, log format %q; want the next line to apply", c.line, err, got.logFormat)
		}
		contains(t, c.line, said, c.says)
		if c.says == "" && said != "" || c.says != "" && !strings.Contains(said, path) {
			t.Errorf("%s: got %q, want an error with %q, or none", c.line, said, path)
		}
	}
	_, _, err := resolved(t, nil, "--config", filepath.Join(t.TempDir(), "nowhere"))
	if err == nil {
		t.Fatal("a missing file: got no error")
	}
	contains(t, "a file that is not there", err.Error(), "flag --config", "does not exist", "nowhere")
}

// TestByteOrderMarkIsSkipped: Windows editors write a byte order mark before the first setting, or a secret.
func TestByteOrderMarkIsSkipped(t *testing.T) {
	t.Parallel()
	const mark = "\ufeff"
	key := write(t, mark+longEnough+"\r\n")
	got, warnings, err := resolved(t, nil, "--config",
		write(t, mark+"HOLDFAST_LOG_FORMAT=json\r\nHOLDFAST_ADMIN_KEY_FILE="+key+"\r\n"))
	if err != nil || len(warnings) > 0 || got.logFormat != "json" || got.adminKey != longEnough {
		t.Errorf("got log format %q, admin key %q, %v, %v", got.logFormat, got.adminKey, warnings, err)
	}
}

// TestConfigPrintCanBeReadBack: the output is a valid settings file with the same values.
func TestConfigPrintCanBeReadBack(t *testing.T) {
	t.Parallel()
	args := []string{"--listen", "127.0.0.1:9", "--base-url", "https://book.example.org/", "--trusted-proxies",
		"10.0.0.5, 192.168.0.0/16",
		"--timeslots-cache-ttl", "0", "--log-format", "json"}
	first, _, err := resolved(t, nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	printed := must(t, append([]string{"config", "print"}, args...)...)
	second, _, err := resolved(t, nil, "--config", write(t, printed))
	if err != nil {
		t.Fatal(err)
	}
	if len(second.trustedProxies) != 2 || first.trustedProxies[1] != second.trustedProxies[1] ||
		first.listen != second.listen || first.baseURL != second.baseURL || first.logFormat != second.logFormat ||
		second.timeslotsCacheTTL != 0 || second.baseURL != "https://book.example.org" {
		t.Errorf("got %+v, want %+v", second, first)
	}
}

// FuzzFileOfSettings: any file can be read without a panic, and every mistake in it has a message.
func FuzzFileOfSettings(f *testing.F) {
	f.Add("HOLDFAST_LISTEN=127.0.0.1:1\n")
	f.Add("=\n==\n'\n\"=\"\nlisten='\n")
	f.Fuzz(func(t *testing.T, text string) {
		var wrong mistakes
		fileSource(write(t, text), "test", settings(), &wrong)
		for _, w := range wrong {
			if w.Error() == "" {
				t.Error("an error without a text")
			}
		}
	})
}

func TestLogLevelLeavesOutLesserMessages(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]string{"": "IWE", "debug": "DIWE", "info": "IWE", "warn": "WE", "error": "E"} {
		var args []string
		if level != "" {
			args = []string{"--log-level", level}
		}
		c, _, err := resolved(t, nil, args...)
		if err != nil {
			t.Fatal(err)
		}
		var written strings.Builder
		log := newLog(c, &written)
		log.Debug("D")
		log.Info("I")
		log.Warn("W")
		log.Error("E")
		var got string
		for line := range strings.Lines(written.String()) {
			_, message, _ := strings.Cut(line, "msg=")
			got += strings.TrimSpace(message)
		}
		if got != want {
			t.Errorf("--log-level %q logs %s, want %s", level, got, want)
		}
	}
	if _, _, err := resolved(t, nil, "--log-level", "info+2"); err == nil || !strings.Contains(err.Error(), "warn") {
		t.Errorf("an unknown level: got %v, want an error with the valid levels", err)
	}
}
