package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/holds/memory"
	"holdfast/store/bolt"
	"holdfast/store/sqlite"
	"holdfast/web"
	"holdfast/web/certificate"
)

// house is a complete server with a queue.
type house struct {
	t    testing.TB
	url  string
	db   *sqlite.Store
	stop func() // stops the server, and waits for the responses to its requests
}

const adminKey = "a-bootstrap-admin-key-for-tests"

func newHouse(t testing.TB, change ...func(*web.Options)) *house {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(dir, "holdfast.db")})
	if err != nil {
		t.Fatal(err)
	}
	queue, err := bolt.Open(ctx, bolt.Options{Path: filepath.Join(dir, "queue.bolt")})
	if err != nil {
		t.Fatal(err)
	}
	live := memory.New(memory.Options{Booked: booking.Booked(db)})
	lastCopy := func() (time.Time, bool) { return time.Now(), true } // there is a backup destination
	e, err := engine.New(ctx, engine.Options{Store: db, Holds: live, Queue: queue, AdminKey: adminKey})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Clinic.Import(ctx, "system", enginetest.ClinicFile(map[string]int{"ada": 1})); err != nil {
		t.Fatal(err)
	}
	certificates := func() []certificate.Status { // there is a domain
		return []certificate.Status{{Domain: "clinic.example", Until: time.Now().AddDate(0, 3, 0)}}
	}
	options := web.Options{Version: "test", LastCopy: lastCopy, Certificates: certificates}
	for _, c := range change {
		c(&options)
	}
	server, err := web.New(e, options)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving, stopServing := context.WithCancel(ctx)
	deciding, stopDeciding := context.WithCancel(ctx)
	var answering, running sync.WaitGroup
	running.Go(func() { e.Run(deciding) })
	answering.Go(func() {
		if err := server.Serve(serving, listener); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	stop := func() { stopServing(); answering.Wait() }
	t.Cleanup(func() {
		stop()
		stopDeciding()
		running.Wait()
		for _, c := range []io.Closer{queue, live, db} {
			_ = c.Close() // the database may already be closed
		}
	})
	return &house{t: t, url: "http://" + listener.Addr().String(), db: db, stop: stop}
}

// ask sends one request and returns the status and the body.
func (h *house) ask(method, path string, body any) (int, string) {
	h.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		h.t.Fatal(err)
	}
	r, err := http.NewRequest(method, h.url+path, bytes.NewReader(b))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return reply.StatusCode, string(text)
}

// bustle books a time, tries to book it for another client, which is refused, and holds another time.
func (h *house) bustle() {
	h.t.Helper()
	start := enginetest.Noon(time.UTC, 2)
	for i, want := range []int{http.StatusCreated, http.StatusConflict} {
		client := []string{"first-client-0000", "other-client-0000"}[i]
		body := map[string]any{"clientId": client, "slotStartDate": start.Format(time.RFC3339),
			"patient": map[string]any{"name": "Rosa Winter", "email": "rosa@example.org"}}
		if status, text := h.ask("POST", "/v1/appointment-types/checkup/book", body); status != want {
			h.t.Fatalf("booking: got %d %s, want %d", status, text, want)
		}
	}
	h.ask("GET", "/v1/clinic", nil)
	h.ask("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "clientId": "first-client-0000",
		"slotStartDate": start.Add(time.Hour).Format(time.RFC3339)})
}

// fail closes the database and sends a booking, which cannot be saved. No booking can succeed afterwards.
func (h *house) fail() {
	h.t.Helper()
	if err := h.db.Close(); err != nil {
		h.t.Fatal(err)
	}
	start := enginetest.Noon(time.UTC, 3)
	body := map[string]any{"clientId": "third-client-0000", "slotStartDate": start.Format(time.RFC3339),
		"patient": map[string]any{"name": "Rosa Winter", "email": "rosa@example.org"}}
	if status, text := h.ask("POST", "/v1/appointment-types/checkup/book", body); status < 500 {
		h.t.Fatalf("booking without a database: got %d %s", status, text)
	}
}

func (h *house) scrape() string {
	h.t.Helper()
	status, text := h.ask("GET", "/metrics", nil)
	if status != http.StatusOK {
		h.t.Fatalf("scrape: got %d %s", status, text)
	}
	return text
}

// scrapes returns the metrics of the server after bustle and fail.
func (h *house) scrapes() string {
	h.t.Helper()
	h.bustle()
	h.fail()
	return h.scrape()
}
