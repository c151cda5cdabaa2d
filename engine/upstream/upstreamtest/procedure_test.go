package upstreamtest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
)

// TestRefuseTaken: with RefuseTaken, the server refuses taken slots, and a late write does not overwrite them.
func TestRefuseTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := upstreamtest.New(upstreamtest.Options{RefuseTaken: true})
		c, n := inProcess(t, s), wanted(t)
		s.Script(upstreamtest.Step{Outcome: upstreamtest.Late, Delay: time.Minute})
		_, _ = c.SetAppointment(t.Context(), n)
		if _, err := c.SetAppointment(t.Context(), n); err != nil {
			t.Errorf("before the first one arrived: got %v, want it written", err)
		}
		time.Sleep(2 * time.Minute)
		n.PatientGUID, n.Start = sibling, n.Start.Add(15*time.Minute)
		if _, err := c.SetAppointment(t.Context(), n); upstream.ReasonOf(err) != upstream.SlotTaken {
			t.Errorf("overlapping: got %v, want reason %q", err, upstream.SlotTaken)
		}
		n.Start = n.Start.Add(15 * time.Minute)
		if _, err := c.SetAppointment(t.Context(), n); err != nil {
			t.Errorf("directly after it: got %v, want it written", err)
		}
		if got := s.Score(); got.Appointments != 2 || got.Duplicates != 0 {
			t.Errorf("got %+v, want 2 appointments and no duplicate", got)
		}
	})
}

func TestPatientsCommentsAndCancelling(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Patients: []string{strings.ToUpper(patient)}, Zone: newYork(t)})
	c, ctx := inProcess(t, s), t.Context()
	if err := c.SetPatientComment(ctx, sibling, "a note"); upstream.ReasonOf(err) != upstream.PatientUnknown {
		t.Errorf("a note for an unknown patient: got %v, want reason %q", err, upstream.PatientUnknown)
	}
	n := wanted(t)
	n.PatientGUID = sibling
	if _, err := c.SetAppointment(ctx, n); upstream.ReasonOf(err) != upstream.PatientUnknown {
		t.Errorf("an appointment for an unknown patient: got %v, want reason %q", err, upstream.PatientUnknown)
	}
	if _, err := c.GetAppointmentListByPatient(ctx, sibling,
		newYork(t)); upstream.ReasonOf(err) != upstream.PatientUnknown {
		t.Errorf("the list of an unknown patient: got %v, want reason %q", err, upstream.PatientUnknown)
	}
	guid, err := c.SetPatient(ctx, upstream.NewPatient{FirstName: "Zoë", LastName: "<Nil>"})
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range []string{"Child: Max & Moritz", "a\nsecond"} {
		if err := c.SetPatientComment(ctx, guid, note); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Comments(strings.ToUpper(guid)); len(got) != 2 || got[0] != "Child: Max & Moritz" ||
		got[1] != "a\nsecond" {
		t.Errorf("got notes %q, want both unchanged", got)
	}
	n.PatientGUID = guid
	made, err := c.SetAppointment(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 { // the second time, it is already cancelled, which also counts as success
		if err := c.SetAppointmentStatusCanceled(ctx, made.GUID); err != nil {
			t.Errorf("cancel %d: got %v, want success", i+1, err)
		}
	}
	if err := c.SetAppointmentStatusCanceled(ctx, typ); upstream.ReasonOf(err) != upstream.AppointmentUnknown {
		t.Errorf("cancelling an unknown appointment: got %v, want reason %q", err, upstream.AppointmentUnknown)
	}
	list, err := c.GetAppointmentListByPatient(ctx, guid, newYork(t))
	if err != nil || len(list) != 1 || !list[0].Cancelled || len(n.Match(list)) != 0 {
		t.Errorf("got %+v, %v; want the cancelled one", list, err)
	}
	s.Add(upstreamtest.Appointment{PatientGUID: guid, Start: ten, Minutes: 30,
		ScheduleColumnGUID: strings.ToUpper(column)})
	if list, _ = c.GetAppointmentListByPatient(ctx, guid, newYork(t)); len(n.Match(list)) != 1 {
		t.Errorf("got %+v, want the front desk's appointment", list)
	}
}

func TestOpenings(t *testing.T) {
	zone := newYork(t)
	s := upstreamtest.New(upstreamtest.Options{Zone: zone, Columns: []upstreamtest.Column{
		{ScheduleViewGUID: view, ScheduleColumnGUID: column},
		{ScheduleViewGUID: typ, ScheduleColumnGUID: sibling, FromHour: 10, ToHour: 12, Minutes: 45,
			Weekdays: []time.Weekday{time.Saturday}},
	}})
	c := inProcess(t, s)
	get := func(o upstream.Openings) []upstream.Opening {
		t.Helper()
		o.Zone = zone
		got, dropped, err := c.GetOnlineReservations(t.Context(), o)
		if err != nil || dropped != 0 {
			t.Fatalf("got %d dropped, %v", dropped, err)
		}
		return got
	}
	monday := time.Date(2026, 3, 2, 0, 0, 0, 0, zone)
	if got := get(upstream.Openings{From: monday, To: monday.AddDate(0, 0, 7).Add(-time.Second)}); len(got) != 5*16+2 {
		t.Errorf("a week: got %d openings, want 5 days of 16 and 2 on Saturday", len(got))
	}
	if got := get(upstream.Openings{From: monday, To: monday.AddDate(0, 0, 1), Morning: true}); len(got) != 6 {
		t.Errorf("a Monday morning: got %d openings, want 6", len(got))
	}
	day := upstream.Openings{From: monday, To: monday.AddDate(0, 0, 1), Afternoon: true,
		ScheduleViewGUIDs: []string{strings.ToUpper(view)}, AppointmentTypeGUIDs: []string{typ}}
	got := get(day)
	want := upstream.Opening{Start: monday.Add(12 * time.Hour).UTC(), Minutes: 30, ScheduleViewGUID: view,
		ScheduleColumnGUID: column, AppointmentTypeGUID: typ}
	if len(got) != 10 || got[0] != want {
		t.Fatalf("a Monday afternoon: got %d openings, the first %+v\nwant 10 and %+v", len(got), got[0], want)
	}
	n := wanted(t)
	n.Start = got[0].Start
	if _, err := c.SetAppointment(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if again := get(day); len(again) != 9 || again[0].Start.Equal(n.Start) {
		t.Errorf("after the first was booked: got %d openings, want 9 without it", len(again))
	}
	// After a clock change, the hours are still in local time.
	summer := time.Date(2026, 3, 9, 0, 0, 0, 0, zone)
	if got := get(upstream.Openings{From: summer, To: summer.AddDate(0, 0, 1)}); upstream.FormatTime(got[0].Start,
		zone) != "03/09/2026 09:00 AM" {
		t.Errorf("after the change of clocks: got %s, want 9 AM", upstream.FormatTime(got[0].Start, zone))
	}
}

// TestServerRefusesInvalidRequests: the fake is as strict as the real system.
func TestServerRefusesInvalidRequests(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{ClientID: "a", User: "b", Password: "c"})
	_, err := inProcess(t, s).SetAppointment(t.Context(), wanted(t))
	if upstream.ClassOf(err) != upstream.Misconfigured {
		t.Errorf("wrong credentials: got %v, want class %q", err, upstream.Misconfigured)
	}
	c := client(t, upstream.Options{URL: "http://upstream.example", ClientID: "a", User: "b", Password: "c",
		HTTP: s.Client()})
	if _, err = c.SetAppointment(t.Context(), wanted(t)); err != nil {
		t.Errorf("the right credentials: got %v", err)
	}
	n := wanted(t)
	n.ScheduleColumnGUID = "chair 1"
	if _, err = c.SetAppointment(t.Context(), n); upstream.ReasonOf(err) != upstream.Invalid {
		t.Errorf("without a GUID: got %v, want reason %q", err, upstream.Invalid)
	}
	const ns = `xmlns="http://schemas.practica.ws/cloud9/partners/"`
	for _, test := range []struct {
		method, kind, body string
		status             int
		answer             string
	}{
		{"GET", "application/xml", "", 405, "POST"},
		{"POST", "application/json", "{}", 405, "POST"},
		{"POST", "application/xml", "{}", 400, "not a GetDataRequest"},
		{"POST", "application/xml", "<GetDataRequest/>", 400, "not a GetDataRequest"},
		{"POST", "application/xml", "<GetDataRequest " + ns + "/>", 200, "Invalid user name"},
		{"POST", "application/xml", "<GetDataRequest " + ns +
			"><ClientID>a</ClientID><UserName>b</UserName><Password>c</Password><Procedure>Dance</Procedure></GetDataRequest>", 200, "Unknown procedure"},
		{"POST", "application/xml", "<GetDataRequest " + ns +
			"><ClientID>a</ClientID><UserName>b</UserName><Password>c</Password><Procedure>GetOnlineReservations</Procedure></GetDataRequest>", 200, "startDate"},
	} {
		r := httptest.NewRequest(test.method, "/GetData.ashx", strings.NewReader(test.body))
		r.Header.Set("Content-Type", test.kind)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.answer) {
			t.Errorf("%s %s %s: got %d %s, want %d with %q", test.method, test.kind, test.body, w.Code, w.Body,
				test.status, test.answer)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	r, _ := http.NewRequestWithContext(gone, "POST", "http://upstream.example", strings.NewReader("x"))
	if _, err := s.RoundTrip(r); err != context.Canceled {
		t.Errorf("a cancelled caller: got %v, want %v", err, context.Canceled)
	}
}
