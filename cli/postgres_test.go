package cli

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/holds/node/nodetest"
	"holdfast/store/postgres/postgrestest"
)

// everybodys is the PostgreSQL for all tests here that do not damage it. It is started for the first test that needs
// it, and TestMain stops it.
var everybodys = sync.OnceValues(func() (*postgrestest.Server, error) { return postgrestest.Start() })

// postgresServer returns the server everybodys. It skips the test if PostgreSQL is not installed.
func postgresServer(t testing.TB) *postgrestest.Server {
	t.Helper()
	server, err := everybodys()
	if errors.Is(err, postgrestest.ErrAbsent) {
		t.Skip("SKIPPED:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	everybodysAsked.Store(true)
	return server
}

// everybodysAsked is set when everybodys was started, so that TestMain stops it.
var everybodysAsked atomic.Bool

// postgresURL creates a database and returns its URL.
func postgresURL(t testing.TB) string {
	t.Helper()
	return postgresServer(t).Create(t)
}

// booked books a check-up at an hour of the day after tomorrow. If a busy server responds that the booking can be
// repeated safely, booked repeats it.
func booked(t *testing.T, base string, hour int, client string) int {
	t.Helper()
	start := enginetest.Noon(time.UTC, 2).Add(time.Duration(hour-12) * time.Hour)
	var status int
	var body string
	for began := time.Now(); ; {
		status, body = posted(t, base+"/v1/appointment-types/checkup/book", map[string]any{
			"clientId": client, "slotStartDate": start.Format(time.RFC3339),
			"patient": map[string]any{"name": "Jo Doe", "phone": "030 1234567"},
		}, map[string]string{"Idempotency-Key": "the-booking-of-" + client})
		if status != http.StatusServiceUnavailable || time.Since(began) > 10*time.Minute {
			break
		}
	}
	if status >= 500 || status == http.StatusBadRequest {
		t.Errorf("booking at %d: got %d %s", hour, status, body)
	}
	return status
}

// TestServeWithPostgres serves, books in a race, runs commands, kills the server and serves again. The commands work
// with and without a server, and a second node or another database does not disturb them.
func TestServeWithPostgres(t *testing.T) {
	t.Parallel()
	url := postgresURL(t)
	dir := filepath.Join(t.TempDir(), "data")
	clinic := filepath.Join(t.TempDir(), "clinic.json")
	writeJSON(t, clinic, openClinic(t))

	s := started(t, "serve", "--data", dir, "--database", url, "--listen", "127.0.0.1:0", "--rate-limit", "off")
	must(t, "import", "--data", dir, clinic) // through the socket, so it needs no --database
	key := strings.TrimSpace(must(t, "apikey", "create", "--data", dir, "--name", "test", "--scope", "admin"))
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := map[int]int{}
	for racer := range 24 {
		wg.Go(func() {
			status := booked(t, s.base, 10+racer%3, "a-client-secret-"+strings.Repeat("x", racer+1))
			mu.Lock()
			defer mu.Unlock()
			if status < 300 {
				won[racer%3]++
			}
		})
	}
	wg.Wait()
	before := appointments(t, s.base, key)
	if len(before) == 0 || len(before) != won[0]+won[1]+won[2] {
		t.Errorf("%d appointments, but %v were acknowledged", len(before), won)
	}
	contains(t, "verify", must(t, "verify", "--data", dir), "intact")

	elsewhere := command(t, nil, "", "serve", "--data", filepath.Join(t.TempDir(), "second"), "--database", url,
		"--redis", "unix:///nowhere", "--listen", "127.0.0.1:0")
	if elsewhere.code != 1 {
		t.Errorf("a node with other live state: exit code %d, want 1", elsewhere.code)
	}
	contains(t, "a node that holds elsewhere", elsewhere.stderr, "another node is serving from this database",
		"remove --redis")

	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.ended(t)

	for what, args := range map[string][]string{
		"without --database":      {"serve", "--data", dir, "--listen", "127.0.0.1:0"},
		"with another database":   {"serve", "--data", dir, "--database", postgresURL(t), "--listen", "127.0.0.1:0"},
		"beside a clinic's file":  {"serve", "--data", clinicDir(t), "--database", url, "--listen", "127.0.0.1:0"},
		"a demo":                  {"demo", "--database", url, "--listen", "127.0.0.1:0"},
		"a restore of a file":     {"restore", "--data", dir, "--database", url, clinicBackup(t)},
		"a command without a URL": {"apikey", "list", "--data", dir},
	} {
		if got := command(t, nil, "", args...); got.code != 1 {
			t.Errorf("%s: exit code %d, want 1; it printed %s", what, got.code, got.stderr)
		} else {
			contains(t, what, got.stderr, map[string]string{
				"without --database": "--database", "with another database": "belongs to the database",
				"beside a clinic's file": "contains a SQLite database", "a demo": "remove --database",
				"a restore of a file": "is a backup of SQLite", "a command without a URL": "--database",
			}[what])
		}
	}
	contains(t, "apikey list without a server", must(t, "apikey", "list", "--data", dir, "--database", url), "test")
	contains(t, "migrate", must(t, "migrate", "--data", dir, "--database", url),
		"the schema in PostgreSQL is at version")
	backup := strings.TrimSpace(must(t, "backup", "--data", dir, "--database", url))
	if info, err := os.Stat(filepath.Join(backup, "holdfast.sql")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup: %v, %v", info, err)
	}
	for _, args := range [][]string{{"restore", "--data", dir, backup}, {"verify", backup}} {
		got := command(t, nil, "", args...)
		contains(t, args[0]+" of that backup", got.stderr, "backup of PostgreSQL", "psql")
	}

	s = started(t, "serve", "--data", dir, "--database", url, "--listen", "127.0.0.1:0")
	if after := appointments(t, s.base, key); len(after) != len(before) {
		t.Errorf("after a kill: %d appointments, want %d", len(after), len(before))
	}
	eventually(t, "it is ready", func() bool {
		status, _ := get(t, s.base+"/readyz", "")
		return status == http.StatusOK
	})
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.ended(t); code != 0 {
		t.Errorf("after SIGTERM: exit code %d, want 0; it printed %s", code, s.stderr)
	}
}

// appointments lists the booked appointments that the server returns.
func appointments(t *testing.T, base, key string) []here {
	t.Helper()
	k := &killed{t: t, key: key}
	return k.all(base)
}

func clinicBackup(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(must(t, "backup", "--data", clinicDir(t)))
}

// TestDatabasePasswordIsHidden: neither the output of config print nor the error about an unreachable server contains
// the password.
func TestDatabasePasswordIsHidden(t *testing.T) {
	t.Parallel()
	const password = "canary-of-a-password"
	url := "postgres://clinic:" + password + "@127.0.0.1:1/clinic?sslmode=disable"
	shown := command(t, nil, "", "config", "print", "--database", url)
	refused := command(t, nil, "", "serve", "--data", filepath.Join(t.TempDir(), "data"), "--database", url, "--listen",
		"127.0.0.1:0")
	if refused.code != 1 {
		t.Errorf("a server that does not exist: exit code %d, want 1", refused.code)
	}
	contains(t, "a server that is not there", refused.stderr, "opening the database", "127.0.0.1")
	unreadable := command(t, nil, "", "serve", "--database", "postgres://clinic:"+password+"@127.0.0.1:notaport/clinic")
	for what, got := range map[string]ran{"config print": shown, "no server": refused, "no URL": unreadable} {
		if strings.Contains(got.stdout+got.stderr, password) {
			t.Errorf("%s: the output contains the password: %s%s", what, got.stdout, got.stderr)
		}
	}
}

// TestNodeResumesAfterCutFromPostgres: during the cut, the node is not ready, and its refusals contain the action to
// take. Afterwards the node and its queue continue without a restart.
func TestNodeResumesAfterCutFromPostgres(t *testing.T) {
	t.Parallel() // it waits for separate processes
	database, line := behindLine(t)
	s := newNodesOn(t, 1, nil, database).all[0]
	if status, body := bookAt(t, s.base, 0); status != http.StatusCreated {
		t.Fatalf("a booking before: got %d %s, want 201", status, body)
	}
	line.Away(true)
	eventually(t, "it is not ready", func() bool {
		status, _ := get(t, s.base+"/readyz", "")
		return status == http.StatusServiceUnavailable
	})
	if status, body := bookAt(t, s.base, 1); status != http.StatusServiceUnavailable ||
		!strings.Contains(body, "storage_unavailable") || !strings.Contains(body, "Idempotency-Key") {
		t.Errorf("a booking: got %d %s, want a 503 with the action to take", status, body)
	}
	eventually(t, "its queue has noticed", func() bool {
		said := s.stderr.String() // the second message appears if the queue had not finished its start
		return strings.Contains(said, "failed to read due operations") ||
			strings.Contains(said, "failed to synchronize the queue with the outbox")
	})
	line.Away(false)
	eventually(t, "it is ready again", func() bool {
		status, _ := get(t, s.base+"/readyz", "")
		return status == http.StatusOK
	})
	if status, body := bookAt(t, s.base, 1); status != http.StatusCreated {
		t.Errorf("a booking afterwards: got %d %s, want 201", status, body)
	}
}

// behindLine returns the URL of a new database, which is reachable through a link that the test controls.
func behindLine(t *testing.T) (string, *nodetest.Proxy) {
	t.Helper()
	direct, err := url.Parse(postgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "holdfast-line-") // t.TempDir() is too long for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	q := direct.Query()
	line := nodetest.Start(t, filepath.Join(dir, ".s.PGSQL.5432"), filepath.Join(q.Get("host"), ".s.PGSQL.5432"))
	q.Set("host", dir)
	direct.RawQuery = q.Encode()
	return direct.String(), line
}
