package waitlist_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/waitlist"
	"holdfast/store"
)

// TestWaitlistEmailSaysWhatHappens: the emails about an earlier time say that the patient keeps the appointment. The
// emails about an entry ask for a confirmation only if it is needed, and name no room of a video call, because nothing
// is booked yet. The email about an entry for one group session names its time.
func TestWaitlistEmailSaysWhatHappens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder, noon := waitingRoom(t)
		if _, err := c.Clinic.UpdateAppointmentType(t.Context(), enginetest.Jo, "checkup",
			func(t *store.AppointmentType) {
				t.Page.Remote, t.Page.VideoLink = true, "https://video.example/{appointment}"
			}); err != nil {
			t.Fatal(err)
		}
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start.Add(2 * time.Hour)
		late := c.MustBook(r)
		sooner, err := c.Waitlist.Join(t.Context(),
			waitlist.JoinRequest{Sooner: &late, Wish: wish(c, c.Start), Actor: "manage"})
		if err != nil {
			t.Fatal(err)
		}
		class, err := c.Waitlist.Join(t.Context(), waitlist.JoinRequest{
			AppointmentTypeID: "class", Wish: store.WaitlistWish{SlotStart: c.Start.Add(6 * time.Hour)},
			Actor: "user:desk", Patient: store.Patient{Name: "Patient 3", Email: "p3@example.org"},
		})
		if err != nil {
			t.Fatal(err)
		}
		entry := waits(c, 2, wish(c, c.Start.Add(4*time.Hour)))
		if _, err := c.Booking.Cancel(t.Context(), booking.CancelRequest{ID: noon.ID, Actor: "manage"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		preview, err := c.Message.PreviewMail("waitlist_confirm", "en", clinic.MailText{})
		if err != nil {
			t.Fatal(err)
		}
		for name, x := range map[string]struct {
			text string
			want []string
		}{
			"earlier time": {c.Mails(folder, sooner.ID)["waitlist_joined"], []string{
				"You keep your appointment until you accept another time.",
				"To view your entry or leave the list: https:"}},
			"offer of an earlier time": {c.Mails(folder, openOffer(c, sooner).ID)["waitlist_offer"],
				[]string{"If you accept it, your appointment will be moved to this time."}},
			"entry": {c.Mails(folder, entry.ID)["waitlist_joined"], []string{
				"When a suitable time becomes free", "To view your entry or leave the list: https:"}},
			"one session":  {c.Mails(folder, class.ID)["waitlist_joined"], []string{"When: Wednesday 5 January 2000, 18:00"}},
			"confirmation": {preview.Text, []string{"Confirm your place by "}},
		} {
			if name != "one session" {
				x.want = append(x.want, "Where: By video or phone")
			}
			for _, want := range x.want {
				if !strings.Contains(x.text, want) {
					t.Errorf("%s: the email does not contain %q:\n%s", name, want, x.text)
				}
			}
			if strings.Contains(x.text, "video.example") {
				t.Errorf("%s: the email names a room:\n%s", name, x.text)
			}
		}
		text := c.Mails(folder, late.ID)["confirmation"]
		if !strings.Contains(text, "https://video.example/"+late.ID) ||
			strings.Contains(text, "By video or phone") {
			t.Errorf("the email about the booked appointment:\n%s", text)
		}
	})
}
