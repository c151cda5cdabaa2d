package browsertest

import (
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
)

// slow reports whether pages and answers are slowed down (make test-slow). A test that depends on the speed of the
// machine then fails more often than on the slowest machine.
var slow = os.Getenv("HOLDFAST_SLOW") != ""

// slowed limits a tab to a quarter of the processor's speed.
func (p *tab) slowed() *tab {
	p.t.Helper()
	if slow {
		p.do(command(emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 4}))
	}
	return p
}

// delayed waits for a random time before a browser's request and before its answer, so that answers can overtake each
// other.
func delayed(next http.Handler) http.Handler {
	if !slow {
		return next
	}
	pause := func() { time.Sleep(rand.N(600 * time.Millisecond)) }
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.UserAgent(), "Mozilla") {
			pause()
			rw = &delayedWriter{ResponseWriter: rw, wait: sync.OnceFunc(pause)}
		}
		next.ServeHTTP(rw, r)
	})
}

type delayedWriter struct {
	http.ResponseWriter
	wait func() // once, before the head of the answer
}

func (w *delayedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *delayedWriter) WriteHeader(status int) {
	w.wait()
	w.ResponseWriter.WriteHeader(status)
}

func (w *delayedWriter) Write(b []byte) (int, error) {
	w.wait()
	return w.ResponseWriter.Write(b)
}
