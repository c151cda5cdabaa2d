package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/web"
)

// nodeOf is a single server or one of several nodes. It uses no network, so that a test can detect a waiting request.
type nodeOf struct {
	t       *testing.T
	engine  *engine.Engine
	handler http.Handler
	start   time.Time
}

func newNodeOf(t *testing.T, several bool) *nodeOf {
	t.Helper()
	db := enginetest.Database(t)
	e, err := engine.New(t.Context(), engine.Options{Store: db, Holds: enginetest.Holds(t, db), AdminKey: adminKey,
		Shared: several})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Clinic.Import(t.Context(), "system", clinicFile()); err != nil {
		t.Fatal(err)
	}
	s, err := web.New(e, web.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Run(t, e.Run)
	return &nodeOf{t: t, engine: e, handler: s.Handler(), start: enginetest.Noon(time.UTC, 2)}
}

// ask sends a request, with Holdfast-After if after is not empty.
func (n *nodeOf) ask(method, path, body, after string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body)).WithContext(context.Background())
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if after != "" {
		r.Header.Set("Holdfast-After", after)
	}
	w := httptest.NewRecorder()
	n.handler.ServeHTTP(w, r)
	return w
}

// book books a check-up at noon.
func (n *nodeOf) book() *httptest.ResponseRecorder {
	return n.ask("POST", "/v1/appointment-types/checkup/book", fmt.Sprintf(
		`{"clientId":"a-client-of-the-test-1","slotStartDate":%q,"specialistId":"ada","patient":{"name":"Jo Doe","phone":"030 1234567"}}`, n.start.Format(time.RFC3339)), "")
}

// list lists ada's free times for check-ups on the day of start.
func (n *nodeOf) list(after string) *httptest.ResponseRecorder {
	day := n.start.Format(time.DateOnly)
	return n.ask("GET", "/v1/appointment-types/checkup/timeslots?specialistId=ada&from="+day+"&to="+
		n.start.AddDate(0, 0, 1).Format(time.DateOnly), "", after)
}

func (n *nodeOf) lists(w *httptest.ResponseRecorder) bool {
	n.t.Helper()
	if w.Code != http.StatusOK {
		n.t.Fatalf("got %d %s", w.Code, w.Body)
	}
	return strings.Contains(w.Body.String(), `"start":"`+n.start.Format(time.RFC3339)+`"`)
}

// TestHoldfastAfterWaitsForChange: if a node has not applied the caller's change when a request arrives, it waits for
// the change. So it no longer lists the time that the caller has booked.
func TestHoldfastAfterWaitsForChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNodeOf(t, true)
		if !n.lists(n.list("")) {
			t.Fatal("the time is not listed")
		}
		late := make(chan *httptest.ResponseRecorder, 1)
		go func() { late <- n.list(strconv.FormatInt(n.engine.LastChange()+1, 10)) }()
		synctest.Wait()
		if len(late) > 0 {
			t.Fatal("the node answered before it had the caller's change")
		}
		booked := n.book()
		if booked.Code != http.StatusCreated ||
			booked.Header().Get("Holdfast-Change") != strconv.FormatInt(n.engine.LastChange(), 10) {
			t.Fatalf("booking: got %d %s, %v; want change %d", booked.Code, booked.Body, booked.Header(),
				n.engine.LastChange())
		}
		if w := <-late; n.lists(w) || w.Header().Get("Holdfast-Change") == "" {
			t.Errorf("the time is still listed; headers %v", w.Header())
		}
		began := time.Now()
		if w := n.list("900000000000"); w.Code != http.StatusOK ||
			w.Header().Get("Holdfast-Change") != booked.Header().Get("Holdfast-Change") {
			t.Errorf("after a change that never comes: got %d, %v; want this node's state and the number of its last change", w.Code,
				w.Header())
		}
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("it waited %v, want one second", waited)
		}
	})
}

func TestHoldfastAfterIsANumber(t *testing.T) {
	n := newNodeOf(t, true)
	for _, bad := range []string{"x", "-1", "+1", "1.5", "99999999999999999999", " "} {
		if w := n.list(bad); w.Code != http.StatusUnprocessableEntity ||
			!strings.Contains(w.Body.String(), "Holdfast-After") {
			t.Errorf("%q: got %d %s, want 422", bad, w.Code, w.Body)
		}
	}
	if w := n.ask("GET", "/v1/clinic", "", "0"); w.Code != http.StatusOK {
		t.Errorf("0: got %d %s", w.Code, w.Body)
	}
}

// TestSingleNodeOmitsChangeNumber: a single node does not reveal how many changes a clinic makes.
func TestSingleNodeOmitsChangeNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNodeOf(t, false)
		if w := n.book(); w.Code != http.StatusCreated || w.Header().Get("Holdfast-Change") != "" {
			t.Errorf("got %d, %v", w.Code, w.Header())
		}
		began := time.Now()
		if w := n.list("900000000000"); w.Code != http.StatusOK || w.Header().Get("Holdfast-Change") != "" ||
			time.Since(began) > 0 {
			t.Errorf("got %d, %v after %v; want an immediate answer", w.Code, w.Header(), time.Since(began))
		}
	})
}
