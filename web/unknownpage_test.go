package web_test

import (
	"strings"
	"testing"

	"holdfast/engine/account"
	"holdfast/store"
)

// TestUnknownAddressShowsPage: a browser at an address that does not exist gets a page with the clinic's name, a
// sentence and a button in its language. A program gets the problem document, and so does any browser request that is
// not for a page.
func TestUnknownAddressShowsPage(t *testing.T) {
	h := newHouse(t)
	if _, err := h.engine.Clinic.UpdateClinic(t.Context(), "system", func(k *store.Clinic) {
		k.Name = "Lena <&> Co"
	}); err != nil {
		t.Fatal(err)
	}
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for language, words := range map[string][]string{
		"en-GB,en;q=0.9": {`lang="en"`, "There is no page at this address.", "Book an appointment"},
		"de":             {`lang="de"`, "Unter dieser Adresse gibt es keine Seite.", "Termin buchen"},
		"es":             {`lang="es"`, "No hay ninguna página en esta dirección.", "Reservar una cita"},
		"fr":             {`lang="en"`, "Book an appointment"},
	} {
		for _, path := range []string{"/nowhere", "/v1/nowhere", "/.git/config", "/booking/%3Cscript%3E"} {
			got, body := h.raw("GET", path, header{"Accept": browser, "Accept-Language": language})
			page := string(body)
			if got.StatusCode != 404 || got.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
				!strings.Contains(got.Header.Get("Content-Security-Policy"), "default-src 'none'") {
				t.Fatalf("%s: got %d %v", path, got.StatusCode, got.Header)
			}
			for _, want := range append(words, "Lena &lt;&amp;&gt; Co", `<header class="top">`,
				`class="btn primary" href="/`) {
				if !strings.Contains(page, want) {
					t.Errorf("%s in %s: the page has no %q:\n%s", path, language, want, page)
				}
			}
			if strings.Contains(page, "<script") || strings.Count(page, "<a ") != 1 {
				t.Errorf("%s: want one button and no script:\n%s", path, page)
			}
		}
	}
	for name, as := range map[string]header{"a program": nil, "curl": {"Accept": "*/*"},
		"a page's own request": {"Accept": "application/json"}} {
		if got := h.do("GET", "/nowhere", nil, as).problem(404, "not_found"); got.text("detail") == "" {
			t.Errorf("%s: got %s", name, got.raw)
		}
	}
	if got, _ := h.raw("POST", "/nowhere", header{"Accept": browser}); got.StatusCode != 404 ||
		got.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("a POST: got %d %v", got.StatusCode, got.Header)
	}
}

// TestEmbedOffShowsPage: if embedding is off, a browser gets a page with a link to the booking page, and a program gets
// the problem not_found.
func TestEmbedOffShowsPage(t *testing.T) {
	h := newHouse(t)
	got, body := h.raw("GET", "/embed", header{"Accept": "text/html", "Accept-Language": "de"})
	if page := string(body); got.StatusCode != 404 || !strings.Contains(page, "Hier nicht verfügbar") || !strings.Contains(page, `class="btn primary" href="/?lang=de"`) {
		t.Errorf("a browser: got %d %s", got.StatusCode, page)
	}
	h.do("GET", "/embed", nil).problem(404, "not_found")
}

// TestUnknownAddressHasOwnAccent: the page has no script that mixes colours, so its style contains the clinic's own
// accent.
func TestUnknownAddressHasOwnAccent(t *testing.T) {
	h := newHouse(t)
	for accent, wants := range map[string]bool{"#3a4f9a": true, "ocean": false} {
		if got := h.do("PATCH", "/v1/settings", map[string]any{"accent": accent}, asAdmin); got.status != 200 {
			t.Fatalf("accent %s: got %d %s", accent, got.status, got.raw)
		}
		got, body := h.raw("GET", "/nowhere", header{"Accept": "text/html"})
		page, policy := string(body), got.Header.Get("Content-Security-Policy")
		if has := strings.Contains(page, "--accent:"+accent); has != wants {
			t.Errorf("accent %s: the page contains its colour: %v, want %v:\n%s", accent, has, wants, page)
		}
		_, nonce, _ := strings.Cut(page, `<style nonce="`)
		nonce, _, _ = strings.Cut(nonce, `"`)
		if wants && (nonce == "" || !strings.Contains(policy, "'nonce-"+nonce+"'")) {
			t.Errorf("the policy %q does not allow the style with nonce %q", policy, nonce)
		}
	}
}

// TestRootExplainsSetup: if the server has no owner and no appointment type, its page explains how to set it up. With a
// clinic file, the server shows the booking page even without an owner.
func TestRootExplainsSetup(t *testing.T) {
	h := newHouse(t)
	const invitation = "holdfast setup-url"
	open := func() string {
		got, body := h.raw("GET", "/", header{"Accept": "text/html", "Accept-Language": "en"})
		if got.StatusCode != 200 {
			t.Fatalf("got %d %s", got.StatusCode, body)
		}
		return string(body)
	}
	if page := open(); strings.Contains(page, invitation) || !strings.Contains(page, `id="boot"`) {
		t.Errorf("with types: want the booking page, got\n%s", page)
	}
	for _, id := range []string{"checkup", "surgery", "class", "cooling"} {
		if got := h.do("DELETE", "/v1/appointment-types/"+id, nil, asAdmin); got.status/100 != 2 {
			t.Fatalf("archiving %s: got %d %s", id, got.status, got.raw)
		}
	}
	if page := open(); !strings.Contains(page, invitation) || !strings.Contains(page, `href="/docs/install"`) ||
		strings.Contains(page, "<script") {
		t.Errorf("without types and owner: want the link to the setup, got\n%s", page)
	}
	if _, body := h.raw("GET", "/", header{"Accept": "*/*"}); !strings.Contains(string(body), `id="boot"`) {
		t.Error("a program: want the booking page")
	}
	token, err := h.engine.Account.NewSetupToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	owner := account.NewUser{Name: "Ada Brandt", Email: "ada@clinic.example", Password: "tide and harbour"}
	if _, err := h.engine.Account.Setup(t.Context(), token, owner, func(*store.Clinic) {}); err != nil {
		t.Fatal(err)
	}
	if page := open(); strings.Contains(page, invitation) {
		t.Errorf("with an owner: want the booking page, got\n%s", page)
	}
}
