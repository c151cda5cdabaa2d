package feed_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/ical"
	"holdfast/store"
)

// feedsOf returns a clinic with ada and ben, and a function that reads the calendar for a secret.
func feedsOf(t *testing.T) (*enginetest.TestClinic, func(secret string) string) {
	c := enginetest.NewClinic(t, map[string]int{"ada": 2, "ben": 1})
	return c, func(secret string) string {
		t.Helper()
		text, err := c.Feed.Read(t.Context(), secret, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), "\r\n ", "") // unfold the lines
	}
}

// wantClosed checks that a secret does not open a calendar.
func wantClosed(t *testing.T, c *enginetest.TestClinic, what, secret string) {
	t.Helper()
	if text, err := c.Feed.Read(t.Context(), secret, time.Now()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%s: got %q, %v; want ErrNotFound", what, text, err)
	}
}

// TestFeedShowsConfirmedAppointments: a specialist's calendar contains that specialist's confirmed appointments,
// without names unless its creator chose to include them. The same appointments produce the same bytes.
func TestFeedShowsConfirmedAppointments(t *testing.T) {
	t.Parallel()
	c, read := feedsOf(t)
	mine := c.BookFor(0, store.Patient{Name: "Rosa Fischer", Phone: "030 77", Email: "rosa@example.org", Notes: "fear"})
	gone := c.BookFor(1, store.Patient{Name: "Lena Vogt"})
	c.DeskCancels(gone.ID)
	r := enginetest.BookingOf(3, "checkup")
	r.SpecialistID, r.SlotStart = "ben", c.Start
	bens := c.MustBook(r)

	anonymous, made, err := c.Feed.Create(t.Context(), enginetest.Jo, "ada", false)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(made.Hash, anonymous) {
		t.Error("the stored form contains the secret")
	}
	text := read(anonymous)
	if again := read(anonymous); again != text {
		t.Errorf("two reads differ:\n%s\n%s", text, again)
	}
	if n := strings.Count(text, "BEGIN:VEVENT"); n != 1 || !strings.Contains(text, "UID:"+mine.ID) {
		t.Errorf("%d events, want the one of %s:\n%s", n, mine.ID, text)
	}
	for _, private := range []string{"Rosa", "Fischer", "030 77", "rosa@", "fear", bens.ID, gone.ID} {
		if strings.Contains(text, private) {
			t.Errorf("the calendar contains %q:\n%s", private, text)
		}
	}

	named, _, err := c.Feed.Create(t.Context(), enginetest.Jo, "ada", true)
	if err != nil {
		t.Fatal(err)
	}
	wantClosed(t, c, "the address before the new one", anonymous)
	text = read(named)
	if !strings.Contains(text, `SUMMARY:Rosa Fischer\, checkup`) || !strings.Contains(text, "030 77") ||
		strings.Contains(text, "rosa@") || strings.Contains(text, "fear") {
		t.Errorf("with names, it must contain only the name and the phone number:\n%s", text)
	}
}

// TestFeedShowsGroupSessionOnce: all seats of a group session are one event with the number of booked seats. Another
// start of the type is another event. The UID of an event always names an appointment: package busytime ignores such
// events in external calendars, and would otherwise block the free seats.
func TestFeedShowsGroupSessionOnce(t *testing.T) {
	t.Parallel()
	c, read := feedsOf(t)
	join := func(n int, start time.Time, patient store.Patient) store.Appointment {
		t.Helper()
		r := enginetest.BookingOf(n, "class")
		r.SpecialistID, r.SlotStart, r.Patient = "ada", start, patient
		return c.MustBook(r)
	}
	rosa := join(1, c.Start, store.Patient{Name: "Rosa Fischer", Phone: "030 77"})
	lena := join(2, c.Start, store.Patient{Name: "Lena Vogt"})
	otto := join(3, c.Start.Add(time.Hour), store.Patient{Name: "Otto Brandt"})
	create := func(names bool) string {
		t.Helper()
		secret, _, err := c.Feed.Create(t.Context(), enginetest.Jo, "ada", names)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	before := read(create(true))
	for what, n := range map[string]int{
		"BEGIN:VEVENT": 2, "SUMMARY:class 2/3": 1, "SUMMARY:class 1/3": 1,
		`DESCRIPTION:Lena Vogt\nRosa Fischer\, 030 77`: 1, "DESCRIPTION:Otto Brandt": 1,
	} {
		if got := strings.Count(before, what); got != n {
			t.Errorf("%q is in the calendar %d times, want %d:\n%s", what, got, n, before)
		}
	}
	c.DeskCancels(rosa.ID)
	after := read(create(false))
	if strings.Count(after, "SUMMARY:class 1/3") != 2 || strings.Contains(after, "Vogt") {
		t.Errorf("after a cancellation, without names:\n%s", after)
	}
	for text, first := range map[string]string{before: rosa.ID, after: lena.ID} {
		for _, id := range []string{first, otto.ID} {
			if !strings.Contains(text, "UID:"+id+ical.UIDSuffix) {
				t.Errorf("no UID names %s:\n%s", id, text)
			}
		}
	}
}

// TestFeedEndsWhenRevoked: an address stops working when it is revoked and when its specialist is deactivated. Neither
// an unknown secret nor an empty one opens a calendar.
func TestFeedEndsWhenRevoked(t *testing.T) {
	t.Parallel()
	c, read := feedsOf(t)
	ctx := t.Context()
	wantClosed(t, c, "no secret", "")
	wantClosed(t, c, "a guess", strings.Repeat("A", 26))
	wantClosed(t, c, "a longer guess", strings.Repeat("A", 80))
	create := func(specialistID string) string {
		t.Helper()
		secret, _, err := c.Feed.Create(ctx, enginetest.Jo, specialistID, false)
		if err != nil {
			t.Fatal(err)
		}
		read(secret)
		return secret
	}
	adas, bens := create("ada"), create("ben")
	for range 2 { // the second time, there is no address to revoke
		if err := c.Feed.Revoke(ctx, enginetest.Jo, "ada"); err != nil {
			t.Fatal(err)
		}
	}
	wantClosed(t, c, "a revoked address", adas)
	if _, err := c.Clinic.UpdateSpecialist(ctx, enginetest.Jo, "ben", func(p *store.Specialist) {
		p.Active = false
	}); err != nil {
		t.Fatal(err)
	}
	wantClosed(t, c, "a deactivated specialist's address", bens)
	if _, _, err := c.Feed.Create(ctx, enginetest.Jo, "zoe", false); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown specialist: got %v, want ErrNotFound", err)
	}
	if err := c.Feed.Revoke(ctx, enginetest.Jo, "zoe"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoked for an unknown specialist: got %v, want ErrNotFound", err)
	}
}

// TestFeedHasYearAhead: the calendar contains appointments from 30 days ago to 366 days ahead. The test changes the
// time of reading instead of moving the appointment.
func TestFeedHasYearAhead(t *testing.T) {
	t.Parallel()
	c, _ := feedsOf(t)
	secret, _, err := c.Feed.Create(t.Context(), enginetest.Jo, "ada", false)
	if err != nil {
		t.Fatal(err)
	}
	a := c.BookFor(0, store.Patient{Name: "Rosa"})
	const day = 24 * time.Hour
	for _, x := range []struct {
		read time.Time
		in   bool
	}{
		{a.SlotStart.Add(-366*day - time.Minute), false},
		{a.SlotStart.Add(-366*day + time.Minute), true},
		{a.SlotEnd.Add(30*day - time.Minute), true},
		{a.SlotEnd.Add(30*day + time.Minute), false},
	} {
		text, err := c.Feed.Read(t.Context(), secret, x.read)
		if err != nil {
			t.Fatal(err)
		}
		if in := bytes.Contains(text, []byte(a.ID)); in != x.in {
			t.Errorf("an appointment %s from the start is in the calendar: %t, want %t", x.read.Sub(a.SlotStart), in, x.in)
		}
	}
}

// TestRoomFeedShowsItsAppointments: a room's calendar contains the appointments that use the room, with any specialist.
func TestRoomFeedShowsItsAppointments(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	in := map[string]string{}
	for n, who := range []string{"ada", "ben", "cleo"} {
		a := c.MustBook(enginetest.Peels(n+1, c.Start.Add(time.Duration(n/2)*time.Hour), who))
		in[a.ID] = a.Resources[0]
	}
	secret, _, err := c.Feed.Create(t.Context(), enginetest.Jo, "room-1", false)
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Feed.Read(t.Context(), secret, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for id, room := range in {
		if shown := bytes.Contains(text, []byte(id)); shown != (room == "room-1") {
			t.Errorf("an appointment in %s is in the calendar of room-1: %t", room, shown)
		}
	}
}

// TestPatientFeedFollowsAppointment: the address of an appointment still shows the appointment after a move or a
// cancellation. It shows neither a name nor a link, and it stops working when it is revoked or the person is erased.
func TestPatientFeedFollowsAppointment(t *testing.T) {
	t.Parallel()
	c, read := feedsOf(t)
	ctx := t.Context()
	secretOf := func(a store.Appointment) string {
		t.Helper()
		secret, err := c.Booking.CalendarToken(ctx, &a, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	a := c.BookFor(0, store.Patient{Name: "Rosa Fischer", Email: "rosa@example.org"})
	first := secretOf(a)
	if text := read(first); !strings.Contains(text, "STATUS:CONFIRMED") || strings.Contains(text, "Rosa") ||
		strings.Contains(text, "rosa@") {
		t.Errorf("after the booking:\n%s", text)
	}
	a = c.DeskMoves(a.ID, c.Start.Add(2*time.Hour))
	if text := read(first); !strings.Contains(text, "DTSTART:"+a.SlotStart.Format("20060102T150405Z")) {
		t.Errorf("after the move:\n%s", text)
	}
	if err := c.Booking.EndCalendar(ctx, enginetest.Jo, a.ID); err != nil {
		t.Fatal(err)
	}
	wantClosed(t, c, "a revoked address", first)
	second := secretOf(a)
	if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: enginetest.Jo}); err != nil {
		t.Fatal(err)
	}
	if text := read(second); !strings.Contains(text, "STATUS:CANCELLED") {
		t.Errorf("after the cancellation:\n%s", text)
	}
	if _, err := c.Person.Erase(ctx, enginetest.Jo, store.Person{Email: "rosa@example.org"}); err != nil {
		t.Fatal(err)
	}
	wantClosed(t, c, "an erased person's address", second)
}
