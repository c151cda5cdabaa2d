package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

const (
	clinicSite = "https://www.clinic.example"
	otherSite  = "https://other.example"
)

// newSiteHouse returns a server on which the pages of clinicSite can book.
func newSiteHouse(t *testing.T) *house {
	t.Helper()
	h := newHouse(t)
	h.do("PATCH", "/v1/settings", map[string]any{"corsOrigins": []string{clinicSite}}, asAdmin).want(200)
	return h
}

// allows checks whether the headers of a response let a page of clinicSite read it. They must never allow credentials.
func (r *reply) allows(yes bool) *reply {
	r.t.Helper()
	want := ""
	if yes {
		want = clinicSite
	}
	if got := r.header.Get("Access-Control-Allow-Origin"); got != want {
		r.t.Errorf("Access-Control-Allow-Origin: got %q, want %q", got, want)
	}
	if got := r.header.Get("Access-Control-Allow-Credentials"); got != "" {
		r.t.Errorf("Access-Control-Allow-Credentials: got %q, want none", got)
	}
	return r
}

func TestNamedSiteBooks(t *testing.T) {
	h := newSiteHouse(t)
	site := header{"Origin": clinicSite, "Sec-Fetch-Site": "cross-site", "Holdfast-Client": client(1)}
	listed := h.do("GET", "/v1/appointment-types/checkup/timeslots?date="+h.at(0)[:10], nil,
		site).want(200).allows(true)
	if vary := strings.Join(listed.header.Values("Vary"), ", "); !strings.Contains(vary, "Origin") {
		t.Errorf("Vary: got %q, want Origin in it", vary)
	}
	for _, name := range []string{"ETag", "Retry-After", "Idempotency-Replayed"} {
		if !strings.Contains(listed.header.Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("the page cannot read %s", name)
		}
	}
	hold := h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0)},
		site).want(201).allows(true)
	h.do("POST", "/v1/appointment-types/checkup/book", map[string]any{"slotStartDate": h.at(0),
		"specialistId": hold.text("specialistId"),
		"patient":      patient(1)}, site).want(201).allows(true)
	// refusals can be read too
	h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup"}, site).want(422).allows(true)
}

func TestOtherSiteIsRefused(t *testing.T) {
	for name, named := range map[string]bool{"no site is named": false, "another site is named": true} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			if named {
				h = newSiteHouse(t)
			}
			site := header{"Origin": otherSite, "Sec-Fetch-Site": "cross-site"}
			h.do("GET", "/v1/clinic", nil, site).want(200).allows(false)
			h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0),
				"clientId": client(1)}, site).problem(403, "forbidden").allows(false)
			asked := h.do("OPTIONS", "/v1/holds", nil, site,
				header{"Access-Control-Request-Method": "POST"}).want(204).allows(false)
			if got := asked.header.Get("Access-Control-Allow-Methods"); got != "" {
				t.Errorf("the preflight allows %s", got)
			}
		})
	}
}

// TestNamedSiteHasNoCredentials checks that a page of a named site acts as an anonymous visitor, whatever the browser or
// the page adds to its requests.
func TestNamedSiteHasNoCredentials(t *testing.T) {
	h := newSiteHouse(t)
	site := header{"Origin": clinicSite, "Sec-Fetch-Site": "cross-site"}
	staff := h.signedIn("desk@clinic.example", "reception", "")
	h.do("GET", "/v1/appointments?date="+h.at(0)[:10], nil, staff).want(200)
	h.do("GET", "/v1/appointments?date="+h.at(0)[:10], nil, staff, site).allows(false)
	h.do("POST", "/v1/auth/sign-out", nil, staff, site).problem(403, "forbidden").allows(false)
	h.do("PUT", "/v1/settings", map[string]any{}, staff, site).problem(403, "forbidden").allows(false)
	h.do("PUT", "/v1/settings", map[string]any{}, asAdmin, site).problem(403, "forbidden").allows(false)
	// A type that only the desk can book is hidden from the page, even though the browser sent the desk's cookie.
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"deskOnly": true}, asAdmin).want(200)
	hold := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0), "clientId": client(1)}
	h.do("POST", "/v1/holds", hold, staff, site).problem(404, "not_found").allows(true)
	h.do("POST", "/v1/holds", hold, staff).want(201)
}

func TestPreflightNamesWhatIsAllowed(t *testing.T) {
	h := newSiteHouse(t)
	for path, want := range map[string]string{
		"/v1/holds": "GET, POST, PATCH, DELETE", "/v1/appointment-types/checkup/book": "POST",
		"/v1/holds/stream": "GET",
	} {
		asked := h.do("OPTIONS", path, nil, header{"Origin": clinicSite,
			"Access-Control-Request-Method": "POST"}).want(204).allows(true)
		got := strings.Split(asked.header.Get("Access-Control-Allow-Methods"), ", ")
		slices.Sort(got)
		wanted := strings.Split(want, ", ")
		slices.Sort(wanted)
		if !slices.Equal(got, wanted) {
			t.Errorf("%s allows %q, want %q", path, got, wanted)
		}
		if headers := asked.header.Get("Access-Control-Allow-Headers"); !strings.Contains(headers, "Idempotency-Key") ||
			strings.Contains(headers, "Authorization") {
			t.Errorf("%s allows the headers %q", path, headers)
		}
	}
	for _, path := range []string{"/v1/settings", "/v1/appointments", "/v1/auth/sign-in", "/v1/users", "/metrics"} {
		h.do("OPTIONS", path, nil, header{"Origin": clinicSite,
			"Access-Control-Request-Method": "POST"}).want(204).allows(false)
	}
}

func TestNamedSiteFollowsTheStream(t *testing.T) {
	h := newSiteHouse(t)
	q, err := http.NewRequestWithContext(t.Context(), "GET", h.server.URL+"/v1/holds/stream?appointmentTypeId=checkup",
		nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Origin", clinicSite)
	answer, err := h.server.Client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := answer.Header.Get("Access-Control-Allow-Origin"); answer.StatusCode != 200 || got != clinicSite {
		t.Errorf("got %d, Access-Control-Allow-Origin %q", answer.StatusCode, got)
	}
}
