package booking_test

import (
	"testing"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/holds"
	"holdfast/store"
)

// TestDeskAppointmentHasNoClient: the appointment has neither a made-up client nor the desk browser's client. The
// server still recognizes it as the booking made with the desk's hold.
func TestDeskAppointmentHasNoClient(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	const browser = holds.ClientID("the-browser-at-the-desk")
	held, err := c.Booking.Hold(t.Context(), booking.HoldRequest{AppointmentTypeID: "checkup",
		SlotStart: c.Start.Add(2 * time.Hour), Client: browser})
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		request booking.Request
		want    holds.ClientID
	}{
		"the desk": {booking.Request{SlotStart: c.Start, Source: store.SourceStaff}, ""},
		"the desk, with its browser": {booking.Request{SlotStart: c.Start.Add(time.Hour), Source: store.SourceStaff,
			Client: browser}, ""},
		"the desk, from a hold": {booking.Request{HoldID: held.ID, Source: store.SourceStaff, Client: browser},
			""},
		"the desk, overbooked": {booking.Request{SlotStart: c.Start.Add(6 * time.Hour), SpecialistID: "ada",
			OverbookReason: "pain", Source: store.SourceStaff, Client: browser}, ""},
		"a program": {booking.Request{SlotStart: c.Start.Add(3 * time.Hour), Source: store.SourceAPI},
			""},
		"a program, for its client": {booking.Request{SlotStart: c.Start.Add(4 * time.Hour), Source: store.SourceAPI,
			Client: "a-client-of-the-program"}, "a-client-of-the-program"},
		"a patient, who has a secret": {booking.Request{SlotStart: c.Start.Add(5 * time.Hour), Source: store.SourceWeb,
			Client: "a-patient-who-books"}, "a-patient-who-books"},
	} {
		x.request.AppointmentTypeID, x.request.Actor, x.request.Patient = "checkup", "user:jo",
			store.Patient{Name: "Jo Doe"}
		made, err := c.Booking.Book(t.Context(), x.request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		kept, err := c.Store.Appointment(t.Context(), made.ID)
		if err != nil || kept.Owner != x.want.Owner().String() || made.Owner != x.want.Owner().String() {
			t.Errorf("%s: the owner is %q, and %q in the database (%v); want %q", name, made.Owner, kept.Owner,
				err, x.want)
		}
	}
	booked := booking.Booked(c.Store)
	if !booked(held) {
		t.Error("the booking of the desk's hold does not count as its own")
	}
	other := held
	other.Owner, other.SlotStart = holds.ClientID("a-patient-who-books").Owner(), c.Start.Add(4*time.Hour)
	other.SlotEnd = other.SlotStart.Add(30 * time.Minute)
	if booked(other) {
		t.Error("the booking of another client counts as that of the hold")
	}
}

// TestBookedComparesSeatAndType: an appointment without an owner counts as a hold's booking only in the hold's own
// seat.
func TestBookedComparesSeatAndType(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		held   string // the type of the hold, at c.Start
		booked booking.Request
		after  time.Duration
		want   bool
	}{
		"its own time":   {"checkup", booking.Request{AppointmentTypeID: "checkup"}, 0, true},
		"another type":   {"checkup", booking.Request{AppointmentTypeID: "cooling"}, 0, false},
		"another start":  {"surgery", booking.Request{AppointmentTypeID: "surgery"}, 30 * time.Minute, false},
		"an overbooking": {"checkup", booking.Request{AppointmentTypeID: "checkup", OverbookReason: "pain"}, 0, false},
		"another seat":   {"class", booking.Request{AppointmentTypeID: "class"}, 0, false},
	} {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		h := c.MustHold(1, x.held, c.Start, "ada")
		if x.held != "class" {
			if _, err := c.Booking.ReleaseHold(t.Context(), h.ID, enginetest.Client(1)); err != nil {
				t.Fatal(err)
			}
		}
		r := x.booked
		r.SlotStart, r.SpecialistID, r.Source, r.Actor = c.Start.Add(x.after), "ada", store.SourceStaff, enginetest.Jo
		r.Patient = store.Patient{Name: "Jo Doe"}
		c.MustBook(r)
		if got := booking.Booked(c.Store)(h); got != x.want {
			t.Errorf("%s: got %t, want %t", name, got, x.want)
		}
	}
}
