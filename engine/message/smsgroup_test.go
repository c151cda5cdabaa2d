package message_test

import (
	"context"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
	"holdfast/store"
)

// textedFamily books a visit of three people, at 12:00, 12:30 and 13:00, who all get text messages at one number.
func textedFamily(c *enginetest.TestClinic) []store.Appointment {
	r := enginetest.Family(c.Start, "checkup", "checkup", "checkup")
	r.Phone = "0170 1234567"
	for i := range r.People {
		r.People[i].Said.SMS = true
	}
	return c.MustVisit(r)
}

// TestLateGroupTextCoversRest: the gateway is busy when a visit is booked, and the visit changes before the next
// attempt.
func TestLateGroupTextCoversRest(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	cancel := func(c *enginetest.TestClinic, list []store.Appointment, n int) {
		if _, err := c.Booking.Cancel(context.Background(), booking.CancelRequest{ID: list[n].ID,
			Actor: "system", Silent: true}); err != nil {
			c.T.Fatal(err)
		}
	}
	for name, x := range map[string]struct {
		change func(*enginetest.TestClinic, []store.Appointment)
		want   string
	}{
		"one is left": {change: func(c *enginetest.TestClinic, list []store.Appointment) {
			cancel(c, list, 0)
			cancel(c, list, 1)
		}, want: "your appointment is on Wed 5 Jan, 13:00"},
		"the first has another number": {
			change: func(c *enginetest.TestClinic, list []store.Appointment) {
				if _, err := c.Booking.ChangePatient(context.Background(), booking.PatientRequest{ID: list[0].ID,
					Actor: "system", Edit: func(p *store.Patient) { p.Phone = "0170 7654321" }}); err != nil {
					c.T.Fatal(err)
				}
			}, want: "2 appointments are booked, the first on Wed 5 Jan, 12:30"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := noticetest.NewGateway(t)
			synctest.Test(t, func(t *testing.T) {
				c := smsClinic(t, fake)
				fake.Answer(func(noticetest.Text) (int, string) {
					if len(fake.Texts()) == 1 {
						return 503, ""
					}
					return 200, ""
				})
				list := textedFamily(c)
				time.Sleep(15 * time.Second) // the next attempt is after 20 s
				x.change(c, list)
				time.Sleep(time.Minute)
				got := fake.Texts()
				if n := len(got); n != 2 || got[1].To != "+491701234567" || !strings.Contains(got[1].Text, x.want) {
					t.Errorf("the gateway received %+v, want a second message with %q", got, x.want)
				}
			})
		})
	}
}

// TestLateGroupTextOmitsPast: the gateway is unreachable until the first person's appointment has ended.
func TestLateGroupTextOmitsPast(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		var until time.Time
		texter, err := notice.NewTexter(notice.TexterOptions{AllowPrivate: true,
			Given: &notice.Gateway{Method: "POST", URL: fake.URL, Body: "to={to}&text={text}"},
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				if time.Now().Before(until) {
					return nil, syscall.ECONNREFUSED
				}
				return new(net.Dialer).DialContext(ctx, network, address)
			}})
		if err != nil {
			t.Fatal(err)
		}
		c := smsClinicWith(t, texter)
		until = c.Start.Add(35 * time.Minute)
		time.Sleep(time.Until(c.Start.Add(-time.Minute)))
		textedFamily(c)
		time.Sleep(50 * time.Minute)
		got := fake.Texts()
		if n := len(got); n != 1 ||
			!strings.Contains(got[0].Text, "2 appointments are booked, the first on Wed 5 Jan, 12:30") {
			t.Errorf("the gateway received %+v, want a message about the two appointments that have not ended", got)
		}
	})
}
