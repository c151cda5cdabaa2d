package request_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/engine/request"
	"holdfast/store"
)

// TestAcceptedProposalOrExpiryWins: a patient accepts the time that the desk proposed just as the proposal expires.
// Whichever reaches the database first wins, the other changes nothing, and the response tells the patient the outcome.
func TestAcceptedProposalOrExpiryWins(t *testing.T) {
	t.Parallel()
	for name, isBooked := range map[string]bool{
		"the acceptance is written first": true, "the expiry is written first": false,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db := new(enginetest.Gate)
				c, folder := enginetest.NoticeClinicOn(t, func(s store.Store) store.Store { db.Store = s; return db })
				ctx := context.Background()
				approved(c, 0)
				r, err := propose(c, asks(c, 1, c.Start), c.Start.Add(2*time.Hour))
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Until(r.ExpiresAt) - time.Second)
				letPatient := db.Shut("patient", "Write")
				letServer := func() {}
				if isBooked {
					letServer = db.Shut("", "Write")
				}
				var answer store.Appointment
				var refusal error
				done := make(chan struct{})
				go func() {
					defer close(done)
					answer, refusal = c.Request.Confirm(enginetest.CallBy(ctx, "patient"), r.ID, r.SlotStart, "manage", nil)
				}()
				time.Sleep(2 * time.Minute) // the server checks for expired requests every minute
				letPatient()
				<-done
				letServer()
				time.Sleep(2 * time.Minute)

				mails := c.Mails(folder, r.ID)
				_, isToldOfEnd := mails["request_declined"]
				_, isDeskToldOfEnd := mails["staff_request_lapsed"]
				_, isToldOfBooking := mails["confirmation"]
				if isToldOfEnd == isBooked || isDeskToldOfEnd == isBooked || isToldOfBooking != isBooked {
					t.Errorf("emailed about the end: %t, to the desk: %t, about the booking: %t; want the booking: %t",
						isToldOfEnd, isDeskToldOfEnd, isToldOfBooking, isBooked)
				}
				a, err := c.Booking.Appointment(ctx, r.ID)
				if isBooked {
					if refusal != nil || !answer.SlotStart.Equal(r.SlotStart) || err != nil || a.Status != store.Confirmed {
						t.Errorf("accepted: got %v, %v, and booked is %+v, %v", answer.SlotStart, refusal, a, err)
					}
					return
				}
				var lapsed *request.LapsedError
				if !errors.As(refusal, &lapsed) || lapsed.Declined {
					t.Errorf("refused: got %v, want that the request has expired", refusal)
				}
				if !errors.Is(err, store.ErrNotFound) {
					t.Errorf("the expired request was booked: %+v, %v", a, err)
				}
				if !free(c, 3, r.SlotStart) {
					t.Error("the proposed time is not free again")
				}
				c.WantNoHolds()
			})
		})
	}
}
