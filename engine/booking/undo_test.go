package booking_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// TestUndoRestoresEverything: the appointment is the same as before the change, the link in the patient's email opens
// it, and no notification has been sent.
func TestUndoRestoresEverything(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(c *enginetest.TestClinic, a *store.Appointment) store.Appointment{
		"a cancellation": func(c *enginetest.TestClinic, a *store.Appointment) store.Appointment {
			return c.DeskCancels(a.ID)
		},
		"a move": func(c *enginetest.TestClinic, a *store.Appointment) store.Appointment {
			return c.DeskMoves(a.ID, a.SlotStart.Add(time.Hour))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, folder := enginetest.NoticeClinic(t)
				r := enginetest.BookingOf(1, "checkup")
				r.SlotStart = c.Start
				a := c.MustBook(r)
				time.Sleep(time.Second)
				changed := change(c, &a)
				time.Sleep(9 * time.Second)
				back, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID,
					Version: changed.Version, Actor: enginetest.Jo})
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(enginetest.Same(back), enginetest.Same(a)) || back.Version != changed.Version+1 {
					t.Errorf("the appointment is\n%+v\nand was\n%+v", back, a)
				}
				if _, err := c.Booking.Managed(t.Context(), c.Booking.ManageToken(&a)); err != nil {
					t.Errorf("the link in the patient's email fails: %v", err)
				}
				time.Sleep(time.Minute)
				for notice := range c.Mails(folder, a.ID) {
					if notice != "confirmation" {
						t.Errorf("the patient got the email %s about an undone change", notice)
					}
				}
				deliveries, err := c.Record.Deliveries(t.Context(), a.ID)
				if err != nil || slices.ContainsFunc(deliveries, func(d store.Delivery) bool {
					return d.State == booking.DeliveryQueued
				}) {
					t.Errorf("the deliveries are %+v, %v; want none still queued", deliveries, err)
				}
				if held, _ := c.Booking.Holds(t.Context()); len(held) != 0 {
					t.Errorf("%d holds remain", len(held))
				}
				if c.Slot(2, "checkup", a.SlotStart, "ada") != nil ||
					c.Slot(2, "checkup", a.SlotStart.Add(time.Hour), "ada") == nil {
					t.Error("the old time is listed, or the new one is not")
				}
				if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID,
					Actor: enginetest.Jo}); !errors.Is(err, booking.ErrUndoLate) {
					t.Errorf("second undo: %v", err)
				}
			})
		})
	}
}

// TestUndoableMoveKeepsReminderTime: the email about a move waits until the move can no longer be undone. The reminder
// of the new time is sent when it is due, not together with that email.
func TestUndoableMoveKeepsReminderTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		if _, err := c.Clinic.UpdateSettings(t.Context(), enginetest.Jo,
			func(s *clinic.Settings) { s.ReminderHours = 24 }); err != nil {
			t.Fatal(err)
		}
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.DeskMoves(c.MustBook(r).ID, c.Start.Add(time.Hour))
		time.Sleep(time.Minute)
		mails := c.Mails(folder, a.ID)
		if mails["reschedule"] == "" || mails["reminder"] != "" {
			t.Errorf("one minute after the move, the emails are %v; want one about the move and no reminder",
				slices.Sorted(maps.Keys(mails)))
		}
		time.Sleep(time.Until(a.SlotStart.Add(-24*time.Hour + time.Minute)))
		if c.Mails(folder, a.ID)["reminder"] == "" {
			t.Error("the patient got no reminder of the new time")
		}
	})
}

// TestUndoRules: an undo works only for a limited time, only for the actor's own change, and only if the old time is
// still free. If the undo is refused, the patient is notified of the change.
func TestUndoRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		meanwhile func(c *enginetest.TestClinic, a *store.Appointment)
		by        record.Actor
		want      error
	}{
		{"too late", func(*enginetest.TestClinic, *store.Appointment) {
			time.Sleep(13 * time.Second)
		}, enginetest.Jo, booking.ErrUndoLate},
		{"another user", func(*enginetest.TestClinic, *store.Appointment) {}, "user:ann", booking.ErrUndoLate},
		{"a program", func(*enginetest.TestClinic, *store.Appointment) {}, "key:bootstrap", booking.ErrUndoLate},
		{"the time is booked", func(c *enginetest.TestClinic, a *store.Appointment) {
			r := enginetest.BookingOf(2, "checkup")
			r.SlotStart = a.SlotStart
			c.MustBook(r)
		}, enginetest.Jo, store.ErrSlotTaken},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clinic, folder := enginetest.NoticeClinic(t)
				r := enginetest.BookingOf(1, "checkup")
				r.SlotStart = clinic.Start
				a := clinic.MustBook(r)
				time.Sleep(time.Second)
				gone := clinic.DeskCancels(a.ID)
				c.meanwhile(clinic, &a)
				if _, err := clinic.Booking.Undo(t.Context(),
					booking.UndoRequest{ID: a.ID, Actor: c.by}); !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
				if now, _ := clinic.Booking.Appointment(t.Context(), a.ID); !reflect.DeepEqual(now, gone) {
					t.Errorf("a refused undo changed the appointment: %+v", now)
				}
				time.Sleep(15 * time.Second)
				if got := clinic.Mails(folder, a.ID)["cancellation"]; !strings.Contains(got, "was cancelled") {
					t.Errorf("the patient got no email about the change that was not undone: %q", got)
				}
			})
		})
	}
}

// TestUndoRefusesHeldTime: an undo fails because another client holds the time.
func TestUndoRefusesHeldTime(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = c.Start
	a := c.MustBook(r)
	c.DeskCancels(a.ID)
	c.MustHold(2, "checkup", c.Start, "ada")
	if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: enginetest.Jo}); err == nil ||
		errors.Is(err, booking.ErrUndoLate) {
		t.Errorf("got %v, want a HeldError", err)
	}
	if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID,
		Version: 1, Actor: enginetest.Jo}); !errors.Is(err, store.ErrVersion) {
		t.Errorf("with another version: %v", err)
	}
}

// TestRefusedUndoLeavesNoHold: something happens after an undo has claimed the old time and before it writes.
func TestRefusedUndoLeavesNoHold(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		happens func(c *enginetest.TestClinic, a *store.Appointment)
		want    error
	}{
		"another program books the time": {func(c *enginetest.TestClinic, a *store.Appointment) {
			bookElsewhere(c, a, "ada", a.SlotStart)
		}, store.ErrSlotTaken},
		"a colleague changes the appointment": {func(c *enginetest.TestClinic, a *store.Appointment) {
			c.AnnSays(a.ID)
		}, store.ErrVersion},
	} {
		t.Run(name, func(t *testing.T) {
			c := enginetest.NewClinic(t, map[string]int{"ada": 1})
			r := enginetest.BookingOf(1, "checkup")
			r.SlotStart = c.Start
			a := c.MustBook(r)
			gone := c.DeskCancels(a.ID)
			other := c.Beside(func() { x.happens(c, &a) })
			t.Cleanup(other.Booking.CloseCache)
			back, err := other.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Version: gone.Version,
				Actor: enginetest.Jo})
			if !errors.Is(err, x.want) {
				t.Errorf("got status %q, %v; want %v", back.Status, err, x.want)
			}
			if now, err := c.Booking.Appointment(t.Context(), a.ID); err != nil || now.Status != store.Cancelled {
				t.Errorf("the appointment is %s, %v; want cancelled", now.Status, err)
			}
			c.WantNoHolds()
		})
	}
}

// TestUndoRefusesChangeInSameInstant: a colleague changes the appointment in the same millisecond. The order of the two
// changes follows from the appointment's versions, not from their timestamps.
func TestUndoRefusesChangeInSameInstant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.MustBook(r)
		moved := c.DeskMoves(a.ID, a.SlotStart.Add(time.Hour))
		c.AnnSays(a.ID)
		after, err := c.Booking.Appointment(t.Context(), a.ID)
		if err != nil || !after.UpdatedAt.Equal(moved.UpdatedAt) || after.Version != moved.Version+1 {
			t.Fatalf("%v: the changes at %s and %s have different times", err, moved.UpdatedAt, after.UpdatedAt)
		}
		if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: enginetest.Jo}); !errors.Is(err,
			booking.ErrUndoLate) {
			t.Errorf("got %v, want ErrUndoLate", err)
		}
	})
}

// TestUndoStatesAreDeleted: the sweep deletes an undo state a few minutes after its change, and an erasure deletes it
// immediately.
func TestUndoStatesAreDeleted(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(c *enginetest.TestClinic){
		"by the sweep": func(*enginetest.TestClinic) { time.Sleep(12 * time.Minute) },
		"by an erasure": func(c *enginetest.TestClinic) {
			if _, err := c.Person.Erase(context.Background(), enginetest.Jo,
				store.Person{Email: "p1@example.org"}); err != nil {
				c.T.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := enginetest.NoticeClinic(t)
				r := enginetest.BookingOf(1, "checkup")
				r.SlotStart = c.Start
				a := c.MustBook(r)
				gone := c.DeskCancels(a.ID)
				if _, err := c.Store.UndoState(t.Context(), a.ID, gone.Version); err != nil {
					t.Fatalf("after the change: %v", err)
				}
				then(c)
				if _, err := c.Store.UndoState(t.Context(), a.ID, gone.Version); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("got %v, want ErrNotFound", err)
				}
				if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID,
					Actor: enginetest.Jo}); !errors.Is(err, booking.ErrUndoLate) {
					t.Errorf("an undo: %v, want ErrUndoLate", err)
				}
			})
		})
	}
}

// TestUndoNeedsItsOwnRow: a change without a stored state, such as one that an earlier version made, is too late to
// undo, even though the audit log has the earlier state.
func TestUndoNeedsItsOwnRow(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = c.Start
	a := c.MustBook(r)
	if _, err := c.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID,
		Actor: enginetest.Jo, Silent: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: enginetest.Jo}); !errors.Is(err,
		booking.ErrUndoLate) {
		t.Errorf("got %v, want ErrUndoLate", err)
	}
}

// TestUndoOverbooksAgain: an appointment outside the guarantee is moved to a free time. After the undo, it is outside
// the guarantee again and has its original reason.
func TestUndoOverbooksAgain(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = c.Start
	c.MustBook(r)
	r = enginetest.BookingOf(2, "checkup")
	r.SlotStart, r.SpecialistID, r.Source, r.Actor, r.OverbookReason = c.Start, "ada", store.SourceStaff, enginetest.Jo,
		"in pain"
	over := c.MustBook(r)
	if moved := c.DeskMoves(over.ID, c.Start.Add(time.Hour)); moved.Overbook {
		t.Fatal("the appointment is still overbooked")
	}
	back, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: over.ID, Actor: enginetest.Jo})
	if err != nil || !reflect.DeepEqual(enginetest.Same(back), enginetest.Same(over)) {
		t.Errorf("%v; the appointment is\n%+v\nand was\n%+v", err, back, over)
	}
}

// bookCleaning books a cleaning for the desk, with the upstream.
func bookCleaning(p *enginetest.TestPractice) store.Appointment {
	p.T.Helper()
	a, err := p.Booking.Book(p.T.Context(), booking.Request{
		AppointmentTypeID: "cleaning", SlotStart: p.SlotAt(48 * 3), SpecialistID: "chair0",
		Source: store.SourceStaff, Actor: enginetest.Jo,
		Patient: store.Patient{Name: "Lena Vogt", Phone: "030 1234567"},
	})
	if err != nil {
		p.T.Fatal(err)
	}
	return a
}

// TestUndoWithdrawsUpstreamWrite: an undo withdraws the upstream write. A change that is not undone is written shortly
// after the undo period.
func TestUndoWithdrawsUpstreamWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		a := bookCleaning(p)
		written := func() bool {
			now, err := p.Booking.Appointment(t.Context(), a.ID)
			return err == nil && now.UpstreamState == store.UpstreamConfirmed
		}
		p.Until(time.Minute, "it is upstream", written)
		time.Sleep(time.Second) // operations of one millisecond belong to one change
		before := len(p.Upstream.Calls())
		for range 2 {
			if _, err := p.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID,
				Actor: enginetest.Jo, Undoable: true}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			if _, err := p.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: enginetest.Jo}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if after := p.Upstream.Calls(); len(after) != before || !written() {
			t.Errorf("the practice system received %d calls: %v", len(after)-before, after[before:])
		}
		// A change that is not undone is delivered after the undo period.
		if _, err := p.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID,
			Actor: enginetest.Jo, Undoable: true}); err != nil {
			t.Fatal(err)
		}
		p.Until(time.Minute, "settled", p.Settled)
		if !slices.ContainsFunc(p.Upstream.Appointments(), func(x upstreamtest.Appointment) bool {
			return x.Cancelled
		}) {
			t.Errorf("practice system: %+v, want it cancelled", p.Upstream.Appointments())
		}
	})
}

// TestUndoOfUnsentBooking: an undo of a cancellation succeeds while the booking still waits for the practice-management
// system. It is refused if the server has given up the booking because of the cancellation.
func TestUndoOfUnsentBooking(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		cancelAfter time.Duration // the server tries again 20 s after the booking
		want        error
		upstream    int // appointments that the system has in the end
	}{
		"the booking waits":    {time.Second, nil, 1},
		"the booking is ended": {17 * time.Second, booking.ErrUndoLate, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var busy atomic.Bool
				busy.Store(true)
				p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{
					Decide: func(upstreamtest.Call) upstreamtest.Step {
						if busy.Load() {
							return upstreamtest.Step{Outcome: upstreamtest.RateLimited}
						}
						return upstreamtest.Step{Outcome: upstreamtest.OK}
					},
				}})
				a := bookCleaning(p)
				time.Sleep(row.cancelAfter)
				if _, err := p.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID,
					Actor: enginetest.Jo, Undoable: true}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				_, err := p.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: enginetest.Jo})
				if !errors.Is(err, row.want) {
					t.Errorf("undone: %v, want %v", err, row.want)
				}
				busy.Store(false)
				p.Until(time.Hour, "settled", p.Settled)
				if got := p.Upstream.Appointments(); len(got) != row.upstream {
					t.Errorf("the practice system has %+v, want %d", got, row.upstream)
				}
			})
		})
	}
}

// TestDeskCorrectsType: the desk can change an appointment's type without moving it if the new type fits.
func TestDeskCorrectsType(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = c.Start
	a := c.MustBook(r)
	next := enginetest.BookingOf(2, "checkup")
	next.SlotStart = c.Start.Add(2 * time.Hour)
	other := c.MustBook(next)
	become := func(id, kind string, start time.Time) (store.Appointment, error) {
		return c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: id,
			SlotStart: start, SpecialistID: "ada", AppointmentTypeID: kind, Actor: enginetest.Jo, Undoable: true})
	}
	b, err := become(a.ID, "surgery", a.SlotStart)
	if err != nil || b.AppointmentTypeID != "surgery" || !b.SlotEnd.After(a.SlotEnd) ||
		!b.SlotStart.Equal(a.SlotStart) {
		t.Fatalf("%v: it is %+v", err, b)
	}
	if c.Slot(3, "checkup", a.SlotEnd, "ada") != nil {
		t.Error("the time that only the longer type covers is listed as free")
	}
	back, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: enginetest.Jo})
	if err != nil || !reflect.DeepEqual(enginetest.Same(back), enginetest.Same(a)) {
		t.Errorf("undone: %v, %+v", err, back)
	}
	if _, err := become(other.ID, "nothing", other.SlotStart); err == nil {
		t.Error("the appointment changed to an unknown type")
	}
}

// TestDeskShowsArrivalTime: the appointment shows the arrival time until its attendance becomes no_show.
func TestDeskShowsArrivalTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.MustBook(r)
		var came time.Time
		for _, step := range []struct {
			to   store.Attendance
			want func() time.Time
		}{
			{store.Arrived, func() time.Time { came = time.Now().UTC(); return came }},
			{store.Arrived, func() time.Time { return came }},
			{store.InProgress, func() time.Time { return came }},
			{store.Completed, func() time.Time { return came }},
			{store.NoShow, func() time.Time { return time.Time{} }},
			{store.Arrived, func() time.Time { return time.Now().UTC() }},
			{store.Expected, func() time.Time { return time.Time{} }},
		} {
			time.Sleep(time.Minute)
			got, err := c.Booking.SetAttendance(t.Context(), a.ID, 0, step.to, enginetest.Jo, nil)
			if want := step.want(); err != nil || !got.ArrivedAt.Equal(want) {
				t.Errorf("%s: arrived at %s, %v; want %s", step.to, got.ArrivedAt, err, want)
			}
		}
	})
}

// TestUndoRestoresLength: an appointment is booked, and then its type gets another length. After an undo, the
// appointment has its own length again.
func TestUndoRestoresLength(t *testing.T) {
	t.Parallel()
	for _, minutes := range []int{20, 45} {
		for name, change := range map[string]func(c *enginetest.TestClinic, a *store.Appointment){
			"a cancellation": func(c *enginetest.TestClinic, a *store.Appointment) { c.DeskCancels(a.ID) },
			"a move":         func(c *enginetest.TestClinic, a *store.Appointment) { c.DeskMoves(a.ID, a.SlotStart.Add(3*time.Hour)) },
		} {
			t.Run(fmt.Sprintf("%s, %d minutes", name, minutes), func(t *testing.T) {
				t.Parallel()
				c := enginetest.NewClinic(t, map[string]int{"ada": 1})
				r := enginetest.BookingOf(1, "checkup")
				r.SlotStart = c.Start
				a := c.MustBook(r)
				next := enginetest.BookingOf(2, "checkup")
				next.SlotStart = a.SlotEnd
				c.MustBook(next)
				if _, err := c.Clinic.UpdateAppointmentType(t.Context(), enginetest.Jo, "checkup",
					func(x *store.AppointmentType) { x.DurationMinutes = minutes }); err != nil {
					t.Fatal(err)
				}
				change(c, &a)
				back, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: enginetest.Jo})
				if err != nil {
					t.Fatalf("undo: %v", err)
				}
				if !back.SlotStart.Equal(a.SlotStart) || !back.SlotEnd.Equal(a.SlotEnd) {
					t.Errorf("the appointment is from %v to %v, and was from %v to %v", back.SlotStart, back.SlotEnd,
						a.SlotStart, a.SlotEnd)
				}
				c.WantNoHolds()
			})
		}
	}
}
