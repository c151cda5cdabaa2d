package browsertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// TestBoardOfThirtyNeedsTwelveRequests: the board of thirty specialists opens with at most twelve requests and an
// empty browser cache. On a slow connection each request adds a delay.
func TestBoardOfThirtyNeedsTwelveRequests(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) {
		for n := range 28 {
			s := f.Specialists[0]
			s.ID, s.Name = fmt.Sprintf("more-%d", n), fmt.Sprintf("Dr Number %d", n)
			f.Specialists = append(f.Specialists, s)
		}
	})
	p := h.desk(t, store.RoleReception)
	p.do(command(network.ClearBrowserCache, cdp.Empty{}))
	p.leave()
	p.requests()
	p.open("/staff?lang=de#day/" + h.date)
	p.board()
	p.until(`document.querySelectorAll('.board .head').length === 30`)
	p.moment()
	asked, received := p.requests()
	// The typeface and the numbers in the navigation come after the board.
	asked = slices.DeleteFunc(asked, func(request string) bool {
		return strings.HasSuffix(request, "/figtree.woff2") || slices.Contains([]string{"GET /v1/waitlist", "GET /v1/queue-status", "GET /v1/sessions"}, request)
	})
	t.Logf("%d requests, %d bytes:\n\t%s", len(asked), received, strings.Join(asked, "\n\t"))
	if len(asked) > 12 || len(asked) < 5 {
		t.Errorf("%d requests, want 12 at most", len(asked))
	}
}

// requests returns the requests since its last call, and the bytes of their answers.
func (p *tab) requests() (asked []string, received int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, received = p.asked, int(p.received)
	p.asked, p.received = nil, 0
	return asked, received
}
