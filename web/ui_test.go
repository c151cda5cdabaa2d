package web_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"holdfast/web"
)

var (
	bootBlock = regexp.MustCompile(`<script type="application/json" id="boot">(.*?)</script>`)
	nonceOf   = regexp.MustCompile(`nonce="([^"]+)"`)
	assetPath = regexp.MustCompile(`(?:src|href)="(/[^"]+)"`)
)

func TestAPageCarriesWhatItNeeds(t *testing.T) {
	h := newHouse(t)
	h.do("PUT", "/v1/clinic", map[string]any{"name": `Praxis </script><img src=x>`, "contact": map[string]any{"phone": "030 1234"}}, asAdmin).want(200)
	page := h.do("GET", "/", nil).want(200)
	if got := page.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q, want no-store", got)
	}
	if strings.Contains(page.raw, "{{") || strings.Contains(page.raw, "<img src=x>") {
		t.Errorf("the page has a placeholder or somebody's markup in it:\n%s", page.raw)
	}
	m := bootBlock.FindStringSubmatch(page.raw)
	if m == nil {
		t.Fatalf("no boot block in\n%s", page.raw)
	}
	var boot struct {
		Clinic struct {
			Name, Timezone, Locale, Phone string
			Contact                       struct{ Phone string }
		}
		AppointmentTypes []struct{ ID string }
		Specialists      []map[string]any
		Settings         struct{ RequiredFields []string }
		Demo             bool
	}
	if err := json.Unmarshal([]byte(m[1]), &boot); err != nil {
		t.Fatal(err)
	}
	if boot.Clinic.Name != `Praxis </script><img src=x>` || boot.Clinic.Phone != "030 1234" || boot.Clinic.Contact.Phone != "030 1234" ||
		len(boot.AppointmentTypes) != 4 || len(boot.Specialists) != 2 || boot.Settings.RequiredFields == nil || boot.Demo {
		t.Errorf("got %s", m[1])
	}
	if strings.Contains(page.raw, "clinic.example") {
		t.Error("the page tells the public a specialist's address")
	}
	// The policy allows the one inline script by a nonce that is new every time.
	nonce := nonceOf.FindStringSubmatch(page.raw)
	if nonce == nil || !strings.Contains(page.header.Get("Content-Security-Policy"), "'nonce-"+nonce[1]+"'") {
		t.Errorf("the policy %q does not have the page's nonce", page.header.Get("Content-Security-Policy"))
	}
	if again := nonceOf.FindStringSubmatch(h.do("GET", "/", nil).raw); again[1] == nonce[1] {
		t.Error("two pages have one nonce")
	}
	// Everything it loads is there, for ever.
	for _, asset := range assetPath.FindAllStringSubmatch(page.raw, -1) {
		r := h.do("GET", asset[1], nil, header{"Accept-Encoding": "identity"}).want(200)
		if !strings.Contains(r.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: Cache-Control is %q", asset[1], r.header.Get("Cache-Control"))
		}
		if strings.HasSuffix(asset[1], ".js") && !strings.HasPrefix(r.header.Get("Content-Type"), "text/javascript") {
			t.Errorf("%s is %q", asset[1], r.header.Get("Content-Type"))
		}
	}
}

func TestAssetsAreCompressed(t *testing.T) {
	h := newHouse(t)
	asset := assetPath.FindAllStringSubmatch(h.do("GET", "/", nil).raw, -1)[1][1]
	plain := h.do("GET", asset, nil, header{"Accept-Encoding": "identity"}).want(200)
	r, err := http.NewRequest("GET", h.server.URL+asset, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip, br")
	answer, err := h.server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.Header.Get("Content-Encoding") != "gzip" || answer.Header.Get("Vary") != "Accept-Encoding" {
		t.Fatalf("got %v", answer.Header)
	}
	unzipped, err := gzip.NewReader(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(unzipped); err != nil || string(body) != plain.raw {
		t.Errorf("the compressed file is another one: %v", err)
	}
}

func TestThePageIsInTheLanguageAskedFor(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct{ query, accept, want string }{
		{"", "", "en"}, {"?lang=de", "es", "de"}, {"", "fr, es;q=0.8, de;q=0.5", "es"}, {"?lang=xx", "de-AT", "de"}, {"?lang=%3Cscript%3E", "", "en"},
	} {
		page := h.do("GET", "/"+c.query, nil, header{"Accept-Language": c.accept}).want(200)
		if !strings.Contains(page.raw, `<html lang="`+c.want+`"`) {
			t.Errorf("%q with Accept-Language %q: want lang %s in\n%.200s", c.query, c.accept, c.want, page.raw)
		}
	}
}

func TestEmbeddingIsOffUntilSitesAreNamed(t *testing.T) {
	h := newHouse(t)
	h.do("GET", "/embed", nil).problem(404, "not_found")
	h.do("PUT", "/v1/settings", map[string]any{"embedOrigins": []string{"https://clinic.example"}}, asAdmin).want(200)
	page := h.do("GET", "/embed", nil).want(200)
	if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors https://clinic.example") {
		t.Errorf("the policy is %q", policy)
	}
	if policy := h.do("GET", "/", nil).header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("the whole page may be framed: %q", policy)
	}
	h.do("GET", "/embed.js", nil).want(200)
}

func TestTheDemoPageIsForTheDemo(t *testing.T) {
	newHouse(t).do("GET", "/demo", nil).problem(404, "not_found")
	demo := newHouse(t, func(o *web.Options) { o.Demo = true })
	if policy := demo.do("GET", "/", nil).want(200).header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'self'") {
		t.Errorf("the demo cannot show the page in a frame: %q", policy)
	}
}
