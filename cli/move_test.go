package cli

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/postgres"
	"holdfast/store/sqlite"
)

// TestClinicMovesToPostgresAndBack moves a full clinic to PostgreSQL and back, and compares every row with the
// original.
func TestClinicMovesToPostgresAndBack(t *testing.T) {
	t.Parallel()
	url, dir := postgresURL(t), movableDir(t)
	began := filepath.Join(t.TempDir(), "before.db")
	duplicate(t, filepath.Join(dir, databaseFile), began)

	counted := must(t, "migrate", "--data", dir, "--to", url, "--dry-run")
	contains(t, "a dry run", counted, "appointments         5", "nothing was moved")
	file := write(t, url+"\n")
	moved := must(t, "migrate", "--data", dir, "--to-file", file)
	contains(t, "growing", moved, "appointments         5", "all rows compared",
		"holdfast serve --data "+dir+" --database-file "+file)
	if strings.Contains(moved, url) {
		t.Errorf("the command printed the URL, which may contain a password: %s", moved)
	}
	again := command(t, nil, "", "migrate", "--data", dir, "--to", url)
	contains(t, "growing again", again.stderr, "there is no SQLite database")
	old, _ := filepath.Glob(filepath.Join(dir, backupsDir, "moved-*", databaseFile))
	if len(old) != 1 {
		t.Fatalf("got %v, want the original file to remain", old)
	}

	home := filepath.Join(t.TempDir(), "home")
	contains(t, "coming home", must(t, "migrate", "--data", dir, "--database", url, "--to", "sqlite:"+home),
		"users                2", "all rows compared")
	if a, b := read(t, filepath.Join(dir, secretFile)), read(t, filepath.Join(home, secretFile)); a != b {
		t.Error("the keys were not copied")
	}
	same(t, began, filepath.Join(home, databaseFile))
	refused := command(t, nil, "", "serve", "--data", dir, "--database", url, "--listen", "127.0.0.1:0")
	if refused.code != 1 {
		t.Errorf("serving the old data directory: exit code %d, want 1", refused.code)
	}
	contains(t, "serving what was left", refused.stderr, "moved to sqlite:"+home, "moved_to")
}

// same compares two SQLite files row by row.
func same(t *testing.T, one, other string) {
	t.Helper()
	open := func(path string) *sqlite.Carrier {
		c, err := sqlite.OpenCarrier(t.Context(), path, filepath.Dir(path), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	if err := store.Compare(t.Context(), open(one), open(other)); err != nil {
		t.Error(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func duplicate(t *testing.T, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, []byte(read(t, from)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// failing is a target that fails when rows are inserted into one table.
type failing struct {
	*postgres.Carrier
	table string
}

var errBroken = errors.New("it broke down")

func (f *failing) Insert(ctx context.Context, table store.CarriedTable, columns []string, rows []store.Row) error {
	if table.Name == f.table {
		return errBroken
	}
	return f.Carrier.Insert(ctx, table, columns, rows)
}

// TestInterruptedMigrateResumes interrupts migrate at different tables. No server starts on the partial target, the
// next run writes no row twice, and the result is complete.
func TestInterruptedMigrateResumes(t *testing.T) {
	t.Parallel()
	url, dir := postgresURL(t), movableDir(t)
	discard := slog.New(slog.DiscardHandler)
	for _, table := range []string{"clinic", "appointments", "presence_log"} {
		from, err := sqlite.OpenCarrier(t.Context(), filepath.Join(dir, databaseFile), dir, discard)
		if err != nil {
			t.Fatal(err)
		}
		to, err := postgres.OpenCarrier(t.Context(), url, discard)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Carry(t.Context(), from, &failing{to, table}, func(string, int, int) {}); !errors.Is(err,
			errBroken) {
			t.Errorf("broken at %s: got %v", table, err)
		}
		if err := errors.Join(from.Close(), to.Close()); err != nil {
			t.Fatal(err)
		}
		got := command(t, nil, "", "serve", "--data", filepath.Join(t.TempDir(), "data"), "--database", url, "--listen",
			"127.0.0.1:0")
		if got.code != 1 {
			t.Errorf("serving a part of a clinic: exit code %d, want 1", got.code)
		}
		contains(t, "a server on a part of a clinic", got.stderr, "was interrupted; run holdfast migrate again")
		elsewhere := filepath.Join(t.TempDir(), "elsewhere")
		carried := command(t, nil, "", "migrate", "--data", dir, "--database", url, "--to", "sqlite:"+elsewhere)
		if carried.code != 1 || hasDatabase(elsewhere) {
			t.Errorf("moving a part of a clinic: got %+v, want exit code 1 and no target", carried)
		}
		contains(t, "a part carried further", carried.stderr, "contains part of a clinic")
	}
	out := must(t, "migrate", "--data", dir, "--to", url)
	contains(t, "run again", out, "appointments         5, of which 5 were copied earlier", "all rows compared")
}

// TestMigrateInterruptedAtEndFinishes: migrate is interrupted after it has copied all rows and before it renames the
// source. The next run finishes it.
func TestMigrateInterruptedAtEndFinishes(t *testing.T) {
	t.Parallel()
	url, dir := postgresURL(t), movableDir(t)
	kept := filepath.Join(t.TempDir(), "kept.db")
	duplicate(t, filepath.Join(dir, databaseFile), kept)
	must(t, "migrate", "--data", dir, "--to", url)
	duplicate(t, kept, filepath.Join(dir, databaseFile))
	contains(t, "run again", must(t, "migrate", "--data", dir, "--to", url), "already contains the clinic", "all rows compared")

	must(t, "migrate", "--data", dir, "--database", url, "--to", "sqlite:"+dir)
	if err := os.WriteFile(filepath.Join(dir, postgresFile), []byte("left\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	contains(t, "run again, home", must(t, "migrate", "--data", dir, "--database", url, "--to", "sqlite:"+dir),
		"The clinic is now in SQLite")
	same(t, kept, filepath.Join(dir, databaseFile))
}

// TestMovedClinicPassesVerify: after a move, verify finds no problem on either database, in the guarantee, the audit
// log and the references.
func TestMovedClinicPassesVerify(t *testing.T) {
	t.Parallel()
	url, dir := postgresURL(t), clinicDir(t)
	key := func(name string, more ...string) { // an entry of the audit log
		t.Helper()
		must(t, append([]string{"apikey", "create", "--data", dir, "--name", name, "--scope", "admin"}, more...)...)
	}
	key("before")
	must(t, "migrate", "--data", dir, "--to", url)
	key("there", "--database", url)
	contains(t, "in PostgreSQL", must(t, "verify", "--data", dir, "--database", url), "intact")
	must(t, "migrate", "--data", dir, "--database", url, "--to", "sqlite:"+dir)
	key("home")
	contains(t, "in SQLite", must(t, "verify", "--data", dir), "intact")
	contains(t, "the keys", must(t, "apikey", "list", "--data", dir), "before", "there", "home")
}

// TestMigrateRefusesUnmovable: the error contains the action to take, and nothing changes.
func TestMigrateRefusesUnmovable(t *testing.T) {
	t.Parallel()
	url, dir := postgresURL(t), movableDir(t)
	strangers, strange := postgresURL(t), clinicDir(t)
	must(t, "migrate", "--data", strange, "--to", strangers)
	contains(t, "served from PostgreSQL", must(t, "verify", "--data", strange, "--database", strangers), "intact")
	occupied := movableDir(t)
	otherKey := filepath.Join(t.TempDir(), "other")
	if d, err := openDataDir(otherKey, time.Now(), 0); err != nil {
		t.Fatal(err)
	} else if err := d.close(); err != nil {
		t.Fatal(err)
	}
	queued := filepath.Join(t.TempDir(), "queued")
	if err := errors.Join(os.Mkdir(queued, 0o700), os.WriteFile(filepath.Join(queued, queueFile),
		[]byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	zero := movableDir(t)
	// This string contains a zero byte, which an earlier version could store.
	db, err := sql.Open("sqlite", "file:"+filepath.Join(zero, databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), "INSERT INTO "+tallies.Name+" ("+strings.Join(tallyColumns, ", ")+
		") VALUES (?, 1, 1)", "a\x00b")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	running, _, stop, ended := served(t, clinicDir(t))
	defer func() { stop(); <-ended }()

	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"nowhere", []string{"--data", dir, "--to", "mysql://there"}, "sqlite:DIRECTORY"},
		{"no directory", []string{"--data", strange, "--database", strangers, "--to", "sqlite:"}, "needs a directory"},
		{"no file", []string{"--data", dir, "--to-file", filepath.Join(dir, "none")}, "--to-file: open"},
		{"an empty file", []string{"--data", dir, "--to-file", write(t, "\n")}, "is empty"},
		{"two targets", []string{"--data", dir, "--to", url, "--to-file", write(t, url)}, "both set"},
		{"a dry run of nothing", []string{"--data", dir, "--dry-run"}, "--to"},
		{"the same kind", []string{"--data", dir, "--to", "sqlite:" + otherKey}, "already in SQLite"},
		{"the same kind there", []string{"--data", strange, "--database", strangers, "--to", url},
			"already in PostgreSQL"},
		{"no clinic", []string{"--data", t.TempDir(), "--to", url}, "no database in"},
		{"a stranger's database", []string{"--data", dir, "--to", strangers}, "The target contains another clinic"},
		{"a server that runs", []string{"--data", running.dir.path, "--to", url}, "in use"},
		{"no server there", []string{"--data", dir, "--to", "postgres://127.0.0.1:1/none?sslmode=disable"},
			"Check that PostgreSQL is running"},
		{"another clinic's directory", []string{"--data", strange, "--database", strangers, "--to", "sqlite:" +
			occupied}, "its own secret.key"},
		{"other keys", []string{"--data", strange, "--database", strangers, "--to", "sqlite:" + otherKey},
			"its own secret.key"},
		{"a queue of before", []string{"--data", strange, "--database", strangers, "--to", "sqlite:" + queued},
			queueFile},
		{"a text that PostgreSQL does not take", []string{"--data", zero, "--to", url}, "zero byte"},
	} {
		got := command(t, nil, "", append([]string{"migrate"}, c.args...)...)
		if got.code != 1 {
			t.Errorf("%s: exit code %d, want 1; it printed %s", c.name, got.code, got.stdout+got.stderr)
		}
		contains(t, c.name, got.stderr, c.want)
	}
	s := started(t, "serve", "--data", strange, "--database", strangers, "--listen", "127.0.0.1:0")
	node := command(t, nil, "", "migrate", "--data", filepath.Join(t.TempDir(), "x"), "--database", strangers, "--to",
		"sqlite:"+t.TempDir())
	if node.code != 1 {
		t.Errorf("a running node: exit code %d, want 1", node.code)
	}
	second := movableDir(t)
	if got := command(t, nil, "", "migrate", "--data", second, "--to", strangers); got.code != 1 ||
		!strings.Contains(got.stderr, "Stop every node") {
		t.Errorf("into a database that a node uses: got %d %s", got.code, got.stderr)
	}
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.ended(t)
	contains(t, "after all that", must(t, "migrate", "--data", dir, "--to", url), "all rows compared")
}
