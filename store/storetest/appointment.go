package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

func testAppointment(t *testing.T, h Harness) {
	t.Run("every field is stored", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		a := complete(booking("ada", "surgery", 0, 60))
		mustInsert(t, s, a)
		wantAppointment(t, s, a)

		a = moved(a, time.Hour)
		a.Seat, a.Overbook, a.OverbookReason = 0, false, ""
		a.Status, a.Attendance, a.CancelledAt, a.CancelReason = store.Cancelled, store.NoShow, monday.Add(time.Minute),
			"no longer needed"
		a.Patient = store.Patient{Name: "Other", Email: "other@example.org", Phone: "1", BirthDate: "1970-01-31",
			Notes: "n"}
		a.Source, a.UpstreamState, a.UpstreamID, a.UpstreamPatientID = store.SourceAPI, store.UpstreamReview, "u2", "p2"
		a.SpecialistID, a.AppointmentTypeID, a.Owner = "ben", "checkup", "another-client-secret"
		a.ManageEpoch, a.CreatedAt, a.UpdatedAt, a.Locale, a.ArrivedAt = 8, monday.Add(-time.Hour), monday, "pt-BR",
			monday.Add(time.Second)
		a.SeriesID, a.VisitID, a.RecallAt = "", "", monday.AddDate(0, 6, 0)
		a.Place, a.Intake = "south", store.Intake{}
		wantErr(t, "UpdateAppointment", update(t, s, a), nil)
		a.Version++
		wantAppointment(t, s, a)
	})

	t.Run("an id can be used only once", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		a := mustInsert(t, s, booking("ada", "checkup", 0, 30))
		again := booking("ben", "checkup", 0, 30)
		again.ID = a.ID
		wantErr(t, "the same id", insert(t, s, again), store.ErrDuplicate)
		wantAppointment(t, s, a)
	})

	t.Run("an update needs the current version", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		a := mustInsert(t, s, booking("ada", "checkup", 0, 30))
		a.Attendance = store.Arrived
		wantErr(t, "the first", update(t, s, a), nil)
		a.Attendance = store.NoShow
		wantErr(t, "the second, of the same version", update(t, s, a), store.ErrVersion)
		if got, _ := s.Appointment(t.Context(), a.ID); got.Attendance != store.Arrived || got.Version != 2 {
			t.Errorf("got %s version %d, want arrived version 2", got.Attendance, got.Version)
		}
		a.ID = "unknown"
		wantErr(t, "an unknown id", update(t, s, a), store.ErrNotFound)
	})

	t.Run("an unknown id", func(t *testing.T) {
		_, err := h.open(t).Appointment(t.Context(), "unknown")
		wantErr(t, "Appointment", err, store.ErrNotFound)
	})

	t.Run("the schema refuses invalid rows", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		for name, change := range map[string]func(*store.Appointment){
			"an unknown type":       func(a *store.Appointment) { a.AppointmentTypeID = "unknown" },
			"an unknown specialist": func(a *store.Appointment) { a.SpecialistID = "unknown" },
			"an empty interval":     func(a *store.Appointment) { a.SlotEnd = a.SlotStart },
			"a reversed interval": func(a *store.Appointment) {
				a.SlotStart, a.SlotEnd = a.SlotEnd, a.SlotStart
			},
			"busy time inside the slot":  func(a *store.Appointment) { a.BusyStart = a.SlotStart.Add(time.Minute) },
			"a status that is none":      func(a *store.Appointment) { a.Status = "maybe" },
			"an attendance that is none": func(a *store.Appointment) { a.Attendance = "perhaps" },
			"no id":                      func(a *store.Appointment) { a.ID = "" },
			"a version that is not 1":    func(a *store.Appointment) { a.Version = 2 },
		} {
			a := booking("ada", "checkup", 0, 30)
			change(&a)
			wantErr(t, name, insert(t, s, a), store.ErrInvalid)
		}
		a := mustInsert(t, s, booking("ada", "checkup", 0, 30))
		a.SpecialistID = "unknown"
		wantErr(t, "moving to an unknown specialist", update(t, s, a), store.ErrInvalid)
	})

	t.Run("list", func(t *testing.T) { listAppointments(t, h.open(t)) })
	t.Run("pages", func(t *testing.T) { pageAppointments(t, h.open(t)) })
	t.Run("search", func(t *testing.T) { searchAppointments(t, h.open(t)) })
	t.Run("taken", func(t *testing.T) { takenAppointments(t, h.open(t)) })
	t.Run("booked online", func(t *testing.T) { bookedOnline(t, h.open(t)) })
	t.Run("latest web booking", func(t *testing.T) { latestWebBooking(t, h.open(t)) })
}

// complete fills every field of a. A string field that it does not set explicitly gets the name of the field, so that a
// new field is tested without a change here.
func complete(a store.Appointment) store.Appointment {
	a = buffered(a, 10, 20)
	a.Overbook, a.OverbookReason = true, "a reason"
	a.Attendance = store.InProgress
	a.Patient = store.Patient{Name: "Zoë Müller", Email: "zoe@example.org", Phone: "+49 30 123",
		BirthDate: "1980-02-29", Notes: "line\nbreak"}
	a.Source, a.UpstreamState, a.UpstreamID, a.UpstreamPatientID = store.SourceAgent, store.UpstreamPending, "u", "p"
	a.ManageEpoch, a.Locale, a.SeriesID, a.VisitID = 7, "es", "s1", "v1"
	a.Place, a.Intake = "north", intake("yes")
	for i, v := 0, reflect.ValueOf(&a).Elem(); i < v.NumField(); i++ {
		if f := v.Field(i); f.Kind() == reflect.String && f.IsZero() {
			f.SetString(v.Type().Field(i).Name)
		}
	}
	return a
}

// intake returns a consent and one answer.
func intake(answer string) store.Intake {
	return store.Intake{
		ConsentedAt: monday.Add(-time.Hour), NewPatient: true,
		Answers: []store.Answer{{QuestionID: "q1", Question: "Are you \"well\"?\n", Value: answer}},
	}
}

func wantAppointment(t *testing.T, s store.Store, want store.Appointment) {
	t.Helper()
	got, err := s.Appointment(t.Context(), want.ID)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Appointment(%s):\n got %+v, %v\nwant %+v", want.ID, got, err, want)
	}
}

func wantAppointments(t *testing.T, what string, s store.Store, f store.AppointmentFilter, want ...store.Appointment) {
	t.Helper()
	got, next, err := s.Appointments(t.Context(), f)
	if err != nil || next != "" {
		t.Errorf("%s: got next %q, %v; want one page", what, next, err)
	}
	names := func(all []store.Appointment) (ids []string) {
		for _, a := range all {
			ids = append(ids, a.ID)
		}
		return ids
	}
	if !slices.Equal(names(got), names(want)) {
		t.Errorf("%s: got %v, want %v", what, names(got), names(want))
	}
}

func listAppointments(t *testing.T, s store.Store) {
	clinic(t, s)
	wantAppointments(t, "an empty database", s, store.AppointmentFilter{})
	ofSeries := func(a store.Appointment) store.Appointment { a.SeriesID = "six-tuesdays"; return a }
	nine := mustInsert(t, s, ofSeries(booking("ada", "checkup", 0, 30)))
	ten := complete(booking("ben", "surgery", 60, 60))
	ten.Owner = "the-client-of-ten-o-clock"
	ten.VisitID = "parent-and-child"
	mustInsert(t, s, ten)
	eleven := mustInsert(t, s, ofSeries(booking("ada", "checkup", 120, 30)))
	wantErr(t, "cancelling", update(t, s, cancelled(eleven)), nil)
	at := func(minutes int) time.Time { return monday.Add(time.Duration(minutes) * time.Minute) }

	wantAppointments(t, "all, by start", s, store.AppointmentFilter{}, nine, ten, eleven)
	wantAppointments(t, "from", s, store.AppointmentFilter{From: at(60)}, ten, eleven)
	wantAppointments(t, "from the middle of a slot", s, store.AppointmentFilter{From: at(119)}, ten, eleven)
	wantAppointments(t, "from the very end of a slot", s, store.AppointmentFilter{From: at(120)}, eleven)
	wantAppointments(t, "to the start of a slot", s, store.AppointmentFilter{To: at(60)}, nine)
	wantAppointments(t, "to a minute after it", s, store.AppointmentFilter{To: at(61)}, nine, ten)
	wantAppointments(t, "between", s, store.AppointmentFilter{From: at(30), To: at(60)})
	wantAppointments(t, "of a specialist", s, store.AppointmentFilter{SpecialistID: "ada"}, nine, eleven)
	wantAppointments(t, "of a client", s, store.AppointmentFilter{Owner: ten.Owner}, ten)
	wantAppointments(t, "confirmed", s, store.AppointmentFilter{Status: store.Confirmed}, nine, ten)
	wantAppointments(t, "cancelled", s, store.AppointmentFilter{Status: store.Cancelled}, eleven)
	wantAppointments(t, "upstream pending", s, store.AppointmentFilter{Upstream: store.UpstreamPending}, ten)
	wantAppointments(t, "no upstream", s, store.AppointmentFilter{Upstream: store.UpstreamNone}, nine, eleven)
	wantAppointments(t, "of a series", s, store.AppointmentFilter{SeriesID: "six-tuesdays"}, nine, eleven)
	wantAppointments(t, "of a series, confirmed", s, store.AppointmentFilter{SeriesID: "six-tuesdays",
		Status: store.Confirmed}, nine)
	wantAppointments(t, "of a visit", s, store.AppointmentFilter{VisitID: "parent-and-child"}, ten)
	twelve := booking("ben", "checkup", 180, 30)
	twelve.RecallAt = at(600)
	mustInsert(t, s, twelve)
	wantAppointments(t, "with a recall", s, store.AppointmentFilter{RecallAfter: at(599)}, twelve)
	wantAppointments(t, "with a later recall", s, store.AppointmentFilter{RecallAfter: at(600)})
	wantErr(t, "cancelling", update(t, s, cancelled(twelve)), nil)
	wantAppointments(t, "cancelled, with a recall", s, store.AppointmentFilter{RecallAfter: at(0),
		Status: store.Cancelled}, twelve)
	wantAppointments(t, "narrowed together", s,
		store.AppointmentFilter{SpecialistID: "ada", Status: store.Confirmed, From: at(0), To: at(600)}, nine)
}

func pageAppointments(t *testing.T, s store.Store) {
	clinic(t, s)
	var want []string
	write(t, s, func(tx store.Tx) error {
		want = want[:0]
		for i := range 12 { // three specialists at each of four times; equal times sort by id
			a := booking([]string{"ada", "ben", "cleo"}[i%3], "checkup", 30*(i/3), 30)
			if err := tx.InsertAppointment(t.Context(), a); err != nil {
				return err
			}
			want = append(want, a.ID)
		}
		return nil
	})
	for _, size := range []int{1, 2, 5, 12, 13} {
		var got []string
		pages := 0
		for cursor := ""; ; pages++ {
			page, next, err := s.Appointments(t.Context(), store.AppointmentFilter{Limit: size, Cursor: cursor})
			if err != nil || len(page) > size || pages > len(want) {
				t.Fatalf("page %d of %d: got %d appointments, %v", pages, size, len(page), err)
			}
			for _, a := range page {
				got = append(got, a.ID)
			}
			if cursor = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: got %v, want %v", size, got, want)
		}
		if wantPages := (len(want) - 1) / size; pages != wantPages {
			t.Errorf("pages of %d: got %d cursors, want %d", size, pages, wantPages)
		}
	}
	for _, cursor := range []string{"x", "!", strings.Repeat("A", 40), "MTIz"} {
		_, _, err := s.Appointments(t.Context(), store.AppointmentFilter{Cursor: cursor})
		wantErr(t, fmt.Sprintf("the cursor %q", cursor), err, store.ErrInvalid)
	}
}

func searchAppointments(t *testing.T, s store.Store) {
	clinic(t, s)
	who := func(start int, p store.Patient) store.Appointment {
		a := booking("ada", "checkup", start, 30)
		a.Patient = p
		if p.Name != "" {
			a.UpstreamPatientID = fmt.Sprintf("abcdef00-0000-4000-8000-%012d", start)
		}
		return mustInsert(t, s, a)
	}
	anna := who(0, store.Patient{Name: "Anna  Schäfer", Email: "Anna.S@Example.org", Phone: "+49 (30) 123-45"})
	bob := who(30, store.Patient{Name: "Bob O'Neil 100%", Email: "bob@example.com", Phone: "0170 555"})
	who(60, store.Patient{})
	for query, want := range map[string][]store.Appointment{
		"anna":         {anna},
		"ANNA":         {anna},
		"schäf":        {anna},
		"SCHÄFER":      {anna},
		"anna schäfer": {anna},
		"example":      {anna, bob},
		"anna.s@":      {anna},
		"@EXAMPLE.COM": {bob},
		"3012345":      {anna},
		"30 123":       {anna},
		"(30) 123-45":  {anna},
		"0170":         {bob},
		"o'neil":       {bob},
		"100%":         {bob},
		"%":            {bob},
		"_":            nil,
		"nobody":       nil,
		"  bob ":       {bob},
	} {
		wantAppointments(t, fmt.Sprintf("searching %q", query), s, store.AppointmentFilter{Query: query}, want...)
	}
	upper := strings.ToUpper(anna.UpstreamPatientID)
	for patient, want := range map[string][]store.Appointment{upper: {anna}, "unknown": nil} {
		wantAppointments(t, "by the upstream's patient "+patient, s, store.AppointmentFilter{UpstreamPatient: patient},
			want...)
	}
	anna.Patient.Name = "Anna Weber"
	wantErr(t, "changing the name", update(t, s, anna), nil)
	wantAppointments(t, "the old name", s, store.AppointmentFilter{Query: "schäfer"})
	wantAppointments(t, "the new name", s, store.AppointmentFilter{Query: "weber"}, anna)
}

func takenAppointments(t *testing.T, s store.Store) {
	clinic(t, s)
	a := mustInsert(t, s, buffered(booking("ada", "surgery", 60, 60), 10, 20))
	over := mustInsert(t, s, overbooked(booking("ada", "checkup", 60, 30)))
	group0 := mustInsert(t, s, booking("ada", "group", 240, 60))
	group1 := mustInsert(t, s, seated(booking("ada", "group", 240, 60), 1))
	gone := mustInsert(t, s, booking("ada", "checkup", 180, 30))
	wantErr(t, "cancelling", update(t, s, cancelled(gone)), nil)
	other := mustInsert(t, s, booking("ben", "checkup", 60, 30))
	mustInsert(t, s, booking("cleo", "checkup", 60, 30))

	describe := func(a store.Appointment) store.Taken {
		return store.Taken{AppointmentID: a.ID, AppointmentTypeID: a.AppointmentTypeID, SpecialistID: a.SpecialistID,
			Seat:     a.Seat,
			Overbook: a.Overbook, SlotStart: a.SlotStart, SlotEnd: a.SlotEnd, BusyStart: a.BusyStart,
			BusyEnd: a.BusyEnd}
	}
	for _, test := range []struct {
		name     string
		ids      []string
		from, to int
		want     []store.Appointment
	}{
		{"a day", []string{"ada"}, -600, 900, []store.Appointment{a, over, group0, group1}},
		{"two specialists, in order", []string{"ben", "ada", "ben"}, -600, 900,
			[]store.Appointment{a, over, group0, group1, other}},
		{"nobody", nil, -600, 900, nil},
		{"an unknown specialist", []string{"unknown"}, -600, 900, nil},
		{"before the buffer", []string{"ada"}, 0, 50, nil},
		{"into the buffer before", []string{"ada"}, 0, 51, []store.Appointment{a}},
		{"into the buffer after", []string{"ada"}, 139, 240, []store.Appointment{a}},
		{"after the buffer", []string{"ada"}, 140, 240, nil},
		{"inside a slot", []string{"ada"}, 100, 101, []store.Appointment{a}},
		{"an empty range", []string{"ada"}, 100, 100, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := s.Taken(t.Context(), test.ids, monday.Add(time.Duration(test.from)*time.Minute),
				monday.Add(time.Duration(test.to)*time.Minute))
			var want []store.Taken
			for _, a := range test.want {
				want = append(want, describe(a))
			}
			// The two that start together have the same seat, so either may come first.
			slices.SortStableFunc(got, byTaken)
			slices.SortStableFunc(want, byTaken)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("\n got %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

func byTaken(a, b store.Taken) int {
	return strings.Compare(
		fmt.Sprintf("%s %d %d %s", a.SpecialistID, a.SlotStart.Unix(), a.Seat, a.AppointmentID),
		fmt.Sprintf("%s %d %d %s", b.SpecialistID, b.SlotStart.Unix(), b.Seat, b.AppointmentID))
}

// bookedOnline checks that BookedOnline lists the newest bookings first and omits bookings by the desk.
func bookedOnline(t *testing.T, s store.Store) {
	clinic(t, s)
	at := func(minutes int, source store.Source, specialist string, start int) store.Appointment {
		a := booking(specialist, "checkup", start, 30)
		a.Source, a.CreatedAt = source, monday.Add(time.Duration(minutes)*time.Minute)
		a.ID = fmt.Sprintf("%08x-%04x-7000-8000-%012d", a.CreatedAt.UnixMilli()>>16, a.CreatedAt.UnixMilli()&0xffff,
			start)
		return mustInsert(t, s, a)
	}
	at(0, store.SourceWeb, "ada", 0) // before
	first := at(10, store.SourceWeb, "ada", 60)
	at(20, store.SourceStaff, "ada", 120)
	second := at(30, store.SourceAgent, "ben", 180)
	third := at(40, store.SourceWeb, "ada", 240)
	gone := third
	gone.Status, gone.CancelledAt = store.Cancelled, monday.Add(time.Hour)
	wantErr(t, "cancel", update(t, s, gone), nil)
	gone.Version++
	for _, c := range []struct {
		specialist string
		limit      int
		want       []store.Appointment
	}{{"", 0, []store.Appointment{gone, second, first}}, {"", 2, []store.Appointment{gone, second}},
		{"ada", 0, []store.Appointment{gone, first}}} {
		got, err := s.BookedOnline(t.Context(), monday.Add(10*time.Minute), c.specialist, c.limit)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("of %q, %d at most: %v\n got %+v\nwant %+v", c.specialist, c.limit, err, got, c.want)
		}
	}
}

func latestWebBooking(t *testing.T, s store.Store) {
	clinic(t, s)
	const client = "a-client-of-at-least-sixteen"
	made := func(a store.Appointment, created time.Duration, source store.Source) store.Appointment {
		a.Owner, a.CreatedAt, a.Source = client, monday.Add(created), source
		return mustInsert(t, s, a)
	}
	latest := func() (store.WebBooking, error) {
		return s.LatestWebBooking(t.Context(), client, "checkup", monday.Add(-2*time.Hour))
	}
	_, err := latest()
	wantErr(t, "none yet", err, store.ErrNotFound)

	made(booking("ada", "checkup", 0, 30), -3*time.Hour, store.SourceWeb)
	_, err = latest()
	wantErr(t, "one before since", err, store.ErrNotFound)

	made(booking("ada", "checkup", 30, 30), -time.Hour, store.SourceAgent)
	made(booking("ada", "checkup", 60, 30), -time.Hour, store.SourceStaff)
	made(booking("ada", "short", 90, 15), -time.Hour, store.SourceWeb)
	_, err = latest()
	wantErr(t, "of another source or type", err, store.ErrNotFound)
	_, err = s.LatestWebBooking(t.Context(), "", "checkup", time.Time{})
	wantErr(t, "of no client", err, store.ErrNotFound)

	first := made(booking("ada", "checkup", 120, 30), -2*time.Hour, store.SourceWeb)
	if got, err := latest(); err != nil || !got.CreatedAt.Equal(monday.Add(-2*time.Hour)) ||
		got.AppointmentID != first.ID {
		t.Errorf("one booked exactly at since: got %v, %v", got, err)
	}
	newest := made(booking("ada", "checkup", 150, 30), -time.Hour, store.SourceWeb)
	if got, err := latest(); err != nil || !got.CreatedAt.Equal(newest.CreatedAt) || got.AppointmentID != newest.ID ||
		!got.SlotStart.Equal(newest.SlotStart) {
		t.Errorf("the newest: got %v, %v; want %v", got, err, newest.CreatedAt)
	}
	wantErr(t, "cancelling the newest", update(t, s, cancelled(newest)), nil)
	if got, err := latest(); err != nil || !got.CreatedAt.Equal(monday.Add(-2*time.Hour)) {
		t.Errorf("after it was cancelled: got %v, %v; want the previous one", got, err)
	}
}
