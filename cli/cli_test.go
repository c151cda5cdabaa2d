package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast/store/bolt"
)

// asMain is the environment variable that makes the test binary act as holdfast, for tests that need a separate
// process: signals and exit codes.
const asMain = "CLI_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	bolt.CheckMain() // this binary is also the child process that checks the queue's file
	if os.Getenv(asMain) != "" {
		os.Exit(Main("test"))
	}
	code := m.Run()
	if everybodysAsked.Load() {
		server, _ := everybodys()
		server.Stop()
	}
	os.Exit(code)
}

// ran is the result of one command.
type ran struct {
	code           int
	stdout, stderr string
}

// command runs one command until it ends. The environment contains only the given variables.
func command(t *testing.T, environ []string, stdin string, args ...string) ran {
	t.Helper()
	// If a command serves when it should refuse, the test fails after this time instead of hanging.
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code := run(ctx, process{
		args: args, environ: environ, stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, version: "test",
	})
	return ran{code, out.String(), errs.String()}
}

// must runs a command that must succeed, and returns its output. It repeats a command that a busy PostgreSQL did not
// answer in time.
func must(t *testing.T, args ...string) string {
	t.Helper()
	var got ran
	eventually(t, "the database answers in time", func() bool {
		got = command(t, nil, "", args...)
		return got.code == 0 || !strings.Contains(got.stderr, "storage unavailable")
	})
	if got.code != 0 {
		t.Fatalf("holdfast %s: exit code %d, want 0; it printed:\n%s", strings.Join(args, " "), got.code, got.stderr)
	}
	return got.stdout
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: got %q, want it to contain %q", what, text, part)
		}
	}
}

// TestTypingErrorsAreExplained: a wrong command line ends with exit code 2. The message names the mistake and the
// command that shows help.
func TestTypingErrorsAreExplained(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"a command that is not there", []string{"srve"}, []string{`"srve"`, `"serve"`, "--help"}},
		{"a part that is not there", []string{"admin", "lst"}, []string{`"lst"`, `"list"`, "admin --help"}},
		{"help for a command that is not there", []string{"help", "srve"}, []string{`"srve"`, `"serve"`, "--help"}},
		{"help for a part that is not there", []string{"help", "admin", "creat"}, []string{`"creat"`, `"create"`}},
		{"an unknown shell", []string{"completion", "fihs"}, []string{`"fihs"`, `"fish"`, "completion --help"}},
		{"an argument where none is taken", []string{"serve", "now"}, []string{`"now"`}},
		{"a flag that is not there", []string{"serve", "--port", "80"}, []string{"--port", "--help"}},
		{"and what stands behind it", []string{"serve", "--bogus", "--listen", "nope", "--Data=x", "--rate-limit=some"},
			[]string{"4 settings", "--bogus", "--listen", "host:port", "--Data", "--rate-limit", "serve --help"}},
		{"and its value", []string{"--port", "80", "--upstream-url", "https://pms.example/"},
			[]string{"--port", "--upstream-user", "holdfast --help"}},
		{"a flag without its value", []string{"serve", "--bogus", "--listen"},
			[]string{"--bogus", "needs an argument: --listen", "--help"}},
		{"a misspelt flag", []string{"serve", "--listenn", "127.0.0.1:0"},
			[]string{"unknown flag: --listenn. Did you mean --listen?"}},
		{"a flag where no settings are", []string{"version", "--bogus"},
			[]string{"unknown flag: --bogus", "version --help"}},
		{"import without a file", []string{"import"}, []string{"clinic file"}},
		{"revoke without an id", []string{"apikey", "revoke"}, []string{"id of the key"}},
		{"a demo that is to be kept", []string{"demo", "--data", "here"}, []string{"serve and import"}},
		{"a value that cannot be", []string{"serve", "--listen", "everywhere"}, []string{"--listen", "host:port"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := command(t, nil, "", c.args...)
			if got.code != 2 {
				t.Errorf("exit code: got %d, want 2", got.code)
			}
			contains(t, "message", got.stderr, c.says...)
		})
	}
}

// TestCommandErrorsAreClear: the help lists the commands, each command has a short help text, and version prints the
// version of the process.
func TestCommandErrorsAreClear(t *testing.T) {
	t.Parallel()
	contains(t, "version", must(t, "version"), "holdfast test (go")
	contains(t, "help", must(t, "--help"), "serve", "demo", "import", "export", "apikey", "backup", "restore", "verify",
		"migrate",
		"config", "healthcheck", "service", "version", "completion")
	contains(t, "completion", must(t, "completion", "bash"), "holdfast")
	for _, c := range rootCommand(process{}).Commands() {
		if c.Short == "" {
			t.Errorf("%s has no help text", c.Name())
		}
	}
}

// TestCanceledContextEndsCommand: Ctrl-C ends a command that is waiting.
func TestCanceledContextEndsCommand(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	code := run(ctx, process{args: []string{"export", "--data", clinicDir(t)}, stdout: &out, stderr: &errs})
	if code != 1 {
		t.Errorf("exit code: got %d, want 1; it printed %q", code, errs.String())
	}
}
