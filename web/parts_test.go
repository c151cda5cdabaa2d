package web_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"holdfast/web"
)

// These tests check the list of slots on the wire: it is compressed for clients that accept compression, and not sent
// again to clients that already have it.

// raw sends a request without Go's own decompression, and returns the response with its original body.
func (h *house) raw(method, path string, headers ...header) (*http.Response, []byte) {
	h.t.Helper()
	r, err := http.NewRequest(method, h.server.URL+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	for _, set := range headers {
		for name, value := range set {
			r.Header.Set(name, value)
		}
	}
	answer, err := h.server.Client().Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return answer, body
}

var asGzip = header{"Accept-Encoding": "gzip, deflate, br, zstd"}

func unzipped(t *testing.T, b []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

func TestTimeslotsAreCompressedOnRequest(t *testing.T) {
	h := newHouse(t)
	path := "/v1/appointment-types/checkup/timeslots?from=" + h.day(0) + "&to=" + h.day(7)
	plain, body := h.raw("GET", path)
	small, zipped := h.raw("GET", path, asGzip)
	if got := unzipped(t, zipped); got != string(body) {
		t.Errorf("the decompressed answer differs:\n%.300s\n%.300s", got, body)
	}
	if len(zipped)*8 > len(body) {
		t.Errorf("%d bytes became %d; want at most an eighth", len(body), len(zipped))
	}
	if small.Header.Get("Content-Encoding") != "gzip" || plain.Header.Get("Content-Encoding") != "" {
		t.Errorf("Content-Encoding: %q and %q", small.Header.Get("Content-Encoding"),
			plain.Header.Get("Content-Encoding"))
	}
	for _, a := range []*http.Response{plain, small} {
		if a.Header.Get("Vary") != "Accept-Encoding" || a.Header.Get("Content-Type") != "application/json" ||
			a.ContentLength <= 0 || a.Header.Get("Etag") == "" {
			t.Errorf("the headers are %v", a.Header)
		}
	}
	if plain.Header.Get("Etag") == small.Header.Get("Etag") {
		t.Error("the two representations have the same ETag")
	}
	if head, none := h.raw("HEAD", path, asGzip); len(none) > 0 || head.ContentLength != small.ContentLength ||
		head.Header.Get("Etag") != small.Header.Get("Etag") {
		t.Errorf("HEAD returns %v, GET %v", head.Header, small.Header)
	}
	// A list of three slots is too short to compress.
	tiny, _ := h.raw("GET", "/v1/appointment-types/checkup/timeslots?specialistId=ada&from="+h.day(0)+"&to="+h.day(1),
		asGzip)
	if h.do("PUT", "/v1/specialists/ada/weekly-hours",
		[]map[string]any{{"weekday": "monday", "start": "09:00", "end": "10:00"}},
		asAdmin).want(200); tiny.Header.Get("Content-Encoding") != "gzip" {
		t.Error("a list of a whole day was not compressed")
	}
	if tiny, _ = h.raw("GET", "/v1/appointment-types/checkup/timeslots?specialistId=ada",
		asGzip); tiny.Header.Get("Content-Encoding") != "" {
		t.Error("a list of a few slots was compressed")
	}
}

func TestTimeslotsHonourETag(t *testing.T) {
	h := newHouse(t)
	path := "/v1/appointment-types/checkup/timeslots?from=" + h.day(0) + "&to=" + h.day(7)
	for _, as := range []header{{}, asGzip} {
		tag := func(more ...header) string {
			a, _ := h.raw("GET", path, append(more, as)...)
			return a.Header.Get("Etag")
		}
		first := tag()
		fresh := func(why string, tag string, want int, more ...header) {
			t.Helper()
			a, body := h.raw("GET", path, append(more, as, header{"If-None-Match": tag})...)
			if a.StatusCode != want || want == 304 && (len(body) > 0 ||
				a.Header.Get("Etag") != strings.TrimPrefix(tag, "W/")) {
				t.Errorf("%s: got %d with %d bytes and the tag %s, want %d", why, a.StatusCode, len(body),
					a.Header.Get("Etag"), want)
			}
		}
		fresh("unchanged", first, 304)
		fresh("unchanged, weakened by a proxy", "W/"+first, 304)
		held := h.hold(1, "checkup", h.at(0), map[string]any{"specialistId": "ada"}).want(201).text("holdId")
		fresh("held by another client", first, 200)
		during := tag()
		fresh("still held", during, 304)
		fresh("for the holder", during, 200, header{"Holdfast-Client": client(1)})
		h.do("DELETE", "/v1/holds", map[string]any{"holdId": held, "clientId": client(1)}).want(200)
		fresh("given back", during, 200)
		fresh("as it was", first, 304)
		id := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}).want(201).text("appointment", "id")
		fresh("booked", first, 200)
		h.do("POST", "/v1/appointments/"+id+"/cancel", nil, asAdmin).want(200)
	}
}

// TestAcceptsGzip checks that Accept-Encoding is parsed according to RFC 9110.
func TestAcceptsGzip(t *testing.T) {
	for accepted, want := range map[string]bool{
		"": false, "gzip": true, "br, gzip": true, "deflate": false, "identity": false, "*": true, "gzip;q=0": false,
		"gzip; q=0.000": false, "gzip;q=0.1": true, "*;q=0": false, "gzip;q=0, *": false, "GZIP": true, "x-gzip": true,
		"not-gzip-at-all": false, "gzip, deflate, br, zstd": true, "br;q=1.0, gzip;q=0.8, *;q=0.1": true,
	} {
		if got := web.TakesGzip(strings.Split(accepted, "\n")); got != want {
			t.Errorf("%q: got %t, want %t", accepted, got, want)
		}
	}
}
