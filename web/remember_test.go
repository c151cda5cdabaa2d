package web_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/holds/memory"
	"holdfast/store"
	"holdfast/store/sqlite"
	"holdfast/web"
)

// These tests check where a response is stored for repeats: together with the change that it confirms, or in memory if
// nothing durable changed.

// writtenAnswers counts the responses that were written to the database: together with a change, and alone. If hangs is
// set, reads block until the request's deadline. If slow is set, a transaction that has begun blocks too.
type writtenAnswers struct {
	*sqlite.Store
	beside, alone atomic.Int64
	hangs, slow   atomic.Bool
}

func (w *writtenAnswers) Appointments(ctx context.Context,
	f store.AppointmentFilter) ([]store.Appointment, string, error) {
	if w.hangs.Load() {
		<-ctx.Done()
		return nil, "", ctx.Err()
	}
	return w.Store.Appointments(ctx, f)
}

func (w *writtenAnswers) Taken(ctx context.Context, specialistIDs []string, from, to time.Time) ([]store.Taken, error) {
	if w.hangs.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return w.Store.Taken(ctx, specialistIDs, from, to)
}

func (w *writtenAnswers) Write(ctx context.Context, fn func(store.Tx) error) error {
	var seen *watchedTx
	err := w.Store.Write(ctx, func(tx store.Tx) error {
		if w.slow.Load() && ctx.Done() != nil {
			<-ctx.Done()
		}
		seen = &watchedTx{Tx: tx}
		return fn(seen)
	})
	w.count(seen, err)
	return err
}

func (w *writtenAnswers) Erase(ctx context.Context, p store.Person, at time.Time,
	last func(store.Tx, store.Erased) error) (store.Erased, error) {
	var seen *watchedTx
	erased, err := w.Store.Erase(ctx, p, at, func(tx store.Tx, erased store.Erased) error {
		seen = &watchedTx{Tx: tx}
		return last(seen, erased)
	})
	w.count(seen, err)
	return erased, err
}

func (w *writtenAnswers) count(seen *watchedTx, err error) {
	switch {
	case err != nil || !seen.remembered:
	case seen.changed:
		w.beside.Add(1)
	default:
		w.alone.Add(1)
	}
}

type watchedTx struct {
	store.Tx
	remembered, changed bool
}

func (t *watchedTx) Remember(ctx context.Context, r store.IdempotencyRecord) error {
	t.remembered = true
	return t.Tx.Remember(ctx, r)
}

func (t *watchedTx) AppendAudit(ctx context.Context, e store.AuditEntry) error {
	t.changed = true
	return t.Tx.AppendAudit(ctx, e)
}

func (t *watchedTx) InsertSession(ctx context.Context, s store.Session) error {
	t.changed = true
	return t.Tx.InsertSession(ctx, s)
}

func (t *watchedTx) UpdateSession(ctx context.Context, s store.Session) error {
	t.changed = true
	return t.Tx.UpdateSession(ctx, s)
}

func TestIdempotencyIsScopedToRoute(t *testing.T) {
	h := newHouse(t)
	own := header{"Holdfast-Client": client(1)}
	presence := h.key("presence")
	h.do("PATCH", "/v1/specialists/ada", map[string]any{"maxSessions": 5}, asAdmin).want(200)
	h.do("PATCH", "/v1/specialists/bea", map[string]any{"maxSessions": 5}, asAdmin).want(200)
	h.online(presence, "ada", "bea")
	var held, session string
	for _, x := range []struct {
		name    string
		durable bool
		do      func(key header) *reply
	}{
		{"a hold", false, func(k header) *reply {
			r := h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup",
				"slotStartDate": h.at(0), "specialistId": "ada"}, own, k)
			held = r.text("holdId")
			return r
		}},
		{"its release", false, func(k header) *reply {
			return h.do("POST", "/v1/holds/release", map[string]any{"holdId": held}, own, k)
		}},
		{"a look at a time", false, func(k header) *reply {
			return h.do("POST", "/v1/slots/select", map[string]any{"appointmentTypeId": "checkup",
				"slotStartDate": h.at(60), "specialistId": "ada"}, own, k)
		}},
		{"a booking", true, func(k header) *reply {
			return h.do("POST", "/v1/appointment-types/checkup/book",
				map[string]any{"slotStartDate": h.at(120), "patient": patient(1)}, own, k)
		}},
		{"a specialist", true, func(k header) *reply {
			return h.do("POST", "/v1/specialists", map[string]any{"name": "Cleo"}, asAdmin, k)
		}},
		{"an appointment type", true, func(k header) *reply {
			return h.do("POST", "/v1/appointment-types", map[string]any{"name": "Scan"}, asAdmin, k)
		}},
		{"a user", true, func(k header) *reply {
			return h.do("POST", "/v1/users", map[string]any{"email": "desk@example.org",
				"name": "Desk", "role": "reception", "password": "correct horse battery"}, asAdmin, k)
		}},
		{"an import", true, func(k header) *reply {
			return h.do("POST", "/v1/import",
				map[string]any{"specialists": []any{map[string]any{"id": "dora", "name": "Dora"}}}, asAdmin, k)
		}},
		{"a session", true, func(k header) *reply {
			r := h.do("POST", "/v1/sessions", map[string]any{}, own, k)
			session = "/v1/sessions/" + r.text("session", "id")
			return r
		}},
		{"its acceptance", true, func(k header) *reply {
			return h.do("POST", session+"/accept", map[string]any{"specialistId": "ada"}, presence, k)
		}},
		{"its handing over", true, func(k header) *reply {
			return h.do("POST", session+"/reroute", map[string]any{"specialistId": "bea"}, presence, k)
		}},
		{"its payment", true, func(k header) *reply {
			return h.do("POST", session+"/payment", map[string]any{"pending": true}, presence, k)
		}},
		{"its end", true, func(k header) *reply {
			return h.do("POST", session+"/end", map[string]any{"outcome": "advised"}, presence, k)
		}},
		{"an erasure", true, func(k header) *reply {
			return h.do("POST", "/v1/people/erase", map[string]any{"email": "nobody@example.org"}, asAdmin, k)
		}},
	} {
		beside, alone := h.written.beside.Load(), h.written.alone.Load()
		first := x.do(key(x.name))
		if first.status >= 300 {
			t.Errorf("%s: got %d: %s", x.name, first.status, first.raw)
			continue
		}
		if got := h.written.alone.Load() - alone; got != 0 {
			t.Errorf("%s: the answer was stored in its own transaction", x.name)
		}
		if got := h.written.beside.Load()-beside == 1; got != x.durable {
			t.Errorf("%s: the answer was stored with the change: %v, want %v", x.name, got, x.durable)
		}
		if again := x.do(key(x.name)); again.raw != first.raw || again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s: the repeat got %s, want %s", x.name, again.raw, first.raw)
		}
	}
}

// TestOneAPIKeyPerIdempotencyKey: a page that lost the response gets the same API key again. After a restart it gets
// neither a second API key nor the secret, which the database does not store.
func TestOneAPIKeyPerIdempotencyKey(t *testing.T) {
	h := newHouse(t)
	body, once := `{"name":"phone agent","scope":"agent"}`, key("one key")
	first := h.do("POST", "/v1/api-keys", body, asAdmin, once).want(201)
	again := h.do("POST", "/v1/api-keys", body, asAdmin, once).want(201)
	if first.text("key") == "" || again.raw != first.raw || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("repeated: got %s, want %s", again.raw, first.raw)
	}
	h.do("POST", "/v1/api-keys", `{"name":"other","scope":"agent"}`, asAdmin, once).problem(422, "idempotency_mismatch")

	live := memory.New(memory.Options{})
	t.Cleanup(func() { live.Close() })
	e, err := engine.New(t.Context(), engine.Options{Store: h.written, Holds: live, AdminKey: adminKey,
		QuickPasswords: true})
	if err != nil {
		t.Fatal(err)
	}
	restarted, err := web.New(e, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/v1/api-keys", strings.NewReader(body))
	for _, headers := range []header{asAdmin, once, {"Content-Type": "application/json"}} {
		for name, value := range headers {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	restarted.Handler().ServeHTTP(w, r)
	if got := w.Body.String(); w.Code != 201 || !strings.Contains(got, first.text("apiKey", "id")) ||
		strings.Contains(got, first.text("key")) {
		t.Errorf("repeated after a restart: got %d %s, want the same key without its secret", w.Code, got)
	}
	if list := h.do("GET", "/v1/api-keys", nil, asAdmin).want(200).body["apiKeys"].([]any); len(list) != 1 {
		t.Errorf("%d keys were created, want 1: %v", len(list), list)
	}
}
