package cli

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuessedBaseURLIsLogged: emails contain no link to a guessed address if the server listens on a network, and the
// log explains this.
func TestGuessedBaseURLIsLogged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, listens, baseURL string
		warned                 bool
		link                   string // the start of links in emails
	}{
		{"this machine alone", "127.0.0.1", "", false, "http://127.0.0.1:8788"},
		{"every network", "0.0.0.0", "", true, ""},
		{"one network", "192.0.2.7", "", true, ""},
		{"every network, IPv6", "::", "", true, ""},
		{"the address was said", "0.0.0.0", "https://book.example.org", false, "https://book.example.org"},
	} {
		cfg, _, err := resolved(t, nil, "--data", filepath.Join(t.TempDir(), "data"), "--base-url", c.baseURL)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		h, err := openHouse(t.Context(), cfg, houseOptions{log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		h.listens(&net.TCPAddr{IP: net.ParseIP(c.listens), Port: 8788})
		if got := strings.Contains(log.String(), "--base-url"); got != c.warned {
			t.Errorf("%s: warned: got %t, want %t: %s", c.name, got, c.warned, &log)
		}
		if got := h.engine.Clinic.LinkURL(); got != c.link {
			t.Errorf("%s: links in emails begin with %q, want %q", c.name, got, c.link)
		}
		if err := h.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSetupStoresBaseURL: the next start uses the address that was stored during setup, unless a setting names a
// different one.
func TestSetupStoresBaseURL(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	_, token, _ := strings.Cut(strings.TrimSpace(must(t, "setup-url", "--data", dir)), "#")
	body := map[string]any{
		"token": token, "baseUrl": "book.example.org", "clinic": map[string]any{"name": "Harbour Clinic",
			"timezone": "Europe/Berlin"},
		"owner": map[string]any{"name": "Jo", "email": "jo@clinic.example", "password": "a few words together"},
	}
	if status, answer := posted(t, s.base+"/v1/setup", body, nil); status != http.StatusUnprocessableEntity ||
		!strings.Contains(answer, "baseUrl") {
		t.Errorf("an address without a scheme: got %d %s, want an error for the field", status, answer)
	}
	body["baseUrl"] = "https://book.example.org"
	if status, answer := posted(t, s.base+"/v1/setup", body, nil); status != http.StatusCreated {
		t.Fatalf("the setup: got %d %s, want 201", status, answer)
	}
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	s.ended(t)
	for _, c := range []struct{ flag, want string }{{"", "https://book.example.org"},
		{"https://other.example.org", "https://other.example.org"}} {
		again := started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--base-url", c.flag)
		if again.base != c.want {
			t.Errorf("with --base-url %q: the settings return %s, want %s", c.flag, again.base, c.want)
		}
		if err := again.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		again.ended(t)
	}
}

// TestMailWithoutSenderIsRefused: if a mail server is set, the server refuses to start without a sender or with one
// below .invalid.
func TestMailWithoutSenderIsRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	must(t, "import", "--data", dir, clinicWithoutMail(t))
	for _, more := range [][]string{nil, {"--mail-from", "no-reply@holdfast.invalid"}} {
		got := command(t, nil, "", append([]string{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--smtp-url",
			"smtp://127.0.0.1:1"}, more...)...)
		if got.code != 1 {
			t.Errorf("%v: exit code %d, want 1", more, got.code)
		}
		contains(t, "without a sender", got.stderr, "--mail-from", "settings")
	}
	started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--smtp-url", "smtp://127.0.0.1:1", "--mail-from",
		"post@clinic.example")
}

// clinicWithoutMail writes a clinic file whose clinic has no email address, and returns its path.
func clinicWithoutMail(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clinic.json")
	if err := os.WriteFile(file, []byte(`{"clinic":{"name":"Harbour Clinic","timezone":"Europe/Berlin","locale":"en"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
