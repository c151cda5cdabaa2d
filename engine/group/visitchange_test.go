package group_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/group"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// TestVisitOfArchivedTypeStays: a visit cannot be moved after one of its types was archived. The error is that of a
// single appointment, not that the visit is unknown.
func TestVisitOfArchivedTypeStays(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	list := c.MustVisit(enginetest.Family(c.Start, "checkup", "surgery"))
	if err := c.Clinic.ArchiveAppointmentType(t.Context(), enginetest.Jo, "surgery"); err != nil {
		t.Fatal(err)
	}
	which := group.Which{ID: list[0].ID, Actor: enginetest.Jo}
	_, err := c.Group.Visit.Move(t.Context(), group.VisitMove{Which: which, SlotStart: c.Start.Add(5 * time.Hour)})
	var reason *availability.NotBookableError
	if !errors.As(err, &reason) || reason.Reason != availability.ReasonInactive {
		t.Errorf("moved: got %v, want the reason %s", err, availability.ReasonInactive)
	}
	_, err = c.Group.Visit.Hold(t.Context(), group.HoldRequest{AppointmentTypeIDs: []string{"checkup"},
		SlotStart: c.Start.Add(5 * time.Hour), Client: enginetest.Client(1), Moving: &list[0]})
	if reason = nil; !errors.As(err, &reason) || reason.Reason != availability.ReasonInactive {
		t.Errorf("held: got %v, want the reason %s", err, availability.ReasonInactive)
	}
	if there := c.Confirmed(); len(there) != 2 || !there[0].SlotStart.Equal(list[0].SlotStart) {
		t.Errorf("the appointments are %+v", there)
	}
}

func TestVisitMovesAsOne(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1, "ben": 2})
	r := enginetest.Family(c.Start, "checkup", "surgery", "checkup")
	r.SpecialistID = "ada"
	list := c.MustVisit(r)
	id := list[0].VisitID
	move := func(minutes int, who string) ([]store.Appointment, error) {
		return c.Group.Visit.Move(t.Context(), group.VisitMove{Which: group.Which{ID: list[1].ID, Actor: enginetest.Jo},
			SlotStart: c.Start.Add(time.Duration(minutes) * time.Minute), SpecialistID: who})
	}
	for _, test := range []struct {
		minutes int
		who     string
		want    []int
	}{{15, "", []int{15, 60, 150}}, {-45, "", []int{-45, 0, 90}}, {-45, "ben", []int{-45, 0, 90}},
		{0, "", []int{0, 45, 135}}} {
		moved, err := move(test.minutes, test.who)
		if err != nil {
			t.Fatalf("to %d with %q: %v", test.minutes, test.who, err)
		}
		wantAt(c, "moved", moved, test.want...)
	}
	if there := c.Confirmed(); there[0].SpecialistID != "ben" || there[2].VisitID != id ||
		there[0].Patient.Name != "Lena Vogt" {
		t.Errorf("the moved appointments are %+v", there)
	}
	stay, err := move(0, "ben")
	if err != nil || stay[0].Version != c.Confirmed()[0].Version || stay[0].ManageEpoch != 4 {
		t.Errorf("to their current time: %v, %+v", err, stay)
	}
	// One of the appointments would not fit, so no appointment is moved.
	other := enginetest.BookingOf(1, "checkup")
	other.SlotStart, other.SpecialistID = c.Start.Add(5*time.Hour), "ben"
	c.MustBook(other)
	if _, err := move(180, "ben"); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("to a taken time: %v", err)
	}
	if _, err := c.Group.Visit.Move(t.Context(),
		group.VisitMove{Which: group.Which{ID: list[1].ID, Version: 1, Actor: enginetest.Jo},
			SlotStart: c.Start}); !errors.Is(err, store.ErrVersion) {
		t.Errorf("with an old version: %v", err)
	}
	wantAt(c, "after all", c.Confirmed(), 0, 45, 135, 300)
	c.WantNoHolds()
}

// TestVisitMemberChangesAlone: an appointment that is moved alone leaves the visit. If one is cancelled alone,
// the others do not change.
func TestVisitMemberChangesAlone(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	list := c.MustVisit(enginetest.Family(c.Start, "checkup", "checkup", "checkup", "checkup"))
	c.DeskCancels(list[1].ID)
	alone := c.DeskMoves(list[3].ID, c.Start.Add(4*time.Hour))
	if alone.VisitID != "" {
		t.Error("the appointment that moved alone is still part of the visit")
	}
	if back, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: alone.ID, Actor: enginetest.Jo}); err != nil ||
		back.VisitID != list[0].VisitID {
		t.Errorf("undone: of %q, %v", back.VisitID, err)
	}
	c.DeskMoves(list[3].ID, c.Start.Add(4*time.Hour))
	moved, err := c.Group.Visit.Move(t.Context(),
		group.VisitMove{Which: group.Which{ID: list[0].ID, Actor: enginetest.Jo}, SlotStart: c.Start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	wantAt(c, "the two that are left, one after the other", moved, 60, 90)
	for what, err := range map[string]error{
		"cancels": func() error {
			_, err := c.Booking.Cancel(t.Context(), booking.CancelRequest{ID: list[0].ID,
				Actor: "client", CutOff: true})
			return err
		}(),
		"moves": func() error {
			_, err := c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: list[0].ID,
				SlotStart: c.Start, Actor: "client", CutOff: true})
			return err
		}(),
	} {
		if !errors.Is(err, record.ErrVisit) {
			t.Errorf("a patient's %s of one appointment: %v", what, err)
		}
	}
	if _, err := c.Group.Visit.Of(t.Context(), alone.ID); !errors.Is(err, group.ErrNoVisit) {
		t.Errorf("visit of a single appointment: %v", err)
	}
}

// TestVisitUndoRestoresAll: after a cancellation or a move by the desk, an undo restores the whole visit, and no email
// about the change has been sent.
func TestVisitUndoRestoresAll(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(c *enginetest.TestClinic, id string) ([]store.Appointment, error){
		"cancelled": func(c *enginetest.TestClinic, id string) ([]store.Appointment, error) {
			return c.Group.Visit.Cancel(c.T.Context(),
				group.Cancel{Which: group.Which{ID: id, Actor: enginetest.Jo, Undoable: true}})
		},
		"moved": func(c *enginetest.TestClinic, id string) ([]store.Appointment, error) {
			return c.Group.Visit.Move(c.T.Context(),
				group.VisitMove{Which: group.Which{ID: id, Actor: enginetest.Jo, Undoable: true},
					SlotStart: c.Start.Add(15 * time.Minute)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, folder := enginetest.NoticeClinic(t)
				list := c.MustVisit(enginetest.Family(c.Start, "checkup", "surgery", "checkup"))
				time.Sleep(time.Second)
				changed, err := change(c, list[1].ID)
				if err != nil || len(changed) != 3 {
					t.Fatalf("%d of them, %v", len(changed), err)
				}
				time.Sleep(5 * time.Second)
				if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: list[2].ID,
					Actor: enginetest.Jo}); !errors.Is(err, booking.ErrUndoLate) {
					t.Errorf("undo of one appointment: %v", err)
				}
				if _, err := c.Group.Visit.Undo(t.Context(),
					booking.UndoRequest{ID: list[2].ID, Actor: enginetest.Jo}); err != nil {
					t.Fatal(err)
				}
				wantAt(c, "again", c.Confirmed(), 0, 45, 135)
				for _, a := range list {
					if back, err := c.Booking.Managed(t.Context(), c.Booking.ManageToken(&a)); err != nil ||
						back.VisitID != a.VisitID || back.Status != store.Confirmed {
						t.Errorf("%s is %+v, %v", a.Patient.Name, back, err)
					}
				}
				time.Sleep(time.Minute)
				for _, a := range list {
					for notice := range c.Mails(folder, a.ID) {
						if notice != "series_confirmation" {
							t.Errorf("%s got the email %s about an undone change", a.Patient.Name, notice)
						}
					}
				}
				c.WantNoHolds()
				if _, err := c.Group.Visit.Undo(t.Context(),
					booking.UndoRequest{ID: list[2].ID, Actor: enginetest.Jo}); !errors.Is(err, booking.ErrUndoLate) {
					t.Errorf("second undo: %v", err)
				}
			})
		})
	}
}

// TestVisitUndoLeavesGap: one person was cancelled alone, and another patient booked that time. An undo of a later
// cancellation or move of the others restores their times next to it. If one of their own times has been booked, it
// restores none.
func TestVisitUndoLeavesGap(t *testing.T) {
	t.Parallel()
	by := func(id string) group.Which { return group.Which{ID: id, Actor: enginetest.Jo, Undoable: true} }
	for name, change := range map[string]func(c *enginetest.TestClinic, id string) ([]store.Appointment, error){
		"cancelled": func(c *enginetest.TestClinic, id string) ([]store.Appointment, error) {
			return c.Group.Visit.Cancel(c.T.Context(), group.Cancel{Which: by(id)})
		},
		"moved": func(c *enginetest.TestClinic, id string) ([]store.Appointment, error) {
			return c.Group.Visit.Move(c.T.Context(),
				group.VisitMove{Which: by(id), SlotStart: c.Start.Add(3 * time.Hour)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := enginetest.NewClinic(t, map[string]int{"ada": 1})
			list := c.MustVisit(enginetest.Family(c.Start, "checkup", "checkup", "checkup"))
			bookAt := func(client int, a store.Appointment) {
				r := enginetest.BookingOf(client, "checkup")
				r.SlotStart = a.SlotStart
				c.MustBook(r)
			}
			c.DeskCancels(list[1].ID)
			bookAt(1, list[1])
			if _, err := change(c, list[0].ID); err != nil {
				t.Fatal(err)
			}
			undo := booking.UndoRequest{ID: list[2].ID, Actor: enginetest.Jo}
			if back, err := c.Group.Visit.Undo(t.Context(), undo); err != nil || back.ID != list[2].ID {
				t.Fatalf("undone: %s, %v", back.ID, err)
			}
			wantAt(c, "undone", c.Confirmed(), 0, 30, 60)
			if _, err := change(c, list[0].ID); err != nil {
				t.Fatal(err)
			}
			h, err := c.Booking.Hold(t.Context(), booking.HoldRequest{AppointmentTypeID: "checkup",
				SlotStart: list[2].SlotStart, Client: enginetest.Client(2)})
			if err != nil {
				t.Fatal(err)
			}
			var held *holds.HeldError
			if _, err := c.Group.Visit.Undo(t.Context(), undo); !errors.As(err, &held) ||
				!held.Until.Equal(h.ExpiresAt) {
				t.Errorf("with a time that is held until %v: %v", h.ExpiresAt, err)
			}
			bookAt(2, list[2])
			before := at(c, c.Confirmed())
			if _, err := c.Group.Visit.Undo(t.Context(), undo); !errors.Is(err, store.ErrSlotTaken) {
				t.Errorf("with a time that was booked: %v, want ErrSlotTaken", err)
			}
			if after := at(c, c.Confirmed()); !slices.Equal(before, after) {
				t.Errorf("the appointments are at %v and were at %v", after, before)
			}
			c.WantNoHolds()
		})
	}
}

// TestVisitUndoRefusesPart: if any appointment in a visit has changed since, none of them can be undone, whichever
// appointment the request names.
func TestVisitUndoRefusesPart(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(c *enginetest.TestClinic, a store.Appointment){
		"a colleague corrects it": func(c *enginetest.TestClinic, a store.Appointment) { c.AnnSays(a.ID) },
		"it is moved alone": func(c *enginetest.TestClinic, a store.Appointment) {
			c.DeskMoves(a.ID, c.Start.Add(5*time.Hour))
		},
		"it is cancelled alone": func(c *enginetest.TestClinic, a store.Appointment) { c.DeskCancels(a.ID) },
	} {
		for people := 2; people <= 3; people++ {
			t.Run(fmt.Sprintf("%s, %d people", name, people), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, _ := enginetest.NoticeClinic(t)
					list := c.MustVisit(enginetest.Family(c.Start,
						[]string{"checkup", "checkup", "checkup"}[:people]...))
					time.Sleep(time.Second)
					if _, err := c.Group.Visit.Move(t.Context(),
						group.VisitMove{Which: group.Which{ID: list[0].ID, Actor: enginetest.Jo, Undoable: true},
							SlotStart: c.Start.Add(2 * time.Hour)}); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second)
					meanwhile(c, list[1])
					before := at(c, c.Confirmed())
					if _, err := c.Group.Visit.Undo(t.Context(),
						booking.UndoRequest{ID: list[0].ID, Actor: enginetest.Jo}); !errors.Is(err,
						booking.ErrUndoLate) {
						t.Errorf("undo: %v, want ErrUndoLate", err)
					}
					if after := at(c, c.Confirmed()); !slices.Equal(before, after) {
						t.Errorf("the appointments are at %v and were at %v", after, before)
					}
					c.WantNoHolds()
				})
			})
		}
	}
}

// TestVisitSendsOneEmail: one email lists all people and their times, with one link. A cancellation also sends only one
// email, and there is only one reminder.
func TestVisitSendsOneEmail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		if _, err := c.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
			s.ReminderHours = 24
		}); err != nil {
			t.Fatal(err)
		}
		list := c.MustVisit(enginetest.Family(c.Start, "checkup", "surgery", "checkup"))
		time.Sleep(time.Minute)
		text := c.Mails(folder, list[0].ID)["series_confirmation"]
		for _, want := range []string{"Lena Vogt, checkup", "Mia Vogt, surgery", "Ben Vogt, checkup", "12:00 to 12:30",
			"12:45 to 13:45", "14:15 to 14:45", "3 appointments on", "or cancel one or all"} {
			if !strings.Contains(text, want) {
				t.Errorf("the email does not contain %q: %s", want, text)
			}
		}
		if n := strings.Count(text[:strings.Index(text, "<html")], "manage#"); n != 1 {
			t.Errorf("%d links, want one for all", n)
		}
		time.Sleep(time.Until(list[0].SlotStart) - 23*time.Hour)
		reminders := 0
		for i, a := range list {
			got := c.Mails(folder, a.ID)
			if i > 0 && got["series_confirmation"] != "" {
				t.Errorf("%s has an email of its own", a.Patient.Name)
			}
			if got["reminder"] != "" {
				reminders++
			}
		}
		if reminders != 1 {
			t.Errorf("%d reminders, want one", reminders)
		}
		if _, err := c.Group.Visit.Cancel(t.Context(), group.Cancel{Which: group.Which{ID: list[2].ID, Actor: "client"},
			CutOff: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if text := c.Mails(folder, list[0].ID)["series_cancellation"]; !strings.Contains(text,
			"Cancelled: your 3 appointments") || !strings.Contains(text, "Mia Vogt, surgery") {
			t.Errorf("the cancellation email is %q", text)
		}
	})
}

// TestVisitChangeReachesEveryAddress: a cancellation of the whole visit is sent to the contact even if the first person
// was erased, and to a person whose email address was corrected.
func TestVisitChangeReachesEveryAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		list := c.MustVisit(enginetest.Family(c.Start, "checkup", "checkup", "checkup", "checkup"))
		own := "mia@example.org"
		if _, err := c.Booking.ChangePatient(t.Context(), booking.PatientRequest{ID: list[1].ID, Actor: enginetest.Jo,
			Edit: func(p *store.Patient) { p.Email = own }}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Person.EraseOf(t.Context(), enginetest.Jo, list[0].ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if _, err := c.Group.Visit.Cancel(t.Context(), group.Cancel{Which: group.Which{ID: list[2].ID,
			Actor: enginetest.Jo}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if text := c.Mails(folder, list[1].ID)["cancellation"]; !strings.Contains(text, own) {
			t.Errorf("the email to the corrected address is %q", text)
		}
		text := c.Mails(folder, list[2].ID)["series_cancellation"]
		for _, want := range []string{"Cancelled: your 2 appointments", "Ben Vogt, checkup", "Ida Vogt, checkup"} {
			if !strings.Contains(text, want) {
				t.Errorf("the email to the contact does not contain %q: %s", want, text)
			}
		}
	})
}

// TestEraseOneOfVisitKeepsOthers: erasing one person preserves the data of the other people and the times of all.
func TestEraseOneOfVisitKeepsOthers(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	list := c.MustVisit(enginetest.Family(c.Start, "checkup", "checkup", "checkup"))
	if _, err := c.Person.EraseOf(t.Context(), enginetest.Jo, list[1].ID); err != nil {
		t.Fatal(err)
	}
	there := c.Confirmed()
	wantAt(c, "the times", there, 0, 30, 60)
	for i, want := range []store.Patient{list[0].Patient, {}, list[2].Patient} {
		if there[i].Patient != want || there[i].VisitID != list[0].VisitID {
			t.Errorf("%d is of %+v now, want %+v", i, there[i].Patient, want)
		}
	}
}

// TestUndoRestoresLengths: appointments are booked, and then their types get other lengths. After an undo, the
// appointments have their own lengths again.
func TestUndoRestoresLengths(t *testing.T) {
	t.Parallel()
	for _, minutes := range []int{20, 45} {
		for name, x := range map[string]struct {
			book func(c *enginetest.TestClinic) []store.Appointment
			undo func(c *enginetest.TestClinic, w group.Which) error
		}{
			"a series": {func(c *enginetest.TestClinic) []store.Appointment { return mustBookSeries(c, weeklyFor(c, 3)) },
				func(c *enginetest.TestClinic, w group.Which) error {
					if _, err := c.Group.Series.Cancel(c.T.Context(), group.Cancel{Which: w}); err != nil {
						return err
					}
					_, err := c.Group.Series.Undo(c.T.Context(), w)
					return err
				}},
			"a visit": {func(c *enginetest.TestClinic) []store.Appointment {
				return c.MustVisit(enginetest.Family(c.Start, "checkup", "checkup", "surgery"))
			},
				func(c *enginetest.TestClinic, w group.Which) error {
					if _, err := c.Group.Visit.Cancel(c.T.Context(), group.Cancel{Which: w}); err != nil {
						return err
					}
					_, err := c.Group.Visit.Undo(c.T.Context(), booking.UndoRequest{ID: w.ID, Actor: w.Actor})
					return err
				}},
		} {
			t.Run(fmt.Sprintf("%s, %d minutes", name, minutes), func(t *testing.T) {
				t.Parallel()
				c := enginetest.NewClinic(t, map[string]int{"ada": 1})
				list := x.book(c)
				if _, err := c.Clinic.UpdateAppointmentType(t.Context(), enginetest.Jo, "checkup",
					func(x *store.AppointmentType) { x.DurationMinutes = minutes }); err != nil {
					t.Fatal(err)
				}
				if err := x.undo(c, group.Which{ID: list[0].ID, Actor: enginetest.Jo, Undoable: true}); err != nil {
					t.Fatal(err)
				}
				for _, was := range list {
					is, err := c.Booking.Appointment(t.Context(), was.ID)
					if err != nil || is.Status != store.Confirmed || !is.SlotStart.Equal(was.SlotStart) ||
						!is.SlotEnd.Equal(was.SlotEnd) {
						t.Errorf("%s from %v to %v, %v; want confirmed from %v to %v", is.Status, is.SlotStart, is.SlotEnd,
							err, was.SlotStart, was.SlotEnd)
					}
				}
				c.WantNoHolds()
			})
		}
	}
}

// TestVisitLeavesClosedRoom: a room is blocked or deactivated while a client holds it for a visit. The booking is
// refused, and the next hold takes the other room.
func TestVisitLeavesClosedRoom(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(c *enginetest.TestClinic) error{
		"blocked": func(c *enginetest.TestClinic) error {
			_, err := c.Clinic.CreateBlock(c.T.Context(), enginetest.Jo, store.Block{SpecialistID: "room-1",
				Start: c.Start, End: c.Start.Add(time.Hour)}, nil)
			return err
		},
		"deactivated": func(c *enginetest.TestClinic) error {
			_, err := c.Clinic.UpdateSpecialist(c.T.Context(), enginetest.Jo, "room-1",
				func(p *store.Specialist) { p.Active = false })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := enginetest.WithRooms(t)
			h, err := c.HoldVisit(1, c.Start, "ada", "peel", "peel")
			if err != nil || h.Resources != "room-1" {
				t.Fatalf("the hold has %q, %v; want room-1", h.Resources, err)
			}
			if err := change(c); err != nil {
				t.Fatal(err)
			}
			r := enginetest.Family(time.Time{}, "peel", "peel")
			r.HoldID, r.Client = h.ID, enginetest.Client(1)
			if list, err := c.Group.Visit.Book(t.Context(), r); !errors.As(err, new(*availability.NotBookableError)) {
				t.Errorf("booked %d appointments, %v; want the room closed", len(list), err)
			}
			if h, err = c.HoldVisit(1, c.Start, "ada", "peel", "peel"); err != nil || h.Resources != "room-2" {
				t.Fatalf("the second hold has %q, %v; want room-2", h.Resources, err)
			}
			r.HoldID = h.ID
			c.MustVisit(r)
			c.WantNoHolds()
		})
	}
}
