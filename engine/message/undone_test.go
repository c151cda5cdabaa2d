package message_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/notice/noticetest"
)

// TestTextMessageSurvivesUndoneCancellation: a text message becomes due while its appointment's cancellation can still
// be undone. After the undo, the message is sent.
func TestTextMessageSurvivesUndoneCancellation(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, ctx := smsClinic(t, fake), context.Background()
		a := c.MustBook(texting(c))
		time.Sleep(time.Until(c.Start.Add(-2*time.Hour - 5*time.Second))) // the reminder is due in 5 s
		if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: enginetest.Jo,
			Undoable: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(8 * time.Second)
		if _, err := c.Booking.Undo(ctx, booking.UndoRequest{ID: a.ID, Actor: enginetest.Jo}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		got := fake.Texts()
		if n := len(got); n != 3 || !strings.Contains(got[n-1].Text, "reminder") {
			t.Errorf("the gateway received %+v, want the confirmation and both reminders", got)
		}
	})
}

// TestSeriesEmailSurvivesUndoneCancellation: the email about a group visit is due for a retry while the cancellation of
// one of its appointments can still be undone. The email waits, and lists all of the appointments after the undo.
func TestSeriesEmailSurvivesUndoneCancellation(t *testing.T) {
	t.Parallel()
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, ctx := smsClinic(t, fake), context.Background()
		fake.Answer(func(noticetest.Text) (int, string) {
			if len(fake.Texts()) == 1 {
				return 503, ""
			}
			return 200, ""
		})
		family := enginetest.Family(c.Start, "checkup", "checkup")
		family.Phone = "0170 1234567"
		for i := range family.People {
			family.People[i].Said.SMS = true
		}
		visit := c.MustVisit(family)
		time.Sleep(15 * time.Second) // the next attempt is after 20 s
		if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: visit[1].ID, Actor: enginetest.Jo,
			Undoable: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(8 * time.Second)
		if _, err := c.Booking.Undo(ctx, booking.UndoRequest{ID: visit[1].ID, Actor: enginetest.Jo}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		got := fake.Texts()
		if len(got) != 2 || got[1].Text != got[0].Text {
			t.Errorf("the gateway received %+v, want the same text about both appointments twice", got)
		}
	})
}
