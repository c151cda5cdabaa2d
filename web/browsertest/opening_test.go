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

// TestBoardOfThirtyNeedsEightRequests: with an empty browser cache, the board of thirty specialists needs at most eight
// requests. On a slow connection, each request adds a delay. The page requests data that the board does not need only
// after the board is shown.
func TestBoardOfThirtyNeedsEightRequests(t *testing.T) {
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
	p.says("Jo reception") // from the page's document
	p.until(`performance.getEntriesByType('resource').some(x => x.name.includes('/v1/online-changes'))`)
	asked, received := p.requests()
	t.Logf("%d requests, %d bytes:\n\t%s", len(asked), received, strings.Join(asked, "\n\t"))
	needed := slices.Index(asked, "GET /v1/appointments") + 1
	if needed < 5 || needed > 8 {
		t.Errorf("the appointments are request %d of the page, want at most 8", needed)
	}
	for _, later := range []string{"GET /v1/online-changes", "GET /v1/requests", "GET /v1/waitlist"} {
		if n := slices.Index(asked, later); n >= 0 && n < needed {
			t.Errorf("%s is request %d and comes before the board", later, n+1)
		}
	}
}

// requests returns the requests since its last call, and the number of bytes in their responses.
func (p *tab) requests() (asked []string, received int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, received = p.asked, int(p.received)
	p.asked, p.received = nil, 0
	return asked, received
}
