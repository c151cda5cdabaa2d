package absence_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/absence"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/store"
)

// These tests cover a day on which ada is ill: 16 patients need new times.

const jo = "user:jo"

// sickDay opens a clinic where ada has 16 appointments from noon on, and where ben is busy from the start of the fifth
// to the end of the sixteenth. The last two patients have only a phone number.
func sickDay(t *testing.T) (c *enginetest.TestClinic, folder string, booked []store.Appointment, away absence.Away) {
	t.Helper()
	c, folder = enginetest.NoticeClinic(t)
	if _, err := c.Clinic.Import(t.Context(), "system",
		enginetest.ClinicFile(map[string]int{"ada": 1, "ben": 1})); err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		for _, who := range []string{"ada", "ben"} {
			if who == "ben" && i < 4 {
				continue
			}
			r := enginetest.BookingOf(i, "checkup")
			r.SlotStart, r.SpecialistID, r.Source, r.Actor = c.Start.Add(time.Duration(i)*30*time.Minute), who,
				store.SourceStaff, jo
			r.Patient.Phone = fmt.Sprintf("030 1234%02d", i)
			if i >= 14 {
				r.Patient.Email = ""
			}
			if who == "ben" {
				r.Patient = store.Patient{Name: fmt.Sprintf("Of Ben %d", i), Phone: "040 1"}
			}
			if a := c.MustBook(r); who == "ada" {
				booked = append(booked, a)
			}
		}
	}
	time.Sleep(time.Minute) // the server sends the emails about the bookings
	return c, folder, booked, absence.Away{SpecialistID: "ada", Start: c.Start.Add(-time.Hour),
		End: c.Start.Add(10 * time.Hour), Reason: "flu"}
}

// planned returns the plan for an absence as the desk's choices.
func planned(c *enginetest.TestClinic, away absence.Away) (choices []absence.Choice) {
	c.T.Helper()
	rows, more, err := c.Absence.Plan(context.Background(), away, false)
	if err != nil || more {
		c.T.Fatalf("plan: more %t, %v", more, err)
	}
	for _, r := range rows {
		x := absence.Choice{AppointmentID: r.Appointment.ID, Version: r.Appointment.Version, By: r.By}
		if len(r.Times) > 0 {
			x.SpecialistID, x.Start = r.Times[0].SpecialistID, r.Times[0].Start
		}
		choices = append(choices, x)
	}
	return choices
}

// create records an absence; every choice must succeed.
func create(c *enginetest.TestClinic, away absence.Away, choices []absence.Choice) absence.Created {
	c.T.Helper()
	made, err := c.Absence.Create(context.Background(), absence.Request{Away: away, Choices: choices, Actor: jo})
	if err != nil {
		c.T.Fatal(err)
	}
	for i, r := range made.Results {
		if r.Err != nil {
			c.T.Fatalf("choice %d, %+v: %v", i, choices[i], r.Err)
		}
	}
	return made
}

// wantStates compares the number of displaced appointments in each state with the expected number.
func wantStates(c *enginetest.TestClinic, what, id string, want map[absence.State]int) {
	c.T.Helper()
	x, err := c.Absence.Status(context.Background(), id)
	if err != nil {
		c.T.Fatal(err)
	}
	got := make(map[absence.State]int)
	for _, a := range x.Answers {
		got[a.State]++
	}
	if !maps.Equal(got, want) {
		c.T.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// emails returns how many emails the server has written.
func emails(c *enginetest.TestClinic, folder string) int {
	c.T.Helper()
	list, err := os.ReadDir(folder)
	if err != nil {
		c.T.Fatal(err)
	}
	return len(list)
}

// proposal returns the open offer for a displaced appointment.
func proposal(c *enginetest.TestClinic, a store.Appointment) *store.WaitlistOffer {
	c.T.Helper()
	x, err := c.Waitlist.ProposalFor(context.Background(), &a)
	if err != nil || x.Offer() == nil {
		c.T.Fatalf("the proposal for %s: %+v, %v", a.ID, x, err)
	}
	return x.Offer()
}

// TestAbsenceFindsTimesForAllPatients: 16 patients of a specialist who is ill are moved, asked or called. The times of
// patients who are asked are held until they accept, decline, choose another time or cancel, or until the offer
// expires.
func TestAbsenceFindsTimesForAllPatients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder, booked, away := sickDay(t)
		ctx := context.Background()
		choices := planned(c, away)
		if len(choices) != 16 {
			t.Fatalf("the plan has %d rows, want 16", len(choices))
		}
		times := make(map[string]bool)
		for i, x := range choices {
			want := store.DisplacedAsk
			switch {
			case i < 4: // ben is free at the same time
				want = store.DisplacedMove
			case i >= 14: // no email address
				want = store.DisplacedCall
			}
			if x.By != want {
				t.Errorf("row %d is planned as %s, want %s", i, x.By, want)
			}
			if i < 4 && (x.SpecialistID != "ben" || !x.Start.Equal(booked[i].SlotStart)) {
				t.Errorf("row %d: got %s at %s, want ben at the same time", i, x.SpecialistID, x.Start)
			}
			if x.SpecialistID == "ada" && x.Start.Before(away.End) {
				t.Errorf("row %d is with ada, who is away", i)
			}
			times[x.SpecialistID+x.Start.String()] = true
		}
		if len(times) != 16 {
			t.Errorf("the 16 rows have %d different times", len(times))
		}

		before := emails(c, folder)
		made := create(c, away, choices)
		id := made.Block.ID
		time.Sleep(booking.UndoTime)
		if n := emails(c, folder); n != before {
			t.Errorf("%d emails were sent while the absence can be undone", n-before)
		}
		wantStates(c, "at first", id, map[absence.State]int{absence.StateMoved: 4, absence.StateAsked: 10,
			absence.StateCall: 2})
		for i, a := range booked[4:] {
			o := proposal(c, a)
			if _, err := c.Hold(50, "checkup", o.SlotStart, o.SpecialistID); err == nil {
				t.Errorf("row %d: another client can hold the proposed time", i+4)
			}
		}
		time.Sleep(time.Minute)
		if got := emails(c, folder) - before; got < 14 {
			t.Errorf("%d emails were sent, want one for each of the 14 patients with an address", got)
		}
		text := c.Mails(folder, proposal(c, booked[4]).ID)["proposal"]
		if token := c.Booking.ManageToken(&booked[4]); !strings.Contains(text, "manage#"+token) ||
			!strings.Contains(text, "because your specialist is away") {
			t.Errorf("the email with the proposal: %q", text)
		}

		accepted, declined, rebooked, cancelled := booked[4], booked[5], booked[6], booked[7]
		o := proposal(c, accepted)
		a, err := c.Waitlist.Accept(ctx, o.ID, "manage", nil)
		if err != nil || a.ID != accepted.ID || !a.SlotStart.Equal(o.SlotStart) || a.SpecialistID != o.SpecialistID {
			t.Errorf("accepted: got %+v, %v", a, err)
		}
		o = proposal(c, declined)
		if _, err := c.Waitlist.Decline(ctx, o.ID, "manage", nil); err != nil {
			t.Error(err)
		}
		other := proposal(c, rebooked).SlotStart.Add(5 * 24 * time.Hour)
		if _, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: rebooked.ID,
			SlotStart: other, Actor: "manage", CutOff: true}); err != nil {
			t.Errorf("the patient chooses another time: %v", err)
		}
		if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: cancelled.ID,
			Actor: "manage", CutOff: true}); err != nil {
			t.Errorf("cancel: %v", err)
		}
		time.Sleep(time.Minute)
		if slot := c.Slot(50, "checkup", o.SlotStart, o.SpecialistID); slot == nil || slot.Available == 0 {
			t.Errorf("the declined time is not free: %+v", slot)
		}
		wantStates(c, "after four answers", id, map[absence.State]int{
			absence.StateMoved: 4, absence.StateAsked: 6, absence.StateCall: 2, absence.StateAccepted: 1,
			absence.StateDeclined: 1, absence.StateRebooked: 1, absence.StateCancelled: 1,
		})
		time.Sleep(absence.DefaultHold)
		wantStates(c, "after a day", id, map[absence.State]int{
			absence.StateMoved: 4, absence.StateExpired: 8, absence.StateAccepted: 1, absence.StateDeclined: 1,
			absence.StateRebooked: 1, absence.StateCancelled: 1,
		})
		c.WantNoHolds()
		list, err := c.Absence.List(ctx)
		if err != nil || len(list) != 1 || list[0].Block.ID != id {
			t.Errorf("the absences: got %+v, %v", list, err)
		}
	})
}

// TestUndoRevertsAbsence: within the undo time, the desk can revert the whole absence. No patient is notified.
func TestUndoRevertsAbsence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder, booked, away := sickDay(t)
		ctx := context.Background()
		before := emails(c, folder)
		choices := planned(c, away)
		choices[10].Start, choices[10].SpecialistID = time.Time{}, "" // the patient will be asked to choose a time
		id := create(c, away, choices).Block.ID
		time.Sleep(5 * time.Second)
		if _, err := c.Absence.Undo(ctx, id, "user:ann", nil); !errors.Is(err, booking.ErrUndoLate) {
			t.Errorf("undone by another user: got %v, want %v", err, booking.ErrUndoLate)
		}
		if undone, err := c.Absence.Undo(ctx, id, jo, nil); err != nil || len(undone.Kept) > 0 {
			t.Fatalf("undo: got %+v, %v", undone, err)
		}
		for i, was := range booked {
			is, err := c.Booking.Appointment(ctx, was.ID)
			if err != nil || !is.SlotStart.Equal(was.SlotStart) || is.SpecialistID != "ada" ||
				c.Booking.ManageToken(&is) != c.Booking.ManageToken(&was) {
				t.Errorf("row %d after the undo: got %+v, %v", i, is, err)
			}
		}
		if _, err := c.Absence.Status(ctx, id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the absence: got %v, want %v", err, store.ErrNotFound)
		}
		time.Sleep(time.Hour)
		c.WantNoHolds()
		if n := emails(c, folder) - before; n != 0 {
			t.Errorf("%d emails were sent about an absence that was undone", n)
		}

		late := create(c, away, planned(c, away)).Block.ID
		time.Sleep(20 * time.Second)
		if _, err := c.Absence.Undo(ctx, late, jo, nil); !errors.Is(err, booking.ErrUndoLate) {
			t.Errorf("undone after 20 s: got %v, want %v", err, booking.ErrUndoLate)
		}
	})
}

// TestOnlyRecorderUndoesAbsence: another user cannot undo an absence, even if it moved no appointment. An absence that
// displaces no appointment can be undone for as long as any other.
func TestOnlyRecorderUndoesAbsence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, booked, away := sickDay(t)
		ctx := context.Background()
		for name, choices := range map[string][]absence.Choice{
			"asked":     {{AppointmentID: booked[0].ID, By: store.DisplacedAsk}},
			"to call":   {{AppointmentID: booked[1].ID, By: store.DisplacedCall}},
			"unhandled": nil,
		} {
			id := create(c, away, choices).Block.ID
			if _, err := c.Absence.Undo(ctx, id, "user:ann", nil); !errors.Is(err, booking.ErrUndoLate) {
				t.Errorf("%s, undone by another user: got %v, want %v", name, err, booking.ErrUndoLate)
			}
			if !c.Clinic.Current().HasBlock(away.SpecialistID, id) {
				t.Errorf("%s: the block was deleted", name)
			}
			if _, err := c.Absence.Undo(ctx, id, jo, nil); err != nil {
				t.Errorf("%s, undone: got %v", name, err)
			}
		}
		late := create(c, away, nil).Block.ID
		time.Sleep(20 * time.Second)
		if _, err := c.Absence.Undo(ctx, late, jo, nil); !errors.Is(err, booking.ErrUndoLate) {
			t.Errorf("undone after 20 s: got %v, want %v", err, booking.ErrUndoLate)
		}
	})
}

// TestTakenTimeFailsAlone: if a proposed time is booked before the desk confirms the plan, only that patient's row
// fails. The patient stays on the call list, and repeating the request changes nothing.
func TestTakenTimeFailsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, _, away := sickDay(t)
		choices := planned(c, away)
		for _, i := range []int{0, 6} {
			r := enginetest.BookingOf(60+i, "checkup")
			r.SlotStart, r.SpecialistID, r.Source, r.Actor = choices[i].Start, choices[i].SpecialistID,
				store.SourceStaff, jo
			c.MustBook(r)
		}
		made, err := c.Absence.Create(t.Context(), absence.Request{Away: away, Choices: choices, Actor: jo})
		if err != nil {
			t.Fatal(err)
		}
		failed := slices.DeleteFunc(slices.Clone(made.Results), func(r absence.Result) bool { return r.Err == nil })
		if len(failed) != 2 || failed[0].AppointmentID != choices[0].AppointmentID ||
			failed[1].AppointmentID != choices[6].AppointmentID {
			t.Errorf("failed: got %+v, want rows 0 and 6", failed)
		}
		wantStates(c, "with two taken times", made.Block.ID,
			map[absence.State]int{absence.StateMoved: 3, absence.StateAsked: 9, absence.StateCall: 4})
	})
}

// TestPromisedCallIsOnCallList: the desk approves new times of this type, and no new time is free. The plan proposes to
// call the patient. If the desk asks instead, the email says that the clinic will call, so the patient is on the call
// list.
func TestPromisedCallIsOnCallList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart, r.Patient.Phone = c.Start, "030 12345"
		a := c.MustBook(r)
		if _, err := c.Clinic.UpdateAppointmentType(t.Context(), jo, "checkup",
			func(t *store.AppointmentType) { t.Page.Approval = true }); err != nil {
			t.Fatal(err)
		}
		away := absence.Away{SpecialistID: a.SpecialistID, Start: c.Start.Add(-time.Hour),
			End: c.Start.AddDate(0, 11, 0)}
		choices := planned(c, away)
		if len(choices) != 1 || choices[0].By != store.DisplacedCall {
			t.Fatalf("the plan is %+v, want one call", choices)
		}
		choices[0].By = store.DisplacedAsk
		made := create(c, away, choices)
		time.Sleep(time.Minute)
		head, parts := enginetest.Parts(t, c.Messages(folder, a.ID)["must_move"])
		if subject := head.Get("Subject"); !strings.HasSuffix(subject, "cannot take place") {
			t.Errorf("the subject is %q", subject)
		}
		if !strings.Contains(parts[0].Text, "We will call you to find another time.") {
			t.Errorf("the email is\n%s", parts[0].Text)
		}
		wantStates(c, "after the email", made.Block.ID, map[absence.State]int{absence.StateCall: 1})
	})
}

// TestErasedPatientLeavesAbsence: erasing a person deletes the record of the proposal sent to them and releases the
// time held for them.
func TestErasedPatientLeavesAbsence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, booked, away := sickDay(t)
		id := create(c, away, planned(c, away)).Block.ID
		o := proposal(c, booked[8])
		if _, err := c.Person.Erase(t.Context(), jo, store.Person{Email: booked[8].Patient.Email}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if _, err := c.Store.WaitlistOffer(t.Context(), o.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the offer to the erased person: %v", err)
		}
		list, err := c.Store.DisplacedEntries(t.Context(), id, booked[8].ID)
		if err != nil || len(list) > 0 {
			t.Errorf("the requests of the erased person: got %+v, %v", list, err)
		}
		if slot := c.Slot(50, "checkup", o.SlotStart, o.SpecialistID); slot == nil || slot.Available == 0 {
			t.Errorf("the time of the erased person is not free: %+v", slot)
		}
	})
}

// TestPlanKeepsBuffersOutOfAbsence: a block also excludes the times whose buffers it overlaps. A surgery cannot start
// when the absence ends, because its buffer begins 15 minutes earlier.
func TestPlanKeepsBuffersOutOfAbsence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		if _, err := c.Clinic.Import(t.Context(), "system", enginetest.ClinicFile(map[string]int{"ada": 1})); err != nil {
			t.Fatal(err)
		}
		r := enginetest.BookingOf(0, "surgery")
		r.SlotStart, r.SpecialistID, r.Source, r.Actor = c.Start, "ada", store.SourceStaff, jo
		c.MustBook(r)
		away := absence.Away{SpecialistID: "ada", Start: c.Start.Add(-time.Hour), End: c.Start.Add(time.Hour)}
		choices := planned(c, away)
		create(c, away, choices)
		if want := away.End.Add(30 * time.Minute); !choices[0].Start.Equal(want) {
			t.Errorf("the new time is %s, want %s", choices[0].Start, want)
		}
	})
}

// TestPlanForRemoteTypeIgnoresPlaces: a colleague at another place can take over a video call at its time, but not an
// appointment at the clinic, which waits for a later time at its place.
func TestPlanForRemoteTypeIgnoresPlaces(t *testing.T) {
	t.Parallel()
	for name, remote := range map[string]bool{"video": true, "at the clinic": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := enginetest.NoticeClinic(t)
				f := enginetest.ClinicFile(map[string]int{"ada": 2, "ben": 1})
				f.Clinic.Settings = &clinic.Settings{Places: []clinic.Place{{ID: "north", Name: "North"},
					{ID: "south", Name: "South"}}}
				f.AppointmentTypes[0].Remote = remote
				for i, place := range []string{"north", "south"} {
					f.Specialists[i].WeeklyHours = slices.Clone(f.Specialists[i].WeeklyHours)
					for day := range f.Specialists[i].WeeklyHours {
						f.Specialists[i].WeeklyHours[day].Place = place
					}
				}
				if _, err := c.Clinic.Import(t.Context(), "system", f); err != nil {
					t.Fatal(err)
				}
				r := enginetest.BookingOf(0, "checkup")
				r.SlotStart, r.SpecialistID, r.Source, r.Actor = c.Start, "ada", store.SourceStaff, jo
				c.MustBook(r)
				away := absence.Away{SpecialistID: "ada", Start: c.Start.Add(-time.Hour),
					End: c.Start.Add(10 * time.Hour)}
				rows, _, err := c.Absence.Plan(t.Context(), away, false)
				if err != nil || len(rows) != 1 || len(rows[0].Times) == 0 {
					t.Fatalf("got %+v, %v; want one row with times", rows, err)
				}
				first := rows[0].Times[0]
				isBen := first.SpecialistID == "ben" && first.Start.Equal(c.Start) && first.Place == ""
				isAda := first.SpecialistID == "ada" && first.Place == "north"
				if remote && (!isBen || rows[0].By != store.DisplacedMove) || !remote && !isAda {
					t.Errorf("got %s with %+v", rows[0].By, first)
				}
			})
		})
	}
}

// TestRoomIsNotAbsent: an absence is for people. A room or a device gets a block.
func TestRoomIsNotAbsent(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	away := absence.Away{SpecialistID: "room-1", Start: c.Start, End: c.Start.Add(time.Hour)}
	_, _, err := c.Absence.Plan(t.Context(), away, false)
	var invalid *record.ValidationError
	if !errors.As(err, &invalid) || invalid.Fields[0].Field != "specialistId" {
		t.Errorf("planned: got %v, want an error about specialistId", err)
	}
	if _, err := c.Absence.Create(t.Context(), absence.Request{Away: away, Actor: jo}); !errors.As(err, &invalid) {
		t.Errorf("created: got %v, want the same error", err)
	}
}
