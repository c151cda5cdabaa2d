package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/web"
)

// TestSmartSchedulingPublishesFreeSlots: the free slots are published for everyone. The manifest lists the files, each
// line is a resource that is valid according to the standard and refers only to existing ones, and links lead to the
// booking page. A client that already has the current file does not receive it again.
func TestSmartSchedulingPublishesFreeSlots(t *testing.T) {
	t.Parallel()
	h, d := newHouse(t), readDefinitions(t)
	h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}).want(201)
	at := "/.well-known/smart-scheduling/"
	manifest := h.do("GET", at+"$bulk-publish", nil).want(200)
	if manifest.text("request") != h.server.URL+at+"$bulk-publish" ||
		manifest.header.Get("Cache-Control") != "public, max-age=60" {
		t.Errorf("the manifest is %s, %v", manifest.raw, manifest.header)
	}
	there, counts := map[string]bool{}, map[string]int{}
	for _, file := range manifest.get("output").([]any) {
		file := file.(map[string]any)
		path := strings.TrimPrefix(file["url"].(string), h.server.URL)
		text := h.do("GET", path, nil).want(200)
		if text.header.Get("Content-Type") != "application/fhir+ndjson" || strings.Contains(text.raw, "Patient 1") ||
			strings.Contains(text.raw, "holdfast.invalid") {
			t.Errorf("%s is %s", path, text.header.Get("Content-Type"))
		}
		h.do("GET", path, nil, header{"If-None-Match": strings.TrimPrefix(text.header.Get("ETag"), "W/")}).want(304)
		for line := range strings.Lines(text.raw) {
			r := d.resource(t, path, []byte(line))
			kind := r["resourceType"].(string)
			there[kind+"/"+r["id"].(string)] = true
			counts[kind]++
			ref, _ := r["schedule"].(map[string]any)
			if actors, _ := r["actor"].([]any); len(actors) == 1 {
				ref = actors[0].(map[string]any)
			}
			if kind != file["type"] || ref != nil && !there[ref["reference"].(string)] {
				t.Errorf("in %s is %s, which refers to a missing resource", path, line)
			}
			if kind == "Slot" && !strings.Contains(line, h.server.URL+"/?type=") {
				t.Errorf("it has no booking link: %s", line)
			}
		}
	}
	if counts["Location"] != 1 || counts["Schedule"] < 4 || counts["Slot"] < 100 {
		t.Errorf("the published files are %v", counts)
	}
}

// TestSmartSchedulingRefusesLongHost: a host name longer than any valid one is not written into every line.
func TestSmartSchedulingRefusesLongHost(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for length, want := range map[int]int{200: 200, 8000: 404} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", h.server.URL+
			"/.well-known/smart-scheduling/slots.ndjson", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = strings.Repeat("a", length)
		answer, err := h.server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _ = answer.Body.Close(); answer.StatusCode != want {
			t.Errorf("a Host of %d bytes got %d, want %d", length, answer.StatusCode, want)
		}
	}
}

// TestSmartSchedulingIsRateLimited: constant polling costs the clinic little, because a file is built at most once a
// minute and each network has a rate limit.
func TestSmartSchedulingIsRateLimited(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(o *web.Options) { o.RateLimit = true })
	first := h.do("GET", "/.well-known/smart-scheduling/slots.ndjson", nil).want(200)
	h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201)
	if again := h.do("GET", "/.well-known/smart-scheduling/slots.ndjson", nil).want(200); again.raw != first.raw {
		t.Error("the file was generated again immediately")
	}
	limited := false
	for range 400 {
		r := h.do("GET", "/.well-known/smart-scheduling/locations.ndjson", nil)
		if limited = r.status == 429; limited {
			r.problem(429, "rate_limited")
			break
		}
	}
	if !limited {
		t.Error("the requests are not limited")
	}
}

// TestMCPExplainsAuthentication: a program that calls /mcp without a key gets the address of a document that describes
// the authentication, and the description is correct.
func TestMCPExplainsAuthentication(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	refused := h.do("POST", "/mcp", map[string]any{}).want(401)
	_, address, found := strings.Cut(refused.header.Get("WWW-Authenticate"), `resource_metadata="`)
	address, _, _ = strings.Cut(address, `"`)
	if !found || !strings.HasPrefix(refused.header.Get("WWW-Authenticate"), "Bearer ") {
		t.Fatalf("the challenge is %s", refused.header.Get("WWW-Authenticate"))
	}
	said := h.do("GET", strings.TrimPrefix(address, h.server.URL), nil).want(200)
	if said.text("resource") != h.server.URL+"/mcp" || fmt.Sprint(said.get("bearer_methods_supported")) != "[header]" ||
		said.get("authorization_servers") != nil {
		t.Errorf("said is %s", said.raw)
	}
	if whole := h.do("GET", "/.well-known/oauth-protected-resource",
		nil).want(200); whole.text("resource") != h.server.URL {
		t.Errorf("the metadata of the API: %s", whole.raw)
	}
	if other := h.do("GET", "/v1/users", nil).want(401); strings.Contains(other.header.Get("WWW-Authenticate"),
		"metadata") {
		t.Errorf("elsewhere: %s", other.header.Get("WWW-Authenticate"))
	}
}
