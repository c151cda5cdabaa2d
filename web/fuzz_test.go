package web_test

import (
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// For any input, the response is never a 5xx and the handler never panics: a malformed request is the sender's error.

// fuzzed calls the handler without the network, so that the request can contain anything.
func fuzzed(t *testing.T, h *house, method, target, query, contentType string, body []byte, headers ...header) {
	t.Helper()
	r := httptest.NewRequest("GET", "/", strings.NewReader(string(body)))
	r.Method, r.URL = method, &url.URL{Path: target, RawQuery: query}
	r.Header.Set("Content-Type", contentType)
	for _, set := range headers {
		for k, v := range set {
			r.Header[k] = []string{v}
		}
	}
	w := httptest.NewRecorder()
	h.web.Handler().ServeHTTP(w, r)
	answer := w.Result()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode >= 500 {
		t.Errorf("%s %q ?%q with %q answered %d: %s", method, target, query, body, answer.StatusCode, raw)
	}
	if answer.StatusCode >= 400 && answer.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s %q answered %d as %q", method, target, answer.StatusCode, answer.Header.Get("Content-Type"))
	}
	if strings.Contains(h.log.String(), "panicked") {
		t.Fatalf("%s %q ?%q with %q: a handler panicked\n%s", method, target, query, body, h.log)
	}
}

func FuzzBodies(f *testing.F) {
	routes := []struct{ method, path string }{
		{"POST", "/v1/holds"}, {"PATCH", "/v1/holds"}, {"DELETE", "/v1/holds"}, {"POST", "/v1/holds/release"},
		{"POST", "/v1/appointment-types/checkup/book"}, {"POST", "/v1/appointments"}, {"POST", "/v1/import"},
		{"PUT", "/v1/clinic"}, {"POST", "/v1/appointment-types"}, {"PATCH", "/v1/specialists/ada"},
		{"PUT", "/v1/specialists/ada/weekly-hours"}, {"POST", "/v1/specialists/ada/overrides"},
		{"POST", "/v1/specialists/ada/blocks"}, {"POST", "/v1/people/erase"}, {"POST", "/v1/appointments/x/reschedule"},
	}
	for i, body := range []string{
		`{"appointmentTypeId":"checkup","slotStartDate":"2026-11-23T09:00:00Z","clientId":"client-secret-0001","ttlSeconds":30}`,
		`{"holdId":"x","clientId":"client-secret-0001","restart":true}`, `{"holdId":"x"}`, `{}`,
		`{"clientId":"client-secret-0001","slotStartDate":"2200-01-01T00:00:00+23:59","patient":{"name":"A","birthDate":"1980-03-31"}}`,
		`{"appointmentTypeId":"checkup","overbook":{"reason":"x"},"patient":{"name":"A"},"specialistId":"ada"}`,
		`{"clinic":{"name":"X","timezone":"UTC"},"specialists":[{"id":"x","name":"X","weeklyHours":[{"weekday":"monday","start":"09:00","end":"24:00"}]}]}`,
		`{"contact":{"phone":null}}`, `{"name":"X","specialists":[{"specialistId":"ada","priority":1}]}`,
		`{"maxSessions":9223372036854775807}`, `[{"weekday":"monday","start":"09:00","end":"10:00"}]`,
		`{"date":"2026-12-24","closed":true}`, `{"email":"a@b.c"}`, `[[[[`, `{"a":{"b":[1,2,{"c":"\ud800"}]}}`, "\x00",
		`"`, `{"clientId":"\u0000"}`,
	} {
		f.Add(i%len(routes), []byte(body), "application/json")
	}
	h := newHouse(f)
	f.Fuzz(func(t *testing.T, n int, body []byte, contentType string) {
		rt := routes[((n%len(routes))+len(routes))%len(routes)]
		fuzzed(t, h, rt.method, rt.path, "", contentType, body, asAdmin)
	})
}

func FuzzTargets(f *testing.F) {
	for _, target := range []string{
		"/v1/appointment-types/checkup/timeslots", "/v1/appointment-types/checkup/next-available",
		"/v1/appointment-types/checkup/explain",
		"/v1/appointments", "/v1/holds", "/v1/appointments/managed/ics", "/", "/ui/x", "/docs/errors",
		"/v1/appointments/\xff\x00", "//", "",
	} {
		for _, query := range []string{
			"from=2026-11-23&to=2026-11-30", "from=2200-12-31&to=2201-01-01", "after=2199-12-31T23:59:59Z",
			"slotStartDate=2026-11-23T09:00:00%2B14:00", "cursor=AAAA&limit=1&q=%00",
			"clientId=client-secret-0001&holdId=x", "token=" + strings.Repeat("A", 58), "from=%zz;&&==",
			"lang=../../etc",
		} {
			f.Add("GET", target, query)
		}
	}
	f.Add("POST", "/v1/holds", "clientId=x")
	f.Add("get", "/v1/clinic", "")
	h := newHouse(f)
	f.Fuzz(func(t *testing.T, method, target, query string) {
		if strings.HasSuffix(target, "/stream") || method == "" {
			return // a stream stays open; the handler never gets an empty method
		}
		for _, headers := range []header{nil, asAdmin} {
			fuzzed(t, h, method, target, query, "", nil, headers)
		}
	})
}
