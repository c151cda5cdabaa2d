package browsertest

import (
	"net/http"
	"sync"
	"testing"

	"holdfast/engine"
	"holdfast/web"
)

// carried records the change numbers in requests and responses.
type carried struct {
	http.ResponseWriter
	told, sent *[]string
	r          *http.Request
	mu         *sync.Mutex
}

func (c carried) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c carried) WriteHeader(status int) {
	c.mu.Lock()
	if number := c.Header().Get("Holdfast-Change"); number != "" && c.r.Method == http.MethodPost {
		*c.told = append(*c.told, number)
	}
	if number := c.r.Header.Get("Holdfast-After"); number != "" {
		*c.sent = append(*c.sent, number)
	}
	c.mu.Unlock()
	c.ResponseWriter.WriteHeader(status)
}

// TestPageSendsChangeNumber checks that, with several nodes, a page that has booked sends the change number of its
// booking with the next request, even after a reload.
func TestPageSendsChangeNumber(t *testing.T) {
	h := newHouseWith(t, engine.Options{Shared: true}, web.Options{})
	var mu sync.Mutex
	var told, sent []string
	inner := *h.running.Load()
	var outer http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(carried{w, &told, &sent, r, &mu}, r)
	})
	h.running.Store(&outer)
	last := func(list *[]string) string {
		mu.Lock()
		defer mu.Unlock()
		if len(*list) == 0 {
			return ""
		}
		return (*list)[len(*list)-1]
	}
	p := h.tab(t)
	p.when("")
	p.take(h.date + "T09:00:00Z")
	p.confirm()
	p.booked()
	booked := last(&told)
	if booked == "" {
		t.Fatal("no answer contains the number of its node's last change")
	}
	mu.Lock()
	sent = nil
	mu.Unlock()
	p.when("")
	if got := last(&sent); got != booked {
		t.Errorf("after a reload, the page sent %q, want %q", got, booked)
	}
}
