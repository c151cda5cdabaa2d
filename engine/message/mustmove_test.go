package message_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/absence"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// TestMustMoveIsDroppedAfterMove: a patient must choose another time, but the appointment is moved before the message
// is sent. The message would name the new time as the one that cannot take place, so it is not sent.
func TestMustMoveIsDroppedAfterMove(t *testing.T) {
	t.Parallel()
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, ctx := smsClinic(t, fake), context.Background()
		a := c.MustBook(texting(c))
		time.Sleep(time.Minute)
		if _, err := c.Absence.Create(ctx, absence.Request{Away: absence.Away{SpecialistID: "ada",
			Start: c.Start.Add(-time.Hour), End: c.Start.Add(time.Hour)}, Actor: enginetest.Jo,
			Choices: []absence.Choice{{AppointmentID: a.ID, By: store.DisplacedAsk}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, SlotStart: c.Start.Add(24 * time.Hour),
			Actor: "manage"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		list, err := c.Record.Deliveries(ctx, a.ID)
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, d := range list {
			if d.Notice != message.MailMustMove {
				continue
			}
			if told++; d.State != outbound.DeliveryNotNeeded {
				t.Errorf("the %s that asks the patient to move is %s, want not needed", d.Channel, d.State)
			}
		}
		if told != 2 {
			t.Errorf("%d messages ask the patient to move, want an email and a text message", told)
		}
	})
}
