package waitlist_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/clinic"
	"holdfast/store"
)

// TestWaitlistEmailsNamePlaceOfOffer follows a patient from the waiting list to an appointment, in a clinic with two
// places. An entry has no place yet, so its email does not name one. The offer and the confirmation name the place
// where the specialist works. The patient had no appointment, so the confirmation is about a booking and not about a
// move.
func TestWaitlistEmailsNamePlaceOfOffer(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, folder, noon := waitingRoom(t)
		ctx := context.Background()
		if _, err := c.Clinic.UpdateClinic(ctx, "user:jo", func(about *store.Clinic) {
			about.Address = "Main Street 1"
		}); err != nil {
			t.Fatal(err)
		}
		places := []clinic.Place{{ID: "main", Name: "Main house", Address: "Main Street 1"},
			{ID: "branch", Name: "Branch", Address: "Harbour Road 7"}}
		if _, err := c.Clinic.UpdateSettings(ctx, "user:jo", func(s *clinic.Settings) {
			s.Places = places
		}); err != nil {
			t.Fatal(err)
		}
		hours, err := c.Clinic.WeeklyHours("ada")
		if err != nil {
			t.Fatal(err)
		}
		for i := range hours {
			hours[i].Place = "branch"
		}
		if err := c.Clinic.PutWeeklyHours(ctx, "user:jo", "ada", hours); err != nil {
			t.Fatal(err)
		}
		entry := waits(c, 1, wish(c, c.Start))
		time.Sleep(time.Minute)
		c.MustCancel(noon.ID)
		time.Sleep(time.Minute)
		offer := openOffer(c, entry)
		if _, err := c.Waitlist.Accept(ctx, offer.ID, "manage", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)

		joined := c.Mails(folder, entry.ID)["waitlist_joined"]
		if !strings.Contains(joined, "What: checkup") || strings.Contains(joined, "Street") ||
			strings.Contains(joined, "Road") {
			t.Errorf("the email of the entry: got %q, want no place", joined)
		}
		mails := c.Mails(folder, offer.ID)
		for _, name := range []string{"waitlist_offer", "confirmation"} {
			if got := mails[name]; !strings.Contains(got, "Branch, Harbour Road 7") ||
				strings.Contains(got, "Main Street") {
				t.Errorf("the email %s: got %q, want the specialist's place", name, got)
			}
		}
		if len(mails) != 2 {
			t.Errorf("got %d emails of the appointment, want the offer and the confirmation: %v", len(mails), mails)
		}
	})
}

// TestOfferIsAtWantedPlace: an entry for one place gets offers only there, although another specialist is free earlier
// at the other place, and when an offer that another entry declined is handed on. An entry for a place that the clinic
// no longer has gets offers at any place.
func TestOfferIsAtWantedPlace(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, _, noon := waitingRoom(t)
		ctx := context.Background()
		if _, err := c.Clinic.UpdateSettings(ctx, "user:jo", func(s *clinic.Settings) {
			s.Places = []clinic.Place{{ID: "main", Name: "Main house"}, {ID: "branch", Name: "Branch"}}
		}); err != nil {
			t.Fatal(err)
		}
		hours, err := c.Clinic.WeeklyHours("ada")
		if err != nil {
			t.Fatal(err)
		}
		for i := range hours {
			hours[i].Place = "branch"
		}
		if err := c.Clinic.PutWeeklyHours(ctx, "user:jo", "ada", hours); err != nil {
			t.Fatal(err)
		}
		at := func(place string) store.WaitlistWish {
			w := wish(c, c.Start)
			w.Place = place
			return w
		}
		elsewhere, any := waits(c, 1, at("main")), waits(c, 2, at(""))
		branch, closed := waits(c, 3, at("branch")), waits(c, 4, at("closed"))
		c.MustCancel(noon.ID)
		for _, e := range []store.WaitlistEntry{any, branch} {
			if _, err := c.Waitlist.Decline(ctx, openOffer(c, e).ID, "manage", nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		wantOffered(c, "an entry for another place", elsewhere, "waiting")
		wantOffered(c, "an entry for any place", any, "declined waiting")
		wantOffered(c, "an entry for the place of the time", branch, "declined waiting")
		wantOffered(c, "an entry for a place that was removed", closed, "open waiting")
	})
}
