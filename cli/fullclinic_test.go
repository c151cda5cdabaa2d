package cli

import (
	"database/sql/driver"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/sqlite"
)

var (
	tallies      = store.CarriedTable{Name: "tallies", Key: "key, at"}
	tallyColumns = []string{"key", "at", "n"}
)

// awkward is a string that a faulty copy would change.
const awkward = "Zoë \"O'Hara\"\t\\N\\ \r\n日本 🦷 ; -- '); DROP"

// fullClinic contains rows of every table, including values that are hard to copy: NULLs, bytes, unusual strings, a
// seat that was booked before the capacity was lowered, appointments outside the guarantee, and numbers with gaps.
var fullClinic = map[string][]map[string]any{
	"clinic": {{"id": int64(1), "name": awkward, "timezone": "Europe/Berlin", "settings": nil}},
	"specialists": {
		{"id": "ada", "name": "Ada", "kind": "", "timezone": "Europe/Berlin", "active": int64(1), "archived": int64(0), "reach_before_ms": int64(900000), "reach_after_ms": int64(7200000)},
		{"id": "bob", "name": awkward, "kind": "", "timezone": "UTC", "active": int64(0), "archived": int64(1), "position": int64(-3)},
		{"id": "room", "name": "Room 1", "timezone": "UTC", "active": int64(1), "kind": "resource"}},
	"appointment_types": {{"id": "yoga", "duration_minutes": int64(60), "slot_step_minutes": int64(15), "capacity": int64(1), "largest_capacity": int64(5), "active": int64(1)},
		{"id": "checkup", "duration_minutes": int64(30), "slot_step_minutes": int64(30), "capacity": int64(1), "largest_capacity": int64(1), "active": int64(0)}},
	"assignments":         {{"appointment_type_id": "yoga", "specialist_id": "ada", "priority": int64(-7)}, {"appointment_type_id": "checkup", "specialist_id": "ada", "priority": int64(7)}},
	"weekly_hours":        {{"specialist_id": "ada", "weekday": int64(7), "start_minute": int64(0), "end_minute": int64(1440)}},
	"overrides":           {{"id": "o1", "specialist_id": "ada", "date": "2026-12-24", "closed": int64(0), "reason": awkward}},
	"override_windows":    {{"override_id": "o1", "start_minute": int64(540), "end_minute": int64(600)}},
	"blocks":              {{"id": "b1", "specialist_id": "ada", "start_at": int64(1), "end_at": int64(1 << 60)}},
	"closures":            {{"id": "c1", "specialist_id": "bob", "start_at": int64(-5), "end_at": int64(5)}},
	"busy_calendars":      {{"specialist_id": "ada", "address": awkward, "asked_at": nil, "read_at": int64(9), "unread": int64(2), "tag": `"\"`}},
	"specialist_pictures": {{"specialist_id": "ada", "content_type": "image/png", "digest": awkward, "content": []byte{0, 1, '\\', '\n', 0xff}}},
	"appointments": {
		seat("a1", 0, "confirmed", 0, 900), seat("a2", 4, "confirmed", 0, 17), withRoom(seat("a4", 2, "confirmed", 0, 20)), seat("a0", 0, "cancelled", 0, 18), seat("a3", 0, "confirmed", 1, 19)},
	"undo_states": {{"appointment_id": "a1", "version": int64(8), "overbook": int64(1), "overbook_reason": awkward, "resources": `["room"]`}},
	"idempotency_records": {{"scope": "s", "key": awkward, "fingerprint": make([]byte, 32), "body": []byte{0, 1, '\\', '\n', 0xff}, "row_number": int64(4)},
		{"scope": "s", "key": "b", "fingerprint": []byte(strings.Repeat("\xff", 32)), "body": []byte{}, "row_number": int64(2)}},
	"outbox":           {{"id": "op-1", "kind": "email", "status": "pending", "needs_review": int64(1), "unknown": int64(0), "created_at": nil, "finished_at": nil, "payload": `{"a": 1,  "b":"é"}`}},
	"audit_entries":    {{"id": "e1", "at": int64(7), "before": nil, "after": awkward, "row_number": int64(40)}, {"id": "e0", "at": int64(7), "before": "{}", "after": nil, "row_number": int64(30)}},
	"audit_erasures":   {{"position": int64(3), "entry": int64(1), "hash": []byte{1}}},
	"audit_head":       {{"id": int64(1), "position": int64(3), "hash": []byte{0xfe, 0}}},
	"deliveries":       {{"operation_id": "op-1", "detail": awkward, "sequence": int64(0)}, {"operation_id": "op-2", "sequence": int64(2)}},
	"nonce_uses":       {{"nonce": "n"}},
	"agent_sessions":   {{"name": "n", "open": int64(1)}},
	"booking_requests": {{"id": "r", "appointment_type_id": "yoga", "specialist_id": "ada", "status": "declined", "slot_start": int64(10), "slot_end": int64(20), "locale": "de", "intake": awkward, "approval": int64(1)}},
	"waitlist_entries": {{"id": "w", "appointment_type_id": "yoga", "status": "booked", "wish": awkward, "absence_id": "b1", "displaced": awkward, "locale": "es", "ended_at": int64(7)}},
	"waitlist_offers":  {{"id": "f", "entry_id": "w", "appointment_type_id": "yoga", "specialist_id": "ada", "seat": int64(2), "status": "open", "slot_start": int64(10), "slot_end": int64(20), "ended_at": nil}},
	"person_notes":     {{"id": "n", "name": awkward}},
	"person_links":     {{"id": "l", "b_name": awkward}},
	"tallies":          {{"key": "k", "at": int64(3), "n": int64(2)}},
	"api_keys":         {{"id": "k", "scope": "metrics", "hash": []byte(strings.Repeat("h", 32)), "last_used_at": nil, "revoked_at": int64(9)}},
	"users": {{"id": "u", "email": "U@example.org", "role": "specialist", "specialist_id": "ada", "totp_secret": []byte{0}, "active": int64(1)},
		{"id": "v", "email": "v@example.org", "role": "owner", "specialist_id": nil, "totp_secret": nil, "active": int64(0), "last_sign_in_at": nil, "identity": ""}},
	"sign_ins":     {{"id": "s", "hash": []byte(strings.Repeat("\x00", 32)), "user_id": "u"}},
	"setup_token":  {{"id": int64(1), "hash": []byte(strings.Repeat("t", 32))}},
	"sessions":     {{"id": "s", "specialist_id": nil, "status": "requested", "version": int64(3), "accepted_at": nil, "ended_at": nil, "expires_at": nil}},
	"presence":     {{"specialist_id": "ada", "is_online": int64(1), "is_deactivated": int64(0), "last_online_at": nil}},
	"presence_log": {{"seq": int64(12), "specialist_id": "ada", "change": "auto_offline"}},
}

func seat(id string, n int64, status string, overbook, row int64) map[string]any {
	return map[string]any{"id": id, "appointment_type_id": "yoga", "specialist_id": "ada", "seat": n, "status": status, "overbook": overbook,
		"attendance": "no_show", "slot_start": int64(1000), "slot_end": int64(3600000), "busy_start": int64(500), "busy_end": int64(3600500), "patient_name": awkward,
		"source": "agent", "upstream_state": "needs_review", "cancelled_at": nil, "version": int64(8), "row_number": row, "locale": "es", "resources": "", "visit_id": "v1"}
}

// withRoom makes an appointment occupy the room too. A move does not copy the room's occupied time, because the target
// database computes it.
func withRoom(a map[string]any) map[string]any {
	a["resources"] = `["room"]`
	return a
}

// fillClinic puts rows into every table of a new SQLite file. If a row does not name a column, the column's name
// decides whether it gets a number or a string.
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
			t.Errorf("%s has no row in this test, which must move every table", table.Name)
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

// movableDir returns a data directory with a full clinic in SQLite.
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
