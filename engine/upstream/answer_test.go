package upstream

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const (
	patient     = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
	view        = "11111111-2222-4333-8444-555555555555"
	column      = "66666666-7777-4888-8999-aaaaaaaaaaaa"
	typ         = "bbbbbbbb-cccc-4ddd-8eee-ffffffffffff"
	appointment = "7d0c2a1e-5b44-4c7f-9a55-0f6f2f1d3c01"
)

func newYork(t testing.TB) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// ten is 01/20/2026 10:00 AM in New York.
var ten = time.Date(2026, 1, 20, 15, 0, 0, 0, time.UTC)

func wanted(t testing.TB) NewAppointment {
	return NewAppointment{
		PatientGUID: patient, Start: ten, Zone: newYork(t),
		ScheduleViewGUID: view, ScheduleColumnGUID: column, AppointmentTypeGUID: typ, Minutes: 30,
	}
}

func options(url string) Options {
	return Options{URL: url, ClientID: "client-of-nobody", User: "user & sons", Password: `p<w>"'`, Vendor: "vendor"}
}

func client(t testing.TB, o Options) *Client {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("../../testdata/upstream/" + name + ".xml")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAnswers reads the responses in testdata/upstream and checks what each means for the call that received it. ok is
// the returned value; a class or reason stands for an error.
func TestAnswers(t *testing.T) {
	zone := newYork(t)
	ctx := context.Background()
	set := func(c *Client) (any, error) { return c.SetAppointment(ctx, wanted(t)) }
	cancel := func(c *Client) (any, error) { return nil, c.SetAppointmentStatusCanceled(ctx, appointment) }
	addPatient := func(c *Client) (any, error) {
		return c.SetPatient(ctx, NewPatient{FirstName: "Zoë", LastName: "Nil"})
	}
	find := func(c *Client) (any, error) { return c.FindPatients(ctx, "Zoë", "Nil") }
	read := func(c *Client) (any, error) { return c.PatientInformation(ctx, patient) }
	born := time.Date(2015, 2, 3, 0, 0, 0, 0, time.UTC)
	comment := func(c *Client) (any, error) { return nil, c.SetPatientComment(ctx, patient, "a note") }
	list := func(c *Client) (any, error) { return c.GetAppointmentListByPatient(ctx, patient, zone) }
	open := func(types ...string) func(*Client) (any, error) {
		return func(c *Client) (any, error) {
			got, dropped, err := c.GetOnlineReservations(ctx,
				Openings{From: ten, To: ten.Add(time.Hour), Zone: zone, AppointmentTypeGUIDs: types})
			return fmt.Sprintf("%v, %d dropped", got, dropped), err
		}
	}
	nine := time.Date(2026, 1, 20, 14, 0, 0, 0, time.UTC)
	opening := Opening{Start: nine, Minutes: 30, ScheduleViewGUID: view, ScheduleColumnGUID: column,
		AppointmentTypeGUID: typ}
	asked := opening
	asked.AppointmentTypeGUID = view
	untyped := opening
	untyped.AppointmentTypeGUID = ""
	afternoon := Opening{Start: nine.Add(4*time.Hour + 30*time.Minute), Minutes: 45, ScheduleViewGUID: view,
		ScheduleColumnGUID: column, AppointmentTypeGUID: typ}
	same := appointment[:len(appointment)-1]

	tests := []struct {
		file   string
		call   func(*Client) (any, error)
		ok     any
		class  Class
		reason Reason
		status int // 200 if it is zero
	}{
		{"appointment-added", set, Created{GUID: appointment}, "", "", 0},
		{"appointment-added", set, Created{GUID: appointment}, "", "", 201},
		{"appointment-added-braces", set, Created{GUID: strings.ToUpper(appointment)}, "", "", 0},
		{"appointment-added-bom", set, Created{GUID: appointment}, "", "", 0},
		{"appointment-added-utf16-label", set, Created{GUID: appointment}, "", "", 0},
		{"appointment-created-no-guid", set, Created{LookUp: true}, "", "", 0},
		{"appointment-added-empty-guid", set, Created{LookUp: true}, "", "", 0},
		{"appointment-added-two-guids", set, Created{LookUp: true}, "", "", 0},
		{"success-without-result", set, nil, Unknown, "", 0},
		{"success-with-strange-result", set, nil, Unknown, "", 0},

		{"rate-limit", set, nil, RateLimited, "", 0},
		{"rate-limit", set, nil, RateLimited, "", 429},
		{"rate-limit", set, nil, RateLimited, "", 503},
		{"rate-limit", comment, nil, RateLimited, "", 0},
		{"rate-limit", list, nil, RateLimited, "", 0},
		{"rate-limit-other-words", set, nil, RateLimited, "", 0},
		{"rate-limit-as-success", set, nil, RateLimited, "", 0},
		{"empty", set, nil, RateLimited, "", 429},
		{"html", set, nil, RateLimited, "", 503},

		{"slot-taken", set, nil, Refused, SlotTaken, 0},
		{"slot-taken", set, nil, Refused, SlotTaken, 500},
		{"slot-taken-other-words", set, nil, Refused, SlotTaken, 0},
		{"slot-taken-overlap", set, nil, Refused, SlotTaken, 0},
		{"patient-unknown", set, nil, Refused, PatientUnknown, 0},
		{"patient-unknown", list, nil, Refused, PatientUnknown, 0},
		{"patient-unknown-other-words", comment, nil, Refused, PatientUnknown, 0},
		{"error-reason-in-result", set, nil, Refused, PatientUnknown, 0},
		{"already-booked", set, nil, Refused, AlreadyBooked, 0},
		{"already-booked-slot", set, nil, Refused, AlreadyBooked, 0},
		{"already-cancelled", cancel, nil, "", "", 0},
		{"already-cancelled", set, nil, Refused, AlreadyCancelled, 0},
		{"appointment-unknown", cancel, nil, Refused, AppointmentUnknown, 0},
		{"field-invalid", set, nil, Refused, Invalid, 0},
		{"type-unknown", set, nil, Refused, Invalid, 0},

		{"credentials", set, nil, Misconfigured, "", 0},
		{"credentials-client", set, nil, Misconfigured, "", 0},
		{"procedure-unknown", set, nil, Misconfigured, "", 0},
		{"empty", set, nil, Misconfigured, "", 401},
		{"empty", set, nil, Misconfigured, "", 403},
		{"empty", set, nil, Misconfigured, "", 407},
		{"empty", set, nil, Misconfigured, "", 404},
		{"not-xml", set, nil, Misconfigured, "", 405},
		{"empty", set, nil, Misconfigured, "", 302},

		{"fault-timeout", set, nil, Unknown, "", 0},
		{"fault-exception", set, nil, Unknown, "", 0},
		{"fault-invalid-operation", set, nil, Unknown, "", 0},
		{"fault-service", set, nil, Unknown, "", 0},
		{"error-unheard-of", set, nil, Unknown, "", 0},
		{"error-without-reason", set, nil, Unknown, "", 0},
		{"yes-and-no", set, nil, Unknown, "", 0},
		{"two-statuses", set, nil, Unknown, "", 0},
		{"two-results", set, nil, Unknown, "", 0},
		{"status-unheard-of", set, nil, Unknown, "", 0},
		{"status-missing", set, nil, Unknown, "", 0},
		{"half", set, nil, Unknown, "", 0},
		{"half-at-the-last-byte", set, nil, Unknown, "", 0},
		{"empty", set, nil, Unknown, "", 0},
		{"empty", set, nil, Unknown, "", 500},
		{"empty", set, nil, Unknown, "", 408},
		{"appointment-added", set, nil, Unknown, "", 500},
		{"appointment-added", set, nil, Unknown, "", 429},
		{"success-without-result", set, nil, Unknown, "", 500},
		{"not-xml", set, nil, Unknown, "", 0},
		{"not-xml", set, nil, Unknown, "", 503},
		{"html", set, nil, Unknown, "", 0},
		{"wrong-root", set, nil, Unknown, "", 0},
		{"wrong-namespace", set, nil, Unknown, "", 0},
		{"no-namespace", set, nil, Unknown, "", 0},
		{"dtd", set, nil, Unknown, "", 0},
		{"entity", set, nil, Unknown, "", 0},
		{"undeclared-entity", set, nil, Unknown, "", 0},
		{"trailing-document", set, nil, Unknown, "", 0},
		{"trailing-text", set, nil, Unknown, "", 0},
		{"too-deep", set, nil, Unknown, "", 0},
		{"not-utf8", set, nil, Unknown, "", 0},
		{"strange-encoding", set, nil, Unknown, "", 0},

		{"patient-added", addPatient, patient, "", "", 0},
		{"patient-added-no-guid", addPatient, nil, Unknown, "", 0},
		{"comment-added", comment, nil, "", "", 0},
		{"success-without-result", comment, nil, "", "", 0},
		{"cancelled", cancel, nil, "", "", 0},

		{"patients", find, []KnownPatient{
			{GUID: patient, FirstName: "Zoë Marie", LastName: "Nil", BirthDate: born},
			{GUID: patient[:len(patient)-1] + "2", FirstName: "Zoë", LastName: "Nil",
				BirthDate: time.Date(2016, 4, 5, 0, 0, 0, 0, time.UTC)},
			{GUID: patient[:len(patient)-1] + "3", FirstName: "Cher"},
		}, "", "", 0},
		{"list-empty", find, []KnownPatient{}, "", "", 0},
		{"procedure-not-authorized", find, nil, Misconfigured, "", 0},
		{"rate-limit", find, nil, RateLimited, "", 0},
		{"empty", find, nil, Unknown, "", 0},
		{"patient-information", read, KnownPatient{GUID: patient, FirstName: "Zoë", LastName: "van Nil",
			BirthDate: born, Phone: "(555) 010-0123", Email: "zoe@example.org"}, "", "", 0},
		{"patient-unknown", read, nil, Refused, PatientUnknown, 0},
		{"list-empty", read, nil, Refused, PatientUnknown, 0},
		{"success-without-result", read, nil, Refused, PatientUnknown, 0},
		{"success-with-strange-result", read, nil, Unknown, "", 0},
		{"procedure-not-authorized", read, nil, Misconfigured, "", 0},
		{"list", list, []Appointment{
			{GUID: strings.ToUpper(appointment), Start: ten, Minutes: 30, ScheduleViewGUID: view,
				ScheduleColumnGUID: column, AppointmentTypeGUID: typ},
			{GUID: same + "2", Start: ten.Add(4*time.Hour + 30*time.Minute), Minutes: 45, ScheduleViewGUID: view,
				ScheduleColumnGUID: strings.ToUpper(column), AppointmentTypeGUID: typ, Cancelled: true},
			{GUID: same + "3", PatientGUID: patient, Start: time.Date(2026, 7, 1, 13, 0, 0, 0, time.UTC),
				ScheduleColumnGUID: column},
			{GUID: same + "4", ScheduleViewGUID: view, ScheduleColumnGUID: column, AppointmentTypeGUID: typ},
		}, "", "", 0},
		{"list-empty", list, []Appointment{}, "", "", 0},
		{"list-none-found", list, []Appointment{}, "", "", 0},
		{"list-none-found-as-error", list, []Appointment(nil), "", "", 0},
		{"list-unreadable-time", list, nil, Unknown, "", 0},
		{"list-unreadable-guid", list, nil, Unknown, "", 0},
		{"list-unreadable-minutes", list, nil, Unknown, "", 0},

		{"openings", open(typ), fmt.Sprintf("%v, 3 dropped", []Opening{opening, afternoon}), "", "", 0},
		{"openings-latin1", open(), fmt.Sprintf("%v, 0 dropped", []Opening{untyped}), "", "", 0},
		{"openings-latin1", open(view), fmt.Sprintf("%v, 0 dropped", []Opening{asked}), "", "", 0},
		{"openings-type-given", open(view), fmt.Sprintf("%v, 0 dropped", []Opening{opening}), "", "", 0},
		{"list-empty", open(), "[], 0 dropped", "", "", 0},
		{"rate-limit", open(), nil, RateLimited, "", 0},
	}
	used := map[string]bool{}
	for _, test := range tests {
		used[test.file] = true
		t.Run(fmt.Sprintf("%s %d", test.file, test.status), func(t *testing.T) {
			body, status := testdata(t, test.file), test.status
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if status != 0 {
					w.WriteHeader(status)
				}
				_, _ = w.Write(body)
			}))
			defer server.Close()
			got, err := test.call(client(t, options(server.URL+"/GetData.ashx")))
			if test.class != "" {
				if ClassOf(err) != test.class || ReasonOf(err) != test.reason {
					t.Fatalf("got %v, %v (class %q, reason %q); want class %q, reason %q", got, err, ClassOf(err),
						ReasonOf(err), test.class, test.reason)
				}
				private(t, err)
				return
			}
			if err != nil || !reflect.DeepEqual(got, test.ok) {
				t.Fatalf("got %+v, %v\nwant %+v", got, err, test.ok)
			}
		})
	}
	files, err := filepath.Glob("../../testdata/upstream/*.xml")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files of testdata, %v", len(files), err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".xml"); !used[name] &&
			!strings.HasPrefix(name, "request-") {
			t.Errorf("%s is in testdata, but not in the table", name)
		}
	}
}

// private fails if err contains a credential, an address, or personal data.
func private(t *testing.T, err error) {
	t.Helper()
	shown := strings.ToLower(fmt.Sprintf("%v %+v %#v", err, err, err))
	for _, secret := range []string{
		"client-of-nobody", "user & sons", `p<w>`, "127.0.0.1", "http://", ".ashx",
		patient, appointment, column, "jane", "example", "02/03/2015", "zoë", "10:00", "a note",
	} {
		if strings.Contains(shown, secret) {
			t.Errorf("the error shows %q: %s", secret, shown)
		}
	}
}

// TestPartialSuccessAnswerIsUnknown cuts off a successful response after each byte: the outcome must be unknown.
func TestPartialSuccessAnswerIsUnknown(t *testing.T) {
	body := testdata(t, "appointment-added")
	end := len(strings.TrimSpace(string(body)))
	for n := range end {
		if _, verdict := judge(200, body[:n]); verdict.class != Unknown {
			t.Fatalf("the first %d of %d bytes: got class %q, want %q", n, end, verdict.class, Unknown)
		}
	}
	if a, verdict := judge(200, body[:end]); verdict.class != "" || a.made() != appointment {
		t.Fatalf("the whole answer: got class %q, want success (or this test proves nothing)", verdict.class)
	}
}

// FuzzAnswer: a response counts as success only if it is one complete document that says Success, and as a certain
// failure only if it says so.
func FuzzAnswer(f *testing.F) {
	files, err := filepath.Glob("../../testdata/upstream/*.xml")
	if err != nil || len(files) == 0 {
		f.Fatalf("got %d files, %v", len(files), err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(200, body)
		f.Add(500, body)
	}
	zone := newYork(f)
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		a, verdict := judge(status, body)
		switch verdict.class {
		case "":
			if status < 200 || status > 299 || !a.success || !strings.Contains(string(body), Namespace) {
				t.Fatalf("status %d, %q: got a yes", status, body)
			}
			a.made()
			for _, r := range a.records {
				r.appointment(zone)
				r.opening(Openings{Zone: zone})
			}
		case Refused:
			if verdict.reason == "" || !strings.Contains(string(body), Namespace) {
				t.Fatalf("status %d, %q: refused with reason %q", status, body, verdict.reason)
			}
		case RateLimited, Misconfigured, Unknown:
			if a != nil {
				t.Fatalf("status %d, %q: class %q with an answer", status, body, verdict.class)
			}
		default:
			t.Fatalf("class %q", verdict.class)
		}
		if verdict.class != "" && verdict.detail == "" {
			t.Fatalf("class %q without a reason", verdict.class)
		}
	})
}
