package fhir_test

import (
	"encoding/json"
	"slices"
	"testing"

	"holdfast/web/fhir"
)

// TestBundleOmitsEmptyElements checks the JSON of a search result. FHIR forbids empty elements, so the JSON must
// contain no element without a value and no empty list of entries.
func TestBundleOmitsEmptyElements(t *testing.T) {
	t.Parallel()
	b := fhir.Found("https://book.example.org/fhir/Slot?start=2026-11-23")
	wantJSON(t, b, `{"resourceType":"Bundle","type":"searchset",`+
		`"link":[{"relation":"self","url":"https://book.example.org/fhir/Slot?start=2026-11-23"}]}`)

	none := 0
	b = fhir.Found("s")
	b.Total = &none // known to be 0, as opposed to unknown
	wantJSON(t, b, `{"resourceType":"Bundle","type":"searchset","total":0,"link":[{"relation":"self","url":"s"}]}`)

	b = fhir.Found("s")
	b.Add("https://book.example.org/fhir/Slot/1", &fhir.Slot{
		ResourceType: "Slot", ID: "1", Schedule: fhir.Reference{Reference: "Schedule/ada"}, Status: fhir.Held,
		Start: "2026-11-23T09:00:00Z", End: "2026-11-23T09:30:00Z",
	})
	wantJSON(t, b, `{"resourceType":"Bundle","type":"searchset","link":[{"relation":"self","url":"s"}],"entry":[{`+
		`"fullUrl":"https://book.example.org/fhir/Slot/1","resource":{"resourceType":"Slot","id":"1",`+
		`"schedule":{"reference":"Schedule/ada"},"status":"busy-tentative",`+
		`"start":"2026-11-23T09:00:00Z","end":"2026-11-23T09:30:00Z"},"search":{"mode":"match"}}]}`)
}

// TestAppointmentKeepsRequiredElements checks that the JSON of an appointment contains the elements that R4 requires
// and those that are set, and no others.
func TestAppointmentKeepsRequiredElements(t *testing.T) {
	t.Parallel()
	a := fhir.Appointment{
		ResourceType: "Appointment", ID: "1", Status: "cancelled", Start: "2026-11-23T09:00:00Z",
		End: "2026-11-23T09:30:00Z", CancelationReason: &fhir.CodeableConcept{Text: "ill"},
		Participant: []fhir.Participant{{Actor: fhir.Reference{Reference: "#patient"}, Status: "declined"}},
	}
	wantJSON(t, a, `{"resourceType":"Appointment","id":"1","status":"cancelled","cancelationReason":{"text":"ill"},`+
		`"start":"2026-11-23T09:00:00Z","end":"2026-11-23T09:30:00Z",`+
		`"participant":[{"actor":{"reference":"#patient"},"status":"declined"}]}`)
}

// TestIssueCodeIsOfStandard checks that, for every error status, IssueCode returns a code from R4's value set
// issue-type.
func TestIssueCodeIsOfStandard(t *testing.T) {
	t.Parallel()
	issueType := []string{
		"invalid", "structure", "required", "value", "invariant", "security", "login", "unknown", "expired",
		"forbidden", "suppressed", "processing", "not-supported", "duplicate", "multiple-matches", "not-found",
		"deleted", "too-long", "code-invalid", "extension", "too-costly", "business-rule", "conflict", "transient",
		"lock-error", "no-store", "exception", "timeout", "incomplete", "throttled", "informational",
	}
	for status := 400; status < 600; status++ {
		if code := fhir.IssueCode(status); !slices.Contains(issueType, code) {
			t.Errorf("status %d: R4 has no issue type %q", status, code)
		}
	}
	for status, want := range map[int]string{
		401: "login", 403: "forbidden", 404: "not-found", 409: "conflict", 412: "conflict", 422: "invalid",
		429: "throttled", 500: "exception", 503: "transient",
	} {
		if got := fhir.IssueCode(status); got != want {
			t.Errorf("status %d: got %q, want %q", status, got, want)
		}
	}
}

func wantJSON(t *testing.T, resource any, want string) {
	t.Helper()
	got, err := json.Marshal(resource)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
