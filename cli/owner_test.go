package cli

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// These tests cover the commands for staff accounts, keys and damaged files.

// signIn tries to sign in over HTTP and returns the status.
func signIn(t *testing.T, base, email, password string) int {
	t.Helper()
	status, _ := posted(t, base+"/v1/auth/sign-in", map[string]any{"email": email, "password": password}, nil)
	return status
}

// TestOwnersFromTheCommandLine: the first owner is created without a server, and the others while a server runs. A
// command replaces a lost password.
func TestOwnersFromTheCommandLine(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	const email, password, another = "jo@clinic.example", "walrus teapot umbrella", "quite some other words"
	made := command(t, nil, password+"\n", "admin", "create", "--data", dir, "--email", email, "--name", "Jo")
	if made.code != 0 {
		t.Fatalf("create: %+v", made)
	}
	contains(t, "create", made.stdout, email, "/staff")
	contains(t, "the prompt", made.stderr, "Password")
	contains(t, "list", must(t, "admin", "list", "--data", dir), email, "Jo", "owner", "true", "never")

	s := started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	if got := signIn(t, s.base, email, password); got != http.StatusOK {
		t.Errorf("signing in with the password given: got %d, want 200", got)
	}
	reset := command(t, nil, another+"\r\n", "admin", "reset-password", "--data", dir, "--email", "JO@clinic.example")
	if reset.code != 0 {
		t.Fatalf("reset: %+v", reset)
	}
	contains(t, "reset", reset.stdout, email, "signed out everywhere")
	if got := signIn(t, s.base, email, password); got != http.StatusUnauthorized {
		t.Errorf("signing in with the old password: got %d, want 401", got)
	}
	if got := signIn(t, s.base, email, another); got != http.StatusOK {
		t.Errorf("signing in with the new password: got %d, want 200", got)
	}
	if strings.Contains(must(t, "admin", "list", "--data", dir), "never") {
		t.Error("the list does not have the sign-in")
	}
	for _, c := range []struct {
		name, stdin string
		args        []string
		says        string
	}{
		{"a short password", "short\n", []string{"admin", "create", "--email", "al@clinic.example", "--name", "Al"},
			"12"},
		{"no password", "", []string{"admin", "create", "--email", "al@clinic.example", "--name", "Al"}, "password"},
		{"an address that is in use", password, []string{"admin", "create", "--email", email, "--name", "Al"}, "email"},
		{"nobody's password", password, []string{"admin", "reset-password", "--email", "al@clinic.example"}, "admin list"},
	} {
		got := command(t, nil, c.stdin, append(c.args, "--data", dir)...)
		if got.code != 1 || !strings.Contains(got.stderr, c.says) {
			t.Errorf("%s: got %d, %q; want an error with %q", c.name, got.code, got.stderr, c.says)
		}
		if strings.Contains(got.stderr+got.stdout, password) {
			t.Errorf("%s: the output contains the password", c.name)
		}
	}
	if strings.Contains(s.stderr.String(), password) || strings.Contains(s.stderr.String(), another) {
		t.Error("the log contains a password")
	}
	for _, args := range [][]string{{"create"}, {"create", "--name", "Al"}, {"create", "--email", "al@clinic.example"},
		{"reset-password"}} {
		got := command(t, nil, password, append([]string{"admin"}, args...)...)
		if got.code != 2 || strings.Contains(got.stderr, "Password") {
			t.Errorf("%v: got %+v; want an error before the password prompt", args, got)
		}
		contains(t, args[0], got.stderr, "--email", "such as")
	}
}

// TestJSONLogOmitsSetupLink: log collectors store what they read, and a client with the link becomes the owner.
func TestJSONLogOmitsSetupLink(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]bool{"text": true, "json": false} {
		dir := filepath.Join(t.TempDir(), "data")
		s := started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--log-format", format)
		contains(t, format, must(t, "setup-url", "--data", dir), s.base+"/setup#")
		if err := s.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		s.ended(t)
		if got := strings.Contains(s.stdout.String()+s.stderr.String(), "/setup#"); got != want {
			t.Errorf("log format %s: the link is printed: got %v, want %v", format, got, want)
		}
		if format == "json" {
			contains(t, format, s.stdout.String(), "holdfast setup-url")
		}
	}
}

// TestSetupLinkCommand: the new link works once, and the earlier one does not work.
func TestSetupLinkCommand(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	link := func() string {
		t.Helper()
		// The link contains the address that the server reports, not the one in this flag.
		printed := strings.TrimSpace(must(t, "setup-url", "--data", dir, "--listen", "127.0.0.1:1"))
		token, found := strings.CutPrefix(printed, s.base+"/setup#")
		if !found {
			t.Fatalf("printed %q, want a link to %s/setup with the token behind #", printed, s.base)
		}
		return token
	}
	first, second := link(), link()
	setup := func(token string) (int, string) {
		t.Helper()
		return posted(t, s.base+"/v1/setup", map[string]any{
			"token": token, "clinic": map[string]any{"name": "Harbour Clinic", "timezone": "Europe/Berlin"},
			"owner": map[string]any{"name": "Jo", "email": "jo@clinic.example", "password": "a few words together"},
		}, nil)
	}
	if status, body := setup(first); status != http.StatusUnauthorized {
		t.Errorf("the link before: got %d %s, want 401", status, body)
	}
	if status, body := setup(second); status != http.StatusCreated {
		t.Errorf("the link: got %d %s, want 201", status, body)
	}
	if status, body := setup(second); status != http.StatusGone {
		t.Errorf("second use of the link: got %d %s, want 410", status, body)
	}
	elsewhere := filepath.Join(t.TempDir(), "data")
	must(t, "import", "--data", elsewhere, harbour)
	if got := must(t, "setup-url", "--data", elsewhere, "--listen", "127.0.0.1:1"); !strings.HasPrefix(got,
		"http://127.0.0.1:1/setup#") {
		t.Errorf("without a server: printed %q, want a link to the default address", got)
	}
	outside := started(t, "serve", "--data", elsewhere, "--listen", "127.0.0.1:0", "--base-url",
		"https://book.example.org")
	if got := must(t, "setup-url", "--data", elsewhere); !strings.HasPrefix(got, "https://book.example.org/setup#") {
		t.Errorf("behind a proxy: printed %q, want a link to the address of --base-url; the server printed %s", got,
			outside.stderr)
	}
	if got := command(t, nil, "", "setup-url", "--data", dir); got.code != 1 ||
		!strings.Contains(got.stderr, "reset-password") {
		t.Errorf("a link after the setup: got %+v, want the command for a new password", got)
	}
	if strings.Contains(s.stderr.String(), first) || strings.Contains(s.stderr.String(), second) {
		t.Error("the log contains a token")
	}
}

// TestKeysRotate: signatures of the old key stay valid, with the running server and after a restart, and the file
// contains both keys.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(t.TempDir(), "clinic.json")
	writeJSON(t, file, openClinic(t))
	must(t, "import", "--data", dir, file)
	before, err := os.ReadFile(filepath.Join(dir, secretFile))
	if err != nil {
		t.Fatal(err)
	}
	s := started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	book := func(client, time string) (token string) {
		t.Helper()
		status, body := posted(t, s.base+"/v1/appointment-types/checkup/book", map[string]any{
			"clientId": client, "slotStartDate": time, "patient": map[string]any{"name": "Jane Roe",
				"phone": "030 1234567"},
		}, nil)
		_, token, _ = strings.Cut(body, "/manage#")
		if token, _, _ = strings.Cut(token, `"`); status != http.StatusCreated || token == "" {
			t.Fatalf("book: got %d %s", status, body)
		}
		return token
	}
	opens := func(token string) int {
		t.Helper()
		status, _ := asked(t, http.MethodGet, s.base+"/v1/appointments/managed", nil,
			map[string]string{"Holdfast-Manage": token})
		return status
	}
	day := inTwoDays()
	old := book("a-client-secret-0001", day+"T10:00:00Z")
	contains(t, "rotate", must(t, "keys", "rotate", "--data", dir), "new key")
	young := book("a-client-secret-0002", day+"T11:00:00Z")
	for _, when := range []string{"beside the server", "after a restart"} {
		if when == "after a restart" {
			if err := s.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			s.ended(t)
			s = started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0")
		}
		if got := opens(old); got != http.StatusOK {
			t.Errorf("%s, a link signed with the old key: got %d, want 200", when, got)
		}
		if got := opens(young); got != http.StatusOK {
			t.Errorf("%s, a link signed with the new key: got %d, want 200", when, got)
		}
	}
	if after, err := os.ReadFile(filepath.Join(dir, secretFile)); err != nil || bytes.Equal(after, before) ||
		mode(t, filepath.Join(dir, secretFile)) != 0o600 {
		t.Errorf("secret.key: %v, changed %t, mode %#o; want a new one with access only for its owner", err,
			!bytes.Equal(after, before), mode(t, filepath.Join(dir, secretFile)))
	}
	// Rotate the keys again, without a server.
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.ended(t)
	must(t, "keys", "rotate", "--data", dir)
	must(t, "keys", "rotate", "--data", dir, "--revoke-old")
	s = started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	newest := book("a-client-secret-0003", day+"T12:00:00Z")
	contains(t, "revoke", must(t, "keys", "rotate", "--data", dir, "--revoke-old"), "refuses")
	for _, link := range []string{old, young, newest} {
		if got := opens(link); got == http.StatusOK {
			t.Error("a link signed with a revoked key: got 200")
		}
	}
	if got := opens(book("a-client-secret-0004", day+"T13:00:00Z")); got != http.StatusOK {
		t.Errorf("a link signed after the keys were revoked: got %d, want 200", got)
	}
	if got := command(t, nil, "", "keys", "rotate", "--data", t.TempDir()); got.code != 1 ||
		!strings.Contains(got.stderr, "--data") {
		t.Errorf("without a clinic: got %+v", got)
	}
}

// TestDamagedQueueIsRebuiltAndReported: the log at startup, queue list and verify report the damaged file until it is
// deleted.
func TestDamagedQueueIsRebuiltAndReported(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	s := started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.ended(t)
	if strings.Contains(must(t, "queue", "list", "--data", dir)+must(t, "verify", "--data", dir), "damaged") {
		t.Error("an undamaged queue is reported as damaged")
	}
	if err := os.WriteFile(filepath.Join(dir, queueFile), bytes.Repeat([]byte("not a queue "), 4096),
		0o600); err != nil {
		t.Fatal(err)
	}
	s = started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	kept, err := filepath.Glob(filepath.Join(dir, damagedQueue))
	if err != nil || len(kept) != 1 {
		t.Fatalf("moved aside: %v, %v; want one file", kept, err)
	}
	if status, body := get(t, s.base+"/readyz", ""); status != http.StatusOK {
		t.Errorf("not ready with a rebuilt queue: %d %s", status, body)
	}
	contains(t, "the log", s.stderr.String(), "damaged", filepath.Base(kept[0]))
	contains(t, "queue list", must(t, "queue", "list", "--data", dir), kept[0], "rebuilt from the database",
		"delete it")
	contains(t, "verify", must(t, "verify", "--data", dir), "intact", kept[0], "delete it")
	if err := os.Remove(kept[0]); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(must(t, "queue", "list", "--data", dir)+must(t, "verify", "--data", dir), "damaged") {
		t.Error("a deleted queue file is still reported")
	}
}
