package web_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/docs"
)

// TestPublicAnswersAreCompressed: pages, documents and public JSON are compressed for clients that accept compression,
// and have a Vary header.
func TestPublicAnswersAreCompressed(t *testing.T) {
	h := newHouse(t)
	for range 30 {
		h.do("POST", "/v1/specialists", map[string]any{"name": "Dr Somebody Else"}, asAdmin).want(201)
	}
	for _, c := range []struct {
		path string
		as   header
	}{
		{"/", nil}, {"/staff", nil}, {"/v1/appointment-types", nil}, {"/v1/specialists", nil}, {"/docs", nil},
		{"/docs/errors", nil}, {"/docs/backup", nil}, {"/openapi.json", nil}, {"/openapi.yaml", nil},
		{"/v1/schedule", asAdmin},
	} {
		plain, body := h.raw("GET", c.path, c.as)
		small, zipped := h.raw("GET", c.path, c.as, asGzip)
		if small.Header.Get("Content-Encoding") != "gzip" || len(zipped)*2 > len(body) ||
			small.ContentLength != int64(len(zipped)) {
			t.Errorf("%s: %d bytes became %d with the encoding %q and the length %d", c.path, len(body), len(zipped),
				small.Header.Get("Content-Encoding"), small.ContentLength)
			continue
		}
		if got := unzipped(t, zipped); !strings.Contains(got, "nonce") && got != string(body) {
			t.Errorf("%s: the decompressed answer differs", c.path)
		}
		if c.path == "/openapi.yaml" && !bytes.Equal(zipped, docs.PackedOpenAPI) {
			t.Error("the description is compressed for each request, want the stored form")
		}
		for _, a := range []*http.Response{plain, small} {
			if !strings.Contains(strings.Join(a.Header.Values("Vary"), ","), "Accept-Encoding") {
				t.Errorf("%s: Vary is %v", c.path, a.Header.Values("Vary"))
			}
		}
		if never, _ := h.raw("GET", c.path, c.as,
			header{"Accept-Encoding": "br, gzip;q=0"}); never.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s is compressed for a client that refuses it", c.path)
		}
		if head, none := h.raw("HEAD", c.path, c.as, asGzip); len(none) > 0 ||
			head.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("HEAD %s: %d bytes, %v", c.path, len(none), head.Header)
		}
	}
	if page, _ := h.raw("GET", "/", asGzip); len(page.Header.Values("Vary")) != 2 {
		t.Errorf("Vary of the page is %v, want the language and the encoding", page.Header.Values("Vary"))
	}
}

// TestAnswersWithPatientsAreNotCompressed: a response that needs a credential is not compressed. Otherwise its length
// would reveal similarities between patients' data and text that another client has put into the same response by
// booking. Refusals and small responses are not compressed either.
func TestAnswersWithPatientsAreNotCompressed(t *testing.T) {
	h := newHouse(t)
	for n := range 8 {
		h.do("POST", "/v1/appointments", map[string]any{
			"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(30 * n),
			"patient": map[string]any{"name": fmt.Sprintf("Lena Vogt %d", n), "phone": "030 1234567"},
		}, asAdmin).want(201)
	}
	a, body := h.raw("GET", "/v1/appointments?from="+h.day(0)+"&to="+h.day(7), asAdmin, asGzip)
	if a.StatusCode != 200 || len(body) < 2000 || a.Header.Get("Content-Encoding") != "" ||
		!strings.Contains(string(body), "Lena Vogt 3") {
		t.Errorf("got %d with %v: %.200s", a.StatusCode, a.Header, body)
	}
	for _, path := range []string{"/v1/clinic", "/v1/nothing"} {
		if a, _ := h.raw("GET", path, asGzip); a.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s is compressed", path)
		}
	}
}

// TestPageOfLargeClinicIsSmall: the page itself contains forty types with sixty specialists each. It contains only the
// data needed to choose a type, and repeated data takes almost no space.
func TestPageOfLargeClinicIsSmall(t *testing.T) {
	h := newHouse(t)
	var serving []map[string]any
	for n := range 60 {
		id := fmt.Sprintf("specialist-%d", n)
		h.do("POST", "/v1/specialists", map[string]any{"id": id, "name": fmt.Sprintf("Dr Somebody Else %d", n)}, asAdmin).want(201)
		serving = append(serving, map[string]any{"specialistId": id, "priority": 1})
	}
	for n := range 40 {
		h.do("POST", "/v1/appointment-types", map[string]any{"name": fmt.Sprintf("Examination %d", n),
			"durationMinutes": 30, "specialists": serving}, asAdmin).want(201)
	}
	_, plain := h.raw("GET", "/")
	_, small := h.raw("GET", "/", asGzip)
	t.Logf("%d bytes came to %d", len(plain), len(small))
	if len(plain) < 40_000 || len(plain) > 60_000 || len(small) > 4_000 {
		t.Errorf("%d bytes became %d, want 60,000 and at most 4,000", len(plain), len(small))
	}
}

// TestETagCoversCompressedAnswer: the server recognizes the tag of a compressed response.
func TestETagCoversCompressedAnswer(t *testing.T) {
	h := newHouse(t)
	path := "/v1/slots/poll?date=" + h.day(0)
	for n := range 40 { // many booked times make a long response
		h.do("POST", "/v1/appointments", map[string]any{
			"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(30 * n), "ignoreHours": true,
			"patient": map[string]any{"name": "Lena Vogt", "phone": "030 1234567"},
		}, asAdmin)
	}
	a, _ := h.raw("GET", path, asGzip)
	tag := a.Header.Get("Etag")
	if a.StatusCode != 200 || tag == "" {
		t.Fatalf("got %d, %v", a.StatusCode, a.Header)
	}
	again, body := h.raw("GET", path, asGzip, header{"If-None-Match": tag})
	if again.StatusCode != 304 || len(body) > 0 || again.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("got %d with %d bytes, %v", again.StatusCode, len(body), again.Header)
	}
}
