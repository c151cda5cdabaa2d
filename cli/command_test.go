package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"holdfast/docs"
)

// TestCommandListIsComplete: this list and the program contain the same commands, and no command accepts an unknown
// argument.
func TestCommandListIsComplete(t *testing.T) {
	t.Parallel()
	want := strings.Fields(`admin admin.create admin.list admin.reset-password apikey apikey.create apikey.list apikey.revoke backup backup-key completion config
		config.print demo export healthcheck help import keys keys.rotate mcp migrate openapi queue queue.list queue.retry restore serve
		service service.install service.status service.uninstall settings setup-url
		torture upgrade verify version why`)
	var got []string
	var walk func(*cobra.Command, string)
	walk = func(c *cobra.Command, above string) {
		for _, sub := range c.Commands() {
			if sub.Hidden || above == "completion." {
				continue
			}
			got = append(got, above+sub.Name())
			walk(sub, above+sub.Name()+".")
		}
	}
	root := rootCommand(process{})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	walk(root, "")
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestTorture finds no overlaps and leaves no files behind.
func TestTorture(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	said := must(t, "torture", "--for", "300ms")
	contains(t, "torture", said, "booked", "0 overlap")
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "holdfast-*")); len(left) > 0 {
		t.Errorf("the command left %v", left)
	}
	if got := command(t, nil, "", "torture", "--for", "0s"); got.code != 2 {
		t.Errorf("with a zero duration: got %+v, want exit code 2", got)
	}
}

// TestWhy: why prints the reason as a sentence, over HTTP, through the data directory of a running server, and without
// a server.
func TestWhy(t *testing.T) {
	t.Parallel()
	dir, day := filepath.Join(t.TempDir(), "data"), inTwoDays()
	file := filepath.Join(t.TempDir(), "clinic.json")
	writeJSON(t, file, openClinic(t))
	must(t, "import", "--data", dir, file)
	s := started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	overHTTP, onDisk := []string{"--listen", strings.TrimPrefix(s.base, "http://")}, []string{"--data", dir}
	ask := func(where []string, args ...string) ran {
		return command(t, nil, "", slices.Concat([]string{"why"}, where, args)...)
	}
	askAll := func(how string, where []string) {
		t.Helper()
		for _, c := range []struct {
			args []string
			code int
			says string
		}{
			{[]string{"--type", "checkup", "--at", day + "T10:00:00Z"}, 0, "can be booked"},
			{[]string{"--type", "checkup", "--at", day + "T11:00:00+01:00"}, 0, "can be booked"},
			{[]string{"--type", "checkup", "--at", day + "T10:10:00Z"}, 0, "no slot starts at that minute"},
			{[]string{"--type", "checkup", "--at", "2020-01-01T10:00:00Z"}, 0, "minimum notice"},
			{[]string{"--type", "checkup", "--at", "2199-01-01T10:00:00Z"}, 0, "beyond the horizon"},
			{[]string{"--at", day + "T10:00:00Z"}, 2, "--type"},
			{[]string{"--type", "checkup", "--at", "tomorrow"}, 2, "--at"},
			{[]string{"--type", "nobody", "--at", day + "T10:00:00Z"}, 1, "has this "},
		} {
			if got := ask(where, c.args...); got.code != c.code || !strings.Contains(got.stdout+got.stderr, c.says) {
				t.Errorf("%s, %v: got %+v, want exit code %d and %q", how, c.args, got, c.code, c.says)
			}
		}
	}
	askAll("over HTTP", overHTTP)
	askAll("beside the server", onDisk)
	// Through the data directory, the response includes state that only the running server has, such as holds.
	status, body := posted(t, s.base+"/v1/holds", map[string]any{"appointmentTypeId": "checkup",
		"clientId": "a-client-secret-0001", "slotStartDate": day + "T12:00:00Z"}, nil)
	if status >= 300 {
		t.Fatalf("hold: got %d %s", status, body)
	}
	for _, where := range [][]string{overHTTP, onDisk} {
		contains(t, where[0]+", a held time", ask(where, "--type", "checkup", "--at", day+"T12:00:00Z").stdout,
			"cannot be booked: another client is holding the time", "until")
	}
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.ended(t)
	askAll("without a server", onDisk)
	if got := ask(overHTTP, "--type", "checkup", "--at", day+"T10:00:00Z"); got.code != 1 ||
		!strings.Contains(got.stderr, "Is the server running") {
		t.Errorf("without a server: got %+v", got)
	}
}

// TestOpenAPIAndMigrate: both commands print their output.
func TestOpenAPIAndMigrate(t *testing.T) {
	t.Parallel()
	if got := must(t, "openapi"); got != string(docs.OpenAPI()) {
		t.Errorf("openapi printed %d bytes, want the %d of the description", len(got), len(docs.OpenAPI()))
	}
	dir := clinicDir(t)
	contains(t, "migrate", must(t, "migrate", "--data", dir), "is at version")
	contains(t, "afterwards", must(t, "export", "--data", dir), "Harbour Clinic")
}

// TestFirstOwnerIsCreatedUnattended: the server creates the owner from the environment if there is none, and
// otherwise changes nothing.
func TestFirstOwnerIsCreatedUnattended(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	const email, password = "jo@clinic.example", "walrus teapot umbrella"
	args := []string{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--owner-email", email, "--owner-password-file"}
	s := started(t, append(args, write(t, password+"\n"))...)
	if got := signIn(t, s.base, email, password); got != http.StatusOK {
		t.Errorf("signing in: got %d, want 200", got)
	}
	if status, body := posted(t, s.base+"/v1/setup/check", map[string]any{"token": "x"},
		nil); status != http.StatusGone {
		t.Errorf("setup afterwards: got %d %s, want 410", status, body)
	}
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.ended(t)
	s = started(t, append(args, write(t, "another password altogether\n"))...)
	if got := signIn(t, s.base, email, password); got != http.StatusOK {
		t.Errorf("after a start with another password: got %d, want the first password to apply", got)
	}
	if strings.Contains(s.stderr.String(), "walrus") || strings.Contains(s.stderr.String(), "altogether") {
		t.Error("the log contains a password")
	}
}

// TestInvalidValuesAddressOperator: a command prints the invalid fields, without the sentence for callers of the API.
func TestInvalidValuesAddressOperator(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	for name, got := range map[string]ran{
		"admin create": command(t, nil, "walrus teapot umbrella\n", "admin", "create", "--data", dir, "--name", "Jo",
			"--email", "jo"),
		"import": command(t, nil, "", "import", "--data", dir,
			write(t, `{"clinic": {"name": "Harbour Clinic", "timezone": "Mars"}}`)),
	} {
		contains(t, name, got.stderr, "these values are invalid\n  ")
		if got.code != 1 || strings.Contains(got.stderr, "send the request") {
			t.Errorf("%s: exit code %d, printed %q; want 1 and nothing about a request", name, got.code, got.stderr)
		}
	}
}
