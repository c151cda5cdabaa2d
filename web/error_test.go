package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/presence"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// These tests check the table that maps errors to responses, and failures that no test of a route can cause.

func TestErrorsMapToProblems(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		err    error
		status int
		code   string
		retry  int
	}{
		{store.ErrNotFound, 404, "not_found", 0},
		{store.ErrSlotTaken, 409, "slot_taken", 0},
		{store.ErrVersion, 412, "version_mismatch", 0},
		{store.ErrOverloaded, 503, "overloaded", 1},
		{store.ErrFull, 507, "storage_full", 30},
		{store.ErrUnavailable, 503, "storage_unavailable", 3},
		{store.ErrClosed, 503, "storage_unavailable", 3},
		{store.ErrInvalid, 422, "validation_failed", 0},
		{store.ErrDuplicate, 422, "validation_failed", 0},
		{holds.ErrNotFound, 410, "hold_expired", 0},
		{holds.ErrNotOwner, 403, "not_owner", 0},
		{holds.ErrQuota, 429, "quota_exceeded", 30},
		{holds.ErrRestarts, 429, "quota_exceeded", 0},
		{holds.ErrDeactivated, 403, "forbidden", 0},
		{holds.ErrOffline, 409, "not_bookable", 0},
		{holds.ErrUnavailable, 503, "storage_unavailable", 3},
		{holds.ErrClosed, 503, "storage_unavailable", 3},
		{&holds.HeldError{Until: now.Add(1500 * time.Millisecond)}, 409, "slot_held", 2},
		{&holds.HeldError{Until: now.Add(-time.Second)}, 409, "slot_held", 1},
		{&holds.HeldError{}, 409, "slot_taken", 0},
		{&booking.CooldownError{Until: now.Add(time.Hour)}, 429, "cooldown_active", 3600},
		{&availability.NotBookableError{Reason: availability.ReasonTooSoon}, 409, "not_bookable", 0},
		{&record.ValidationError{Fields: []record.FieldError{{Field: "a", Message: "b"}}}, 422, "validation_failed", 0},
		{record.ErrNoSlots, 404, "no_slots", 0},
		{record.ErrForbidden, 403, "forbidden", 0},
		{record.ErrUnauthorized, 401, "unauthorized", 0},
		{record.ErrCutOff, 403, "forbidden", 0},
		{record.ErrNotConfirmed, 409, "not_bookable", 0},
		{record.ErrIdempotencyMismatch, 422, "idempotency_mismatch", 0},
		{record.ErrIdempotencyInFlight, 409, "idempotency_in_flight", 0},
		{context.DeadlineExceeded, 503, "storage_unavailable", 3},
		{errors.New("SECRET of a driver"), 500, "internal", 0},
		{errMalformedBody.with("x"), 400, "malformed_body", 0},
	} {
		for _, err := range []error{c.err, fmt.Errorf("booking: %w", c.err)} {
			p := problemOf(err, now)
			if p.Status != c.status || p.Code != c.code || p.RetryAfterSeconds != c.retry {
				t.Errorf("%v: got %d %s retry %d, want %d %s retry %d", err, p.Status, p.Code, p.RetryAfterSeconds,
					c.status, c.code, c.retry)
			}
			if p.Title == "" || p.Detail == "" || strings.Contains(p.Detail, "SECRET") {
				t.Errorf("%v: got the title %q and the detail %q", err, p.Title, p.Detail)
			}
		}
	}
}

func TestReasonsHaveSentences(t *testing.T) {
	said := make(map[string]availability.Reason)
	for _, r := range []availability.Reason{
		availability.ReasonInactive, availability.ReasonTooSoon, availability.ReasonTooFar,
		availability.ReasonOverrideClosed, availability.ReasonOutsideHours, availability.ReasonNotASlotStart,
		availability.ReasonTaken, presence.ReasonAccepted, presence.ReasonEnded, presence.ReasonNotActive,
		presence.ReasonAtCapacity, presence.ReasonNotOnline, "something else",
	} {
		s := whyNot(r)
		if other, twice := said[s]; twice || s == "" {
			t.Errorf("%s and %s have the same explanation: %q", r, other, s)
		}
		said[s] = r
	}
}

func TestCodesAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, p := range codes() {
		if !strings.Contains(page, "\n## "+p.Code+"\n") {
			t.Errorf("docs/errors.md has no section for %s", p.Code)
		}
		if !strings.Contains(page, fmt.Sprintf("\n## %s\n\nStatus %d.", p.Code, p.Status)) {
			t.Errorf("docs/errors.md lists %s with a status other than %d", p.Code, p.Status)
		}
	}
}

// bare returns a server with only the parts that every request needs, and its log.
func bare(t *testing.T) (*Server, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	db := enginetest.Database(t)
	e, err := engine.New(t.Context(), engine.Options{Store: db, Holds: enginetest.Holds(t, db)})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Run(t, e.Run)
	return &Server{engine: e, log: slog.New(slog.NewTextHandler(log, nil)), origins: http.NewCrossOriginProtection(),
		metrics: newMetrics("")}, log
}

func (s *Server) try(h handle, r *http.Request) *httptest.ResponseRecorder {
	rt := &route{method: r.Method, pattern: "/try", handle: h}
	w := httptest.NewRecorder()
	s.serve(rt, s.metrics.route(rt), params{}, w, r)
	return w
}

func TestPanicAnswers500(t *testing.T) {
	s, log := bare(t)
	w := s.try(func(*call) error { panic("Zounds!") }, httptest.NewRequest("GET", "/", nil))
	if w.Code != 500 || !strings.Contains(w.Body.String(), `"code":"internal"`) ||
		strings.Contains(w.Body.String(), "Zounds") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if id := w.Header().Get("X-Request-Id"); !strings.Contains(w.Body.String(), id) ||
		!strings.Contains(log.String(), id) {
		t.Errorf("the answer and the log do not have the same request id %q", id)
	}
	if !strings.Contains(log.String(), "error_test.go") {
		t.Error("the log does not contain the place of the panic")
	}
	// Nothing is appended to a response that has begun.
	w = s.try(func(c *call) error {
		_, _ = c.rw.Write([]byte("half"))
		panic("Zounds!")
	}, httptest.NewRequest("GET", "/", nil))
	if w.Body.String() != "half" {
		t.Errorf("got %q", w.Body)
	}
	func() {
		defer func() {
			if cause := recover(); cause != http.ErrAbortHandler {
				t.Errorf("an abort changed to %v", cause)
			}
		}()
		s.try(func(*call) error { panic(http.ErrAbortHandler) }, httptest.NewRequest("GET", "/", nil))
	}()
}

func TestClosedConnectionGetsNoAnswer(t *testing.T) {
	s, log := bare(t)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	w := s.try(func(c *call) error {
		return fmt.Errorf("write: %w", c.ctx().Err())
	}, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
	if w.Body.Len() > 0 || !strings.Contains(log.String(), "status=499") ||
		strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("got %q and the log %s", w.Body, log)
	}
}

func TestInternalErrorIsLoggedOnly(t *testing.T) {
	s, log := bare(t)
	w := s.try(func(*call) error {
		return fmt.Errorf("disk i/o error at /var: %w", store.ErrUnavailable)
	}, httptest.NewRequest("GET", "/", nil))
	if w.Code != 503 || w.Header().Get("Retry-After") != "3" || strings.Contains(w.Body.String(), "/var") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "disk i/o error at /var") {
		t.Errorf("the log does not contain the cause: %s", log)
	}
}

// TestConcurrentRepeatIsInFlight: a second request with the same key arrives while the first is in progress.
func TestConcurrentRepeatIsInFlight(t *testing.T) {
	db := enginetest.Database(t)
	live := enginetest.Holds(t, db)
	s, _ := bare(t)
	var err error
	if s.engine, err = engine.New(t.Context(), engine.Options{Store: db, Holds: live}); err != nil {
		t.Fatal(err)
	}
	began, finish := make(chan struct{}), make(chan struct{})
	work := in(func(c *call, _ *struct{}) error {
		close(began)
		<-finish
		return c.json(http.StatusCreated, 1)
	})
	request := func() *http.Request {
		r := httptest.NewRequest("POST", "/", strings.NewReader("{}"))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "k")
		return r
	}
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- s.try(work, request()) }()
	<-began
	if w := s.try(work, request()); w.Code != 409 || !strings.Contains(w.Body.String(), "idempotency_in_flight") ||
		w.Header().Get("Retry-After") != "1" {
		t.Errorf("the second got %d %s", w.Code, w.Body)
	}
	close(finish)
	if w := <-first; w.Code != 201 {
		t.Errorf("the first got %d %s", w.Code, w.Body)
	}
	if w := s.try(work, request()); w.Code != 201 || w.Header().Get("Idempotency-Replayed") != "true" ||
		w.Body.String() != "1" {
		t.Errorf("the repeat got %d %s", w.Code, w.Body)
	}
}

// codes returns every problem that the API can return.
func codes() []problem {
	return []problem{
		errMalformedBody, errUnauthorized, errForbidden, errNotOwner, errNotFound, errNoSlots, errMethodNotAllowed,
		errSlotTaken, errSlotHeld, errNotBookable, errOperationState, errIdempotencyInFlight, errHoldExpired,
		errVersionMismatch, errPayloadTooLarge, errUnsupportedMediaType, errValidationFailed, errIdempotencyMismatch,
		errQuotaExceeded, errCooldownActive, errRateLimited, errInternal, errOverloaded, errStorageUnavailable,
		errStorageFull, errSetupDone,
	}
}
