package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// site is somebody's website with the booking page in it, at an origin of its own.
func site(t *testing.T, h *house) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path != "/" {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprintf(rw, `<!doctype html><html lang="en"><title>Praxis</title><link rel="icon" href="data:,"><h1>Praxis</h1>
			<script src="%s/embed.js" data-type="checkup" data-lang="en"></script>`, h.url)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestTheBookingPageInsideAnotherSite(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	home := site(t, h)
	h.must(200, "PUT", "/v1/settings", map[string]any{"embedOrigins": []string{home}}, asAdmin)
	p := h.tab(t)
	p.also = []string{strings.TrimPrefix(home, "http://")}
	p.open(home)
	p.there("iframe[title]")
	// The frame takes the height of what is in it.
	height := `document.querySelector('iframe').getBoundingClientRect().height`
	p.until(height + ` > 700`)
	p.shot("embed")
	was := ask[float64](p, height)
	p.run(`window.postMessage({ holdfast: 'height', height: 33 }, '*')`)
	p.moment()
	if is := ask[float64](p, height); is != was {
		t.Errorf("a message from elsewhere made the frame %v high, it was %v", is, was)
	}
}

// A site that is not named in the settings gets nothing to show.
func TestASiteThatIsNotNamedCannotFrameThePage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	home := site(t, h)
	h.must(200, "PUT", "/v1/settings", map[string]any{"embedOrigins": []string{"https://praxis.example"}}, asAdmin)
	p := h.tab(t)
	p.also = []string{strings.TrimPrefix(home, "http://")}
	p.open(home)
	p.there("iframe")
	p.misbehaves("frame-ancestors https://praxis.example")
	p.forgive()
	if got := h.must(200, "GET", "/", nil).raw; strings.Contains(got, "frame-ancestors *") {
		t.Error("the whole page may be framed by anybody")
	}
}

// A frame may be given no storage at all. The booking goes through in it all the same, and the appointment's own page
// opens beside it, because a frame is no place to keep.
func TestBookingInAFrameWithoutStorage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(200, "PUT", "/v1/settings", map[string]any{"embedOrigins": []string{"https://praxis.example"}}, asAdmin)
	p := h.tab(t)
	p.everyDocument(`
		for (const name of ['sessionStorage', 'localStorage']) Object.defineProperty(window, name, { get() { throw new DOMException('blocked', 'SecurityError') } })`)
	p.open("/embed?type=checkup&lang=en")
	p.live()
	p.day(h.date)
	p.take(h.at("10:00"))
	p.confirm()
	p.booked()
	p.says("You're booked.")
	p.look("embed-2-booked")
	h.one(t)
	if got := ask[string](p, `document.querySelector('a.btn[href^="/manage"]').target`); got != "_blank" {
		t.Errorf("the appointment's page opens in %q, want a tab of its own", got)
	}
}
