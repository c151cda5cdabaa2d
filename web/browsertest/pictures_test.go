package browsertest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// TestPicturesOfManual takes the pictures for README.md and the manual and writes them to the folder HOLDFAST_PICTURES:
// make pictures writes them to docs/pictures. If the folder is not set, the test is skipped.
func TestPicturesOfManual(t *testing.T) {
	folder := os.Getenv("HOLDFAST_PICTURES")
	if folder == "" {
		t.Skip("no HOLDFAST_PICTURES: make pictures sets it")
	}
	take := func(p *tab, name string) {
		p.t.Helper()
		p.picture(filepath.Join(folder, name+".png"))
	}
	inBothThemes := func(p *tab, name string) {
		p.t.Helper()
		for _, theme := range []string{"light", "dark"} {
			p.theme(theme)
			take(p, name+"-"+theme)
		}
	}
	t.Run("book", func(t *testing.T) {
		h := newHouse(t)
		p := h.tab(t)
		p.size(1280, 760)
		p.when("")
		inBothThemes(p, "book")
	})
	t.Run("board", func(t *testing.T) {
		h := newHouse(t)
		p := h.desk(t, store.RoleOwner)
		p.size(1280, 760)
		for _, a := range []struct{ name, specialist, clock string }{
			{"Lena Vogt", "ada", "08:30"}, {"Per Lind", "ada", "09:00"}, {"Rosa Winter", "ada", "09:30"},
			{"Tove Berg", "ada", "11:00"}, {"Jan Novak", "ada", "11:30"},
			{"Mira Sand", "karim", "08:30"}, {"Noor Aziz", "karim", "09:30"}, {"Ben Hart", "karim", "10:30"},
			{"Ida Moll", "karim", "11:00"},
		} {
			p.appointment(a.name, a.specialist, a.clock)
		}
		h.hold("a-client-who-is-booking", "karim", h.at("10:00"), 300)
		p.says("Being booked online")
		inBothThemes(p, "board")
	})
	t.Run("group", func(t *testing.T) {
		h := newHouse(t)
		p := h.desk(t, store.RoleReception)
		h.joins("Lena Vogt")
		h.joins("Per Lind")
		p.seats("2/3")
		p.downTo("10:00 Breathing class 2/3")
		p.key(kb.Enter)
		p.says("2 of 3")
		p.until(`document.activeElement.innerText === 'Lena Vogt'`)
		p.key("2")
		p.says("Lena Vogt: Arrived")
		take(p, "group")
	})
	t.Run("requests", func(t *testing.T) {
		h := everyBookingConfirmed(t)
		for name, clock := range map[string]string{"Lena Sorge": "10:00", "Omar Ruiz": "11:00"} {
			h.must(202, "POST", "/v1/appointment-types/checkup/book", map[string]any{
				"clientId": "a-visitor-of-requests-" + name[:2], "slotStartDate": h.at(clock),
				"patient": map[string]any{"name": name, "email": "visitor@example.org", "phone": "030 1112233"},
			})
		}
		p := h.desk(t, store.RoleReception)
		p.click(`nav a[href="#requests"]`)
		p.says("Lena Sorge")
		p.says("Omar Ruiz")
		take(p, "requests")
	})
	t.Run("waiting list", func(t *testing.T) {
		h := newHouse(t)
		p := h.desk(t, store.RoleReception)
		p.click(`nav a[href="#waitlist"]`)
		p.click(`.office-tools .primary`)
		p.there(`dialog #wl-name`)
		p.fill("#wl-name", "Omar Ruiz")
		p.fill("#wl-phone", "030 1112233")
		p.click(`dialog .primary`)
		p.says("No email: call")
		p.click(`.line .line-do .btn`)
		p.click(`dialog .found-time`)
		p.says("Offered:")
		take(p, "waiting-list")
	})
}
