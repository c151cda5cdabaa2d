package cli

import (
	"context"
	"database/sql/driver"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/postgres"
	"holdfast/store/sqlite"
)

var (
	tallies      = store.CarriedTable{Name: "tallies", Key: "key, at"}
	tallyColumns = []string{"key", "at", "n"}
)

// awkward is a text that a careless copy would lose something of.
const awkward = "Zoë \"O'Hara\"\t\\N\\ \r\n日本 🦷 ; -- '); DROP"

// fullClinic is rows of every table, with everything that is hard to carry: what is nothing, bytes, odd texts, a seat that was sold before
// the capacity was lowered, appointments outside the guarantee, numbers with gaps.
var fullClinic = map[string][]map[string]any{
	"clinic": {{"id": int64(1), "name": awkward, "timezone": "Europe/Berlin", "settings": nil}},
	"specialists": {
		{"id": "ada", "name": "Ada", "timezone": "Europe/Berlin", "active": int64(1), "archived": int64(0), "reach_before_ms": int64(900000), "reach_after_ms": int64(7200000)},
		{"id": "bob", "name": awkward, "timezone": "UTC", "active": int64(0), "archived": int64(1), "position": int64(-3)}},
	"appointment_types": {{"id": "yoga", "duration_minutes": int64(60), "slot_step_minutes": int64(15), "capacity": int64(1), "largest_capacity": int64(5), "active": int64(1)},
		{"id": "checkup", "duration_minutes": int64(30), "slot_step_minutes": int64(30), "capacity": int64(1), "largest_capacity": int64(1), "active": int64(0)}},
	"assignments":      {{"appointment_type_id": "yoga", "specialist_id": "ada", "priority": int64(-7)}, {"appointment_type_id": "checkup", "specialist_id": "ada", "priority": int64(7)}},
	"weekly_hours":     {{"specialist_id": "ada", "weekday": int64(7), "start_minute": int64(0), "end_minute": int64(1440)}},
	"overrides":        {{"id": "o1", "specialist_id": "ada", "date": "2026-12-24", "closed": int64(0), "reason": awkward}},
	"override_windows": {{"override_id": "o1", "start_minute": int64(540), "end_minute": int64(600)}},
	"blocks":           {{"id": "b1", "specialist_id": "ada", "start_at": int64(1), "end_at": int64(1 << 60)}},
	"closures":         {{"id": "c1", "specialist_id": "bob", "start_at": int64(-5), "end_at": int64(5)}},
	"appointments": {
		seat("a1", 0, "confirmed", 0, 900), seat("a2", 4, "confirmed", 0, 17), seat("a0", 0, "cancelled", 0, 18), seat("a3", 0, "confirmed", 1, 19)},
	"idempotency_records": {{"scope": "s", "key": awkward, "fingerprint": make([]byte, 32), "body": []byte{0, 1, '\\', '\n', 0xff}, "row_number": int64(4)},
		{"scope": "s", "key": "b", "fingerprint": []byte(strings.Repeat("\xff", 32)), "body": []byte{}, "row_number": int64(2)}},
	"outbox":           {{"id": "op-1", "kind": "email", "status": "pending", "needs_review": int64(1), "unknown": int64(0), "created_at": nil, "finished_at": nil, "payload": `{"a": 1,  "b":"é"}`}},
	"audit_entries":    {{"id": "e1", "at": int64(7), "before": nil, "after": awkward, "row_number": int64(40)}, {"id": "e0", "at": int64(7), "before": "{}", "after": nil, "row_number": int64(30)}},
	"audit_erasures":   {{"position": int64(3), "entry": int64(1), "hash": []byte{1}}},
	"audit_head":       {{"id": int64(1), "position": int64(3), "hash": []byte{0xfe, 0}}},
	"deliveries":       {{"operation_id": "op-1", "detail": awkward}},
	"nonce_uses":       {{"nonce": "n"}},
	"booking_requests": {{"id": "r", "appointment_type_id": "yoga", "specialist_id": "ada", "status": "declined", "slot_start": int64(10), "slot_end": int64(20), "locale": "de"}},
	"tallies":          {{"key": "k", "at": int64(3), "n": int64(2)}},
	"api_keys":         {{"id": "k", "scope": "metrics", "hash": []byte(strings.Repeat("h", 32)), "last_used_at": nil, "revoked_at": int64(9)}},
	"users": {{"id": "u", "email": "U@example.org", "role": "specialist", "specialist_id": "ada", "totp_secret": []byte{0}, "active": int64(1)},
		{"id": "v", "email": "v@example.org", "role": "owner", "specialist_id": nil, "totp_secret": nil, "active": int64(0), "last_sign_in_at": nil}},
	"sign_ins":     {{"id": "s", "hash": []byte(strings.Repeat("\x00", 32)), "user_id": "u"}},
	"setup_token":  {{"id": int64(1), "hash": []byte(strings.Repeat("t", 32))}},
	"sessions":     {{"id": "s", "specialist_id": nil, "status": "requested", "version": int64(3), "accepted_at": nil, "ended_at": nil, "expires_at": nil}},
	"presence":     {{"specialist_id": "ada", "is_online": int64(1), "is_deactivated": int64(0), "last_online_at": nil}},
	"presence_log": {{"seq": int64(12), "specialist_id": "ada", "change": "auto_offline"}},
}

func seat(id string, n int64, status string, overbook, row int64) map[string]any {
	return map[string]any{"id": id, "appointment_type_id": "yoga", "specialist_id": "ada", "seat": n, "status": status, "overbook": overbook,
		"attendance": "no_show", "slot_start": int64(1000), "slot_end": int64(3600000), "busy_start": int64(500), "busy_end": int64(3600500), "patient_name": awkward,
		"source": "agent", "upstream_state": "needs_review", "cancelled_at": nil, "version": int64(8), "row_number": row, "locale": "es"}
}

// fillClinic puts rows into every table of a new SQLite file. A column that a row does not name is a number or a text by its name.
func fillClinic(t *testing.T, file string, rows map[string][]map[string]any) {
	t.Helper()
	ctx := t.Context()
	c, err := sqlite.OpenCarrier(ctx, file, filepath.Dir(file), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	capacity := map[string]int64{}
	for _, table := range store.Carried {
		columns, err := c.Columns(ctx, table.Name)
		if err != nil {
			t.Fatal(err)
		}
		if table.Name != "meta" && len(rows[table.Name]) == 0 {
			t.Errorf("%s has no row here: whatever is remembered has to be carried", table.Name)
		}
		for _, named := range rows[table.Name] {
			r := make(store.Row, len(columns))
			for i, column := range columns {
				value, ok := named[column]
				switch {
				case ok:
					r[i] = driver.Value(value)
				case column == "salt" || column == "digest" || column == "hash":
					r[i] = []byte(column)
				case column == "archived":
					r[i] = int64(0)
				case isNumber(column):
					r[i] = int64(1700000000000)
				default:
					r[i] = column
				}
				if table.Name == "appointment_types" && column == "capacity" {
					capacity[named["id"].(string)] = value.(int64)
					r[i] = named["largest_capacity"]
				}
			}
			if err := c.Insert(ctx, table, columns, []store.Row{r}); err != nil {
				t.Fatalf("%s: %v", table.Name, err)
			}
		}
	}
	for id, n := range capacity {
		if err := c.Raise(ctx, "appointment_types", id, "capacity", n); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(c.SetLastChange(ctx, 4711), c.Commit(ctx), c.Close()); err != nil {
		t.Fatal(err)
	}
}

func isNumber(column string) bool {
	for _, end := range []string{"_at", "_minutes", "_days", "_seconds", "_ms", "_sessions", "_step", "_epoch", "_start", "_end", "_heartbeat_at"} {
		if strings.HasSuffix(column, end) {
			return true
		}
	}
	return slices.Contains([]string{"position", "status_code", "attempts", "lookups", "max_attempts", "deadline", "start_time", "at", "totp_last_step",
		"hold_quota"}, column)
}

// movableDir is a data directory with a full clinic in SQLite.
func movableDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	d, err := openDataDir(dir, time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	rows := make(map[string][]map[string]any, len(fullClinic))
	for table, list := range fullClinic {
		rows[table] = list
	}
	rows["idempotency_records"] = nil
	for _, r := range fullClinic["idempotency_records"] {
		one := map[string]any{"status": int64(201)}
		for k, v := range r {
			one[k] = v
		}
		rows["idempotency_records"] = append(rows["idempotency_records"], one)
	}
	fillClinic(t, filepath.Join(dir, databaseFile), rows)
	return dir
}

// TestAClinicGrowsAndComesHome moves a full clinic to PostgreSQL and back, and compares every row of it with where it began.
func TestAClinicGrowsAndComesHome(t *testing.T) {
	t.Parallel() // it waits for processes of its own
	url, dir := postgresURL(t), movableDir(t)
	began := filepath.Join(t.TempDir(), "before.db")
	duplicate(t, filepath.Join(dir, databaseFile), began)

	counted := must(t, "migrate", "--data", dir, "--to", url, "--dry-run")
	contains(t, "a dry run", counted, "appointments         4", "nothing was moved")
	moved := must(t, "migrate", "--data", dir, "--to", url)
	contains(t, "growing", moved, "appointments         4", "every row was compared", "holdfast serve --data "+dir)
	if strings.Contains(moved, url) {
		t.Errorf("the URL, which may have a password in it, was printed: %s", moved)
	}
	again := command(t, nil, "", "migrate", "--data", dir, "--to", url)
	contains(t, "growing again", again.stderr, "there is no clinic in SQLite")
	old, _ := filepath.Glob(filepath.Join(dir, backupsDir, "moved-*", databaseFile))
	if len(old) != 1 {
		t.Fatalf("got %v, want the file it was in, kept", old)
	}

	home := filepath.Join(t.TempDir(), "home")
	contains(t, "coming home", must(t, "migrate", "--data", dir, "--database", url, "--to", "sqlite:"+home), "users                2", "every row was compared")
	if a, b := read(t, filepath.Join(dir, secretFile)), read(t, filepath.Join(home, secretFile)); a != b {
		t.Error("the keys did not come along")
	}
	same(t, began, filepath.Join(home, databaseFile))
	refused := command(t, nil, "", "serve", "--data", dir, "--database", url, "--listen", "127.0.0.1:0")
	if refused.code != 1 {
		t.Errorf("serving what was left: exit code %d, want 1", refused.code)
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

// failing is a target that breaks down at a row.
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

// TestAMoveThatIsInterruptedHasNotBegun, at whichever table, and is whole when it is run again.
func TestAMoveThatIsInterruptedHasNotBegun(t *testing.T) {
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
		if err := store.Carry(t.Context(), from, &failing{to, table}, func(string, int) {}); !errors.Is(err, errBroken) {
			t.Errorf("broken at %s: got %v", table, err)
		}
		if err := errors.Join(from.Close(), to.Close()); err != nil {
			t.Fatal(err)
		}
		empty, err := postgres.OpenCarrier(t.Context(), url, discard)
		if err != nil {
			t.Fatal(err)
		}
		for _, carried := range store.Carried {
			if n, err := store.Counted(t.Context(), empty, carried); err != nil || n > 0 && !carried.Begun {
				t.Errorf("broken at %s: %s has %d rows, %v, want none", table, carried.Name, n, err)
			}
		}
		if err := empty.Close(); err != nil {
			t.Fatal(err)
		}
	}
	contains(t, "run again", must(t, "migrate", "--data", dir, "--to", url), "every row was compared")
}

// TestAMoveThatWasInterruptedAtItsEndIsFinished: everything is there, and what it was in is not put away yet.
func TestAMoveThatWasInterruptedAtItsEndIsFinished(t *testing.T) {
	url, dir := postgresURL(t), movableDir(t)
	kept := filepath.Join(t.TempDir(), "kept.db")
	duplicate(t, filepath.Join(dir, databaseFile), kept)
	must(t, "migrate", "--data", dir, "--to", url)
	duplicate(t, kept, filepath.Join(dir, databaseFile))
	contains(t, "run again", must(t, "migrate", "--data", dir, "--to", url), "is there already", "every row was compared")

	must(t, "migrate", "--data", dir, "--database", url, "--to", "sqlite:"+dir)
	if err := os.WriteFile(filepath.Join(dir, postgresFile), []byte("left\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	contains(t, "run again, home", must(t, "migrate", "--data", dir, "--database", url, "--to", "sqlite:"+dir), "in SQLite now")
	same(t, kept, filepath.Join(dir, databaseFile))
}

// TestAClinicThatMovedIsSound, wherever it is: the guarantee, the audit and what points at what.
func TestAClinicThatMovedIsSound(t *testing.T) {
	t.Parallel() // it waits for processes of its own
	url, dir := postgresURL(t), clinicDir(t)
	key := func(name string, more ...string) { // an entry of the audit
		t.Helper()
		must(t, append([]string{"apikey", "create", "--data", dir, "--name", name, "--scope", "admin"}, more...)...)
	}
	key("before")
	must(t, "migrate", "--data", dir, "--to", url)
	key("there", "--database", url)
	contains(t, "in PostgreSQL", must(t, "verify", "--data", dir, "--database", url), "sound")
	must(t, "migrate", "--data", dir, "--database", url, "--to", "sqlite:"+dir)
	key("home")
	contains(t, "in SQLite", must(t, "verify", "--data", dir), "sound")
	contains(t, "the keys", must(t, "apikey", "list", "--data", dir), "before", "there", "home")
}

// TestWhatCannotMoveIsRefused with what to do, and nothing is changed.
func TestWhatCannotMoveIsRefused(t *testing.T) {
	url, dir := postgresURL(t), movableDir(t)
	strangers, strange := postgresURL(t), clinicDir(t)
	must(t, "migrate", "--data", strange, "--to", strangers)
	contains(t, "served from PostgreSQL", must(t, "verify", "--data", strange, "--database", strangers), "sound")
	occupied := movableDir(t)
	otherKey := filepath.Join(t.TempDir(), "other")
	if d, err := openDataDir(otherKey, time.Now(), 0); err != nil {
		t.Fatal(err)
	} else if err := d.close(); err != nil {
		t.Fatal(err)
	}
	queued := filepath.Join(t.TempDir(), "queued")
	if err := errors.Join(os.Mkdir(queued, 0o700), os.WriteFile(filepath.Join(queued, queueFile), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	zero := movableDir(t)
	c, err := sqlite.OpenCarrier(t.Context(), filepath.Join(zero, databaseFile), zero, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Insert(t.Context(), tallies, tallyColumns, []store.Row{{"a\x00b", int64(1), int64(1)}}), c.Commit(t.Context()), c.Close()); err != nil {
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
		{"a dry run of nothing", []string{"--data", dir, "--dry-run"}, "--to"},
		{"the same kind", []string{"--data", dir, "--to", "sqlite:" + otherKey}, "in SQLite already"},
		{"the same kind there", []string{"--data", strange, "--database", strangers, "--to", url}, "in PostgreSQL already"},
		{"no clinic", []string{"--data", t.TempDir(), "--to", url}, "no database in"},
		{"a stranger's database", []string{"--data", dir, "--to", strangers}, "another clinic's"},
		{"a server that runs", []string{"--data", running.dir.path, "--to", url}, "in use"},
		{"no server there", []string{"--data", dir, "--to", "postgres://127.0.0.1:1/none?sslmode=disable"}, "opening the database"},
		{"another clinic's directory", []string{"--data", strange, "--database", strangers, "--to", "sqlite:" + occupied}, "secret.key of its own"},
		{"other keys", []string{"--data", strange, "--database", strangers, "--to", "sqlite:" + otherKey}, "secret.key of its own"},
		{"a queue of before", []string{"--data", strange, "--database", strangers, "--to", "sqlite:" + queued}, queueFile},
		{"a text that PostgreSQL does not take", []string{"--data", zero, "--to", url}, "zero byte"},
	} {
		got := command(t, nil, "", append([]string{"migrate"}, c.args...)...)
		if got.code != 1 {
			t.Errorf("%s: exit code %d, want 1; it said %s", c.name, got.code, got.stdout+got.stderr)
		}
		contains(t, c.name, got.stderr, c.want)
	}
	s := started(t, "serve", "--data", strange, "--database", strangers, "--listen", "127.0.0.1:0")
	node := command(t, nil, "", "migrate", "--data", filepath.Join(t.TempDir(), "x"), "--database", strangers, "--to", "sqlite:"+t.TempDir())
	if node.code != 1 {
		t.Errorf("a node that runs: exit code %d, want 1", node.code)
	}
	second := movableDir(t)
	if got := command(t, nil, "", "migrate", "--data", second, "--to", strangers); got.code != 1 || !strings.Contains(got.stderr, "Stop every node") {
		t.Errorf("into a database that a node has: got %d %s", got.code, got.stderr)
	}
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.ended(t)
	contains(t, "after all that", must(t, "migrate", "--data", dir, "--to", url), "every row was compared")
}
