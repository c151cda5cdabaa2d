package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/store"
)

const traceOf = "0af7651916cd43dd8448eb211c80319c"

// TestRequestIDIsKept: the server returns and logs a proxy's request id and trace, unless they are unfit for a log.
func TestRequestIDIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		id, trace             string
		keepsID, keepsItTrace bool
	}{
		"nothing":       {"", "", false, false},
		"both":          {"edge-7.A_b", "00-" + traceOf + "-b7ad6b7169203331-01", true, true},
		"longest":       {strings.Repeat("a", 64), "", true, false},
		"too long":      {strings.Repeat("a", 65), "00-" + traceOf + "-b7ad6b7169203331-01-more", false, false},
		"hostile":       {"a\"} {\"level\":\"ERROR", "00-" + traceOf + "-b7ad6b7169203331-\x1b[", false, false},
		"a command":     {"=cmd()", "00-" + strings.ToUpper(traceOf) + "-b7ad6b7169203331-01", false, false},
		"an option":     {"-rf", "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01", false, false},
		"a new version": {"x y", "cc-" + traceOf + "-b7ad6b7169203331-01", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, log := bare(t)
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("X-Request-Id", c.id)
			r.Header.Set("Traceparent", c.trace)
			w := s.try(func(c *call) error { return c.empty(http.StatusNoContent) }, r)
			id, trace := w.Header().Get("X-Request-Id"), w.Header().Get("Traceparent")
			if id == "" || (id == c.id) != c.keepsID || !strings.Contains(log.String(), "request="+id) {
				t.Errorf("%q is answered as %q and logged as %s", c.id, id, log)
			}
			if (trace == c.trace && trace != "") != c.keepsItTrace ||
				strings.Contains(log.String(), "trace="+traceOf) != c.keepsItTrace {
				t.Errorf("the trace %q is answered as %q and logged as %s", c.trace, trace, log)
			}
		})
	}
}

// TestSlowRequestLogsItsParts: a slow request logs the times of its parts. A fast request and a stream do not.
func TestSlowRequestLogsItsParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := bare(t)
		slow := func(c *call) error {
			begun := time.Now()
			time.Sleep(700 * time.Millisecond)
			store.SpentWriting(c.ctx(), begun)
			begun = time.Now()
			time.Sleep(200 * time.Millisecond)
			store.SpentReading(c.ctx(), begun)
			time.Sleep(100 * time.Millisecond)
			return c.empty(http.StatusNoContent)
		}
		s.try(slow, httptest.NewRequest("GET", "/", nil))
		if want := "write_us=700000 read_us=200000 other_us=100000"; strings.Count(log.String(), "request slow") != 1 ||
			!strings.Contains(log.String(), want) {
			t.Errorf("got %s, want one line with %s", log, want)
		}
		log.Reset()
		s.try(func(c *call) error {
			time.Sleep(slowRequest - 1)
			return c.empty(http.StatusNoContent)
		}, httptest.NewRequest("GET", "/", nil))
		rt := &route{method: "GET", pattern: "/v1/try/stream", handle: slow}
		s.serve(rt, s.metrics.route(rt), params{}, httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		if strings.Contains(log.String(), "slow") {
			t.Errorf("the log calls a quick request or a stream slow: %s", log)
		}
	})
}

// TestSlowRequestSumsStoreTime: the times of database reads and of database writes are both measured.
func TestSlowRequestSumsStoreTime(t *testing.T) {
	db := enginetest.Database(t)
	var spent store.Spent
	ctx := store.WithSpent(t.Context(), &spent)
	if _, err := db.APIKeys(ctx); err != nil || spent.Reading() <= 0 || spent.Writing() != 0 {
		t.Errorf("a read took %v and a write %v (%v)", spent.Reading(), spent.Writing(), err)
	}
	if err := db.Write(ctx, func(store.Tx) error { return nil }); err != nil || spent.Writing() <= 0 {
		t.Errorf("a write took %v (%v)", spent.Writing(), err)
	}
}
