package engine_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

const jo = record.Actor("user:jo")

// deskCancels and deskMoves are changes by the desk that can be undone.
func (c *testClinic) deskCancels(id string) store.Appointment {
	c.t.Helper()
	a, err := c.Booking.Cancel(context.Background(), booking.CancelRequest{ID: id, Actor: jo, Undoable: true})
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

func (c *testClinic) deskMoves(id string, to time.Time) store.Appointment {
	c.t.Helper()
	a, err := c.Booking.Reschedule(context.Background(), booking.RescheduleRequest{ID: id, SlotStart: to, Actor: jo, IgnoreHours: true, Undoable: true})
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

// same returns the part of an appointment that an undo restores.
func same(a store.Appointment) store.Appointment {
	a.Version, a.UpdatedAt = 0, time.Time{}
	return a
}

// TestUndoRestoresEverything: the appointment is as before, the link in the patient's email opens it, and no
// notification was sent.
func TestUndoRestoresEverything(t *testing.T) {
	for name, change := range map[string]func(c *testClinic, a *store.Appointment) store.Appointment{
		"a cancellation": func(c *testClinic, a *store.Appointment) store.Appointment { return c.deskCancels(a.ID) },
		"a move": func(c *testClinic, a *store.Appointment) store.Appointment {
			return c.deskMoves(a.ID, a.SlotStart.Add(time.Hour))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, folder := noticeClinic(t)
				r := bookingOf(1, "checkup")
				r.SlotStart = c.start
				a := c.mustBook(r)
				time.Sleep(time.Second)
				changed := change(c, &a)
				time.Sleep(9 * time.Second)
				back, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Version: changed.Version, Actor: jo})
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(same(back), same(a)) || back.Version != changed.Version+1 {
					t.Errorf("it is\n%+v\nand was\n%+v", back, a)
				}
				if _, err := c.Booking.Managed(t.Context(), c.Booking.ManageToken(&a)); err != nil {
					t.Errorf("the link in the patient's mail is dead: %v", err)
				}
				time.Sleep(time.Minute)
				for notice := range c.mails(folder, a.ID) {
					if notice != "confirmation" {
						t.Errorf("the patient got the mail %s about what was taken back", notice)
					}
				}
				if held, _ := c.Booking.Holds(t.Context()); len(held) != 0 {
					t.Errorf("%d holds are left behind", len(held))
				}
				if c.slot(2, "checkup", a.SlotStart, "ada") != nil || c.slot(2, "checkup", a.SlotStart.Add(time.Hour), "ada") == nil {
					t.Error("the old time is listed, or the other one is not")
				}
				if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: jo}); !errors.Is(err, booking.ErrUndoLate) {
					t.Errorf("an undo of the undo: %v", err)
				}
			})
		})
	}
}

// TestUndoRules: undo ends after its time, undoes only one's own change, and refuses if another change followed. The
// patient is notified then.
func TestUndoRules(t *testing.T) {
	for _, c := range []struct {
		name      string
		meanwhile func(c *testClinic, a *store.Appointment)
		by        record.Actor
		want      error
	}{
		{"too late", func(*testClinic, *store.Appointment) { time.Sleep(13 * time.Second) }, jo, booking.ErrUndoLate},
		{"somebody else", func(*testClinic, *store.Appointment) {}, "user:ann", booking.ErrUndoLate},
		{"a program", func(*testClinic, *store.Appointment) {}, "key:bootstrap", booking.ErrUndoLate},
		{"the time is booked", func(c *testClinic, a *store.Appointment) {
			r := bookingOf(2, "checkup")
			r.SlotStart = a.SlotStart
			c.mustBook(r)
		}, jo, store.ErrSlotTaken},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clinic, folder := noticeClinic(t)
				r := bookingOf(1, "checkup")
				r.SlotStart = clinic.start
				a := clinic.mustBook(r)
				time.Sleep(time.Second)
				gone := clinic.deskCancels(a.ID)
				c.meanwhile(clinic, &a)
				if _, err := clinic.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: c.by}); !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
				if now, _ := clinic.Booking.Appointment(t.Context(), a.ID); !reflect.DeepEqual(now, gone) {
					t.Errorf("a refused undo changed the appointment: %+v", now)
				}
				time.Sleep(15 * time.Second)
				if got := clinic.mails(folder, a.ID)["cancellation"]; !strings.Contains(got, "was cancelled") {
					t.Errorf("the patient was not told of what was not taken back: %q", got)
				}
			})
		})
	}
}

// TestUndoRefusesHeldTime: another client holds the time.
func TestUndoRefusesHeldTime(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	r := bookingOf(1, "checkup")
	r.SlotStart = c.start
	a := c.mustBook(r)
	c.deskCancels(a.ID)
	c.mustHold(2, "checkup", c.start, "ada")
	if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: jo}); err == nil || errors.Is(err, booking.ErrUndoLate) {
		t.Errorf("got %v, want that the time is held", err)
	}
	if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Version: 1, Actor: jo}); !errors.Is(err, store.ErrVersion) {
		t.Errorf("with another version: %v", err)
	}
}

// TestUndoRefusesChangeInSameInstant: a colleague changes the appointment in the same millisecond. The versions of the
// appointment order the two changes, not their instants.
func TestUndoRefusesChangeInSameInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := noticeClinic(t)
		r := bookingOf(1, "checkup")
		r.SlotStart = c.start
		a := c.mustBook(r)
		moved := c.deskMoves(a.ID, a.SlotStart.Add(time.Hour))
		c.annSays(a.ID)
		after, err := c.Booking.Appointment(t.Context(), a.ID)
		if err != nil || !after.UpdatedAt.Equal(moved.UpdatedAt) || after.Version != moved.Version+1 {
			t.Fatalf("%v: the changes at %s and %s are not of one instant", err, moved.UpdatedAt, after.UpdatedAt)
		}
		if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: jo}); !errors.Is(err, booking.ErrUndoLate) {
			t.Errorf("got %v, want ErrUndoLate", err)
		}
	})
}

// TestUndoStatesAreDeleted: the sweep deletes a state some minutes after its change, and an erasure deletes it at once.
func TestUndoStatesAreDeleted(t *testing.T) {
	for name, then := range map[string]func(c *testClinic){
		"by the sweep": func(*testClinic) { time.Sleep(12 * time.Minute) },
		"by an erasure": func(c *testClinic) {
			if _, err := c.Person.Erase(context.Background(), jo, store.Person{Email: "p1@example.org"}); err != nil {
				c.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := noticeClinic(t)
				r := bookingOf(1, "checkup")
				r.SlotStart = c.start
				a := c.mustBook(r)
				gone := c.deskCancels(a.ID)
				if _, err := c.store.UndoState(t.Context(), a.ID, gone.Version); err != nil {
					t.Fatalf("after the change: %v", err)
				}
				then(c)
				if _, err := c.store.UndoState(t.Context(), a.ID, gone.Version); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("got %v, want ErrNotFound", err)
				}
				if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: jo}); !errors.Is(err, booking.ErrUndoLate) {
					t.Errorf("an undo: %v, want ErrUndoLate", err)
				}
			})
		})
	}
}

// TestUndoNeedsItsOwnRow: a change without a stored state, such as one that an earlier version made, is too late to
// undo, although the audit log has the state before it.
func TestUndoNeedsItsOwnRow(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	r := bookingOf(1, "checkup")
	r.SlotStart = c.start
	a := c.mustBook(r)
	if _, err := c.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID, Actor: jo, Silent: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: jo}); !errors.Is(err, booking.ErrUndoLate) {
		t.Errorf("got %v, want ErrUndoLate", err)
	}
}

// TestUndoOverbooksAgain: an appointment outside the guarantee is moved to a free time. After the undo it is outside
// the guarantee again, with its reason.
func TestUndoOverbooksAgain(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	r := bookingOf(1, "checkup")
	r.SlotStart = c.start
	c.mustBook(r)
	r = bookingOf(2, "checkup")
	r.SlotStart, r.SpecialistID, r.Source, r.Actor, r.OverbookReason = c.start, "ada", store.SourceStaff, jo, "in pain"
	over := c.mustBook(r)
	if moved := c.deskMoves(over.ID, c.start.Add(time.Hour)); moved.Overbook {
		t.Fatal("it is still overbooked")
	}
	back, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: over.ID, Actor: jo})
	if err != nil || !reflect.DeepEqual(same(back), same(over)) {
		t.Errorf("%v; it is\n%+v\nand was\n%+v", err, back, over)
	}
}

// TestUndoWithdrawsUpstreamWrite: an undo withdraws the upstream write. A change that is not undone is written
// shortly afterwards.
func TestUndoWithdrawsUpstreamWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPractice(t, practiceOptions{upstream: &upstreamtest.Options{}})
		a, err := p.Booking.Book(t.Context(), booking.Request{
			AppointmentTypeID: "cleaning", SlotStart: p.slotAt(48 * 3), SpecialistID: "chair0", Source: store.SourceStaff, Actor: jo,
			Patient: store.Patient{Name: "Lena Vogt", Phone: "030 1234567"},
		})
		if err != nil {
			t.Fatal(err)
		}
		written := func() bool {
			now, err := p.Booking.Appointment(t.Context(), a.ID)
			return err == nil && now.UpstreamState == store.UpstreamConfirmed
		}
		p.until(time.Minute, "it is upstream", written)
		before := len(p.upstream.Calls())
		for range 2 {
			if _, err := p.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID, Actor: jo, Undoable: true}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			if _, err := p.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: jo}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if after := p.upstream.Calls(); len(after) != before || !written() {
			t.Errorf("the practice system heard %d calls: %v", len(after)-before, after[before:])
		}
		// A change that is not undone is delivered after the undo period.
		if _, err := p.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID, Actor: jo, Undoable: true}); err != nil {
			t.Fatal(err)
		}
		p.until(time.Minute, "settled", p.settled)
		if !slices.ContainsFunc(p.upstream.Appointments(), func(x upstreamtest.Appointment) bool { return x.Cancelled }) {
			t.Errorf("upstream are %+v, want it cancelled", p.upstream.Appointments())
		}
	})
}

// TestDeskCorrectsType: the appointment changes its type without moving if the new type fits.
func TestDeskCorrectsType(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	r := bookingOf(1, "checkup")
	r.SlotStart = c.start
	a := c.mustBook(r)
	next := bookingOf(2, "checkup")
	next.SlotStart = c.start.Add(2 * time.Hour)
	other := c.mustBook(next)
	become := func(id, kind string, start time.Time) (store.Appointment, error) {
		return c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: id, SlotStart: start, SpecialistID: "ada", AppointmentTypeID: kind, Actor: jo, Undoable: true})
	}
	b, err := become(a.ID, "surgery", a.SlotStart)
	if err != nil || b.AppointmentTypeID != "surgery" || !b.SlotEnd.After(a.SlotEnd) || !b.SlotStart.Equal(a.SlotStart) {
		t.Fatalf("%v: it is %+v", err, b)
	}
	if c.slot(3, "checkup", a.SlotEnd, "ada") != nil {
		t.Error("the time that the longer type takes is listed as free")
	}
	back, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: jo})
	if err != nil || !reflect.DeepEqual(same(back), same(a)) {
		t.Errorf("undone: %v, %+v", err, back)
	}
	if _, err := become(other.ID, "nothing", other.SlotStart); err == nil {
		t.Error("it became a type that there is not")
	}
}

// TestDeskShowsArrivalTime: the appointment has the time of arrival from the arrival until the attendance becomes
// no_show.
func TestDeskShowsArrivalTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClinic(t, map[string]int{"ada": 1})
		r := bookingOf(1, "checkup")
		r.SlotStart = c.start
		a := c.mustBook(r)
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
			got, err := c.Booking.SetAttendance(t.Context(), a.ID, 0, step.to, jo, nil)
			if want := step.want(); err != nil || !got.ArrivedAt.Equal(want) {
				t.Errorf("%s: arrived at %s, %v; want %s", step.to, got.ArrivedAt, err, want)
			}
		}
	})
}
