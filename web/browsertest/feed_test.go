package browsertest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"holdfast/store"
)

// TestCalendarSubscriptionIsReadable: an owner creates an address for a specialist's calendar. The page shows the
// address once, and a button revokes it. Specialists can do the same for their own calendars.
func TestCalendarSubscriptionIsReadable(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.run(`location.hash = 'specialists'`)
	p.click(`.line-do [aria-label="Edit Dr. Ada Brandt"], .line-do button`)
	p.there("#feed")
	p.says("No subscription")
	p.press("Create address")
	p.there("#feed-url")
	p.accessible("the address of a calendar")
	p.shot("calendar-feed")
	address, err := url.Parse(ask[string](p, `document.querySelector('#feed-url').value`))
	if err != nil {
		t.Fatal(err)
	}
	read := func(want int) {
		t.Helper()
		answer, err := http.Get(h.url + address.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("fetching it: got %d, want %d", answer.StatusCode, want)
		}
	}
	read(http.StatusOK)
	p.press("Revoke address")
	p.says("The calendar subscription has been revoked.")
	read(http.StatusNotFound)

	own := h.desk(t, store.RoleSpecialist)
	own.click(".side .me a")
	own.there("#feed")
	own.click(".feed .check input, .feed input[type=checkbox]")
	own.press("Create address")
	own.there("#feed-url")
	own.accessible("one's own calendar elsewhere")
	if webcal := ask[string](own, `document.querySelector('.feed a.btn').href`); !strings.HasPrefix(webcal,
		"webcal://") {
		t.Errorf("the link for a phone is %q", webcal)
	}
}
