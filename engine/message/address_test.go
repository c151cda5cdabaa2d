package message_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/store"
)

// TestAddressChangeNotifiesOldAddress: if the desk corrects an email address, both addresses get an email. The old one
// gets it even if notifications are off. Links that were sent to the old address stop working, and the server deletes
// the old address after the email to it has been sent.
func TestAddressChangeNotifiesOldAddress(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, to string
		silent   bool
		told     []string // addresses that get an email, in alphabetical order
	}{
		{"corrected", "new@example.org", false, []string{"new@example.org", "patient1@example.org"}},
		{"in silence", "new@example.org", true, []string{"patient1@example.org"}},
		{"taken away", "", false, []string{"patient1@example.org"}},
		{"spelled otherwise", " PATIENT1@example.org", false, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, folder := enginetest.NoticeClinic(t)
				ctx := context.Background()
				r := enginetest.BookingOf(1, "checkup")
				r.SlotStart, r.Patient.Email = c.Start, "patient1@example.org"
				a := c.MustBook(r)
				link := c.Booking.ManageToken(&a)
				time.Sleep(time.Second)
				changed, err := c.Booking.ChangePatient(ctx, booking.PatientRequest{
					ID: a.ID, Actor: "user:desk", Silent: x.silent, Edit: func(p *store.Patient) { p.Email = x.to },
				})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				var told []string
				for notice, raw := range c.Messages(folder, a.ID) {
					header, list := enginetest.Parts(t, raw)
					if notice == "confirmation" {
						continue
					}
					to, err := header.AddressList("To")
					if err != nil {
						t.Fatal(err)
					}
					told = append(told, to[0].Address)
					if old := to[0].Address == r.Patient.Email; old == strings.Contains(list[0].Text, "/manage#") ||
						old && strings.Contains(raw, "new@example.org") {
						t.Errorf("%s: the email to %s is\n%s", notice, to[0].Address, list[0].Text)
					}
				}
				slices.Sort(told)
				if !slices.Equal(told, x.told) {
					t.Errorf("notified addresses are %v, want %v", told, x.told)
				}
				if dead := c.Booking.ManageToken(&changed) != link; dead != (x.told != nil) {
					t.Errorf("earlier manage links fail: %t, want %t", dead, x.told != nil)
				}
				s, err := c.Outbound.Queue.Operations(ctx, store.OperationFilter{AppointmentID: a.ID})
				for _, op := range s {
					if err != nil || strings.Contains(string(op.Payload), "@") {
						t.Errorf("%v: the queue contains the address: %s", err, op.Payload)
					}
				}
			})
		})
	}
}

// TestErasePersonBlanksOldAddress: erasing a person also deletes the old address while the email to it waits for
// delivery.
func TestErasePersonBlanksOldAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		c, _ := enginetest.NoticeClinic(t, enginetest.MailBy(t, enginetest.NoAddress(t), &log))
		ctx := context.Background()
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart, r.Patient.Email = c.Start, "patient1@example.org"
		a := c.MustBook(r)
		if _, err := c.Booking.ChangePatient(ctx, booking.PatientRequest{ID: a.ID,
			Actor: "user:desk", Edit: func(p *store.Patient) { p.Email = "new@example.org" }}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		waits := func() (addresses int) {
			list, err := c.Outbound.Queue.Operations(ctx, store.OperationFilter{AppointmentID: a.ID})
			if err != nil {
				t.Fatal(err)
			}
			for _, op := range list {
				addresses += strings.Count(string(op.Payload), "patient1@example.org")
			}
			return addresses
		}
		if waits() != 1 {
			t.Fatal("the email to the old address was sent at once")
		}
		if _, err := c.Person.Erase(ctx, "user:jo", store.Person{Email: "new@example.org"}); err != nil {
			t.Fatal(err)
		}
		if n := waits(); n != 0 {
			t.Errorf("the queue has the old address in %d operations after the erasure", n)
		}
	})
}
