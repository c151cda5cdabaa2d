package web_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast/web"
)

var (
	bootBlock = regexp.MustCompile(`<script type="application/json" id="boot">(.*?)</script>`)
	nonceOf   = regexp.MustCompile(`nonce="([^"]+)"`)
	assetPath = regexp.MustCompile(`(?:src|href)="(/[^"]+)"`)
)

func TestPageEmbedsItsData(t *testing.T) {
	h := newHouse(t)
	h.do("PUT", "/v1/clinic", map[string]any{"name": `Praxis </script><img src=x>`,
		"contact": map[string]any{"phone": "030 1234"}}, asAdmin).want(200)
	page := h.do("GET", "/", nil).want(200)
	if got := page.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q, want no-store", got)
	}
	if strings.Contains(page.raw, "{{") || strings.Contains(page.raw, "<img src=x>") {
		t.Errorf("the page contains a placeholder or a user's markup:\n%s", page.raw)
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
	if boot.Clinic.Name != `Praxis </script><img src=x>` || boot.Clinic.Phone != "030 1234" ||
		boot.Clinic.Contact.Phone != "030 1234" ||
		len(boot.AppointmentTypes) != 4 || len(boot.Specialists) != 2 || boot.Settings.RequiredFields == nil ||
		boot.Demo {
		t.Errorf("got %s", m[1])
	}
	if strings.Contains(page.raw, "clinic.example") {
		t.Error("the page contains a specialist's email address")
	}
	// The policy allows the one inline script by a nonce that is new on every request.
	nonce := nonceOf.FindStringSubmatch(page.raw)
	if nonce == nil || !strings.Contains(page.header.Get("Content-Security-Policy"), "'nonce-"+nonce[1]+"'") {
		t.Errorf("the policy %q does not have the page's nonce", page.header.Get("Content-Security-Policy"))
	}
	if again := nonceOf.FindStringSubmatch(h.do("GET", "/", nil).raw); again[1] == nonce[1] {
		t.Error("two pages have the same nonce")
	}
	// Pages use this text to detect a change to the clinic, so the text must stay the same while the clinic is
	// unchanged.
	if again := bootBlock.FindStringSubmatch(h.do("GET", "/manage", nil).raw); again[1] != m[1] {
		t.Errorf("a second page of the same clinic has %s, want %s", again[1], m[1])
	}
	// Every file that the page loads exists, and can be cached forever.
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

// TestPageConnectsThroughWorkerOnly: a worker does not inherit the page's policy. The policy of the worker's own
// response must allow it to send heartbeats. The other files do not need such a policy.
func TestPageConnectsThroughWorkerOnly(t *testing.T) {
	h := newHouse(t)
	page := assetPath.FindStringSubmatch(h.do("GET", "/", nil).raw)[1]
	for name, want := range map[string]string{
		"lib/beat.js":  "default-src 'none'; connect-src 'self'; frame-ancestors 'none'",
		"book/page.js": "default-src 'none'; frame-ancestors 'none'",
	} {
		file := strings.Join(strings.Split(page, "/")[:3], "/") + "/" + name
		if got := h.do("GET", file, nil).want(200).header.Get("Content-Security-Policy"); got != want {
			t.Errorf("%s: the policy is %q, want %q", name, got, want)
		}
	}
}

func TestPagesAreNamedInLog(t *testing.T) {
	h := newHouse(t)
	h.do("HEAD", "/", nil).want(200)
	h.do("GET", assetPath.FindStringSubmatch(h.do("GET", "/", nil).raw)[1], nil).want(200)
	h.do("GET", "/favicon.svg", nil).want(200)
	h.do("GET", "/wp-login.php", nil).want(404)
	h.do("BREW", "/coffee", nil).want(404)
	log := h.log.String()
	for _, want := range []string{
		`"method":"HEAD","route":"/"`, `"method":"GET","route":"/"`, `"route":"/ui/{hash}/{file}"`, `"route":"/{file}"`,
		`"method":"GET","route":"unmatched"`, `"method":"other"`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not have %s", want)
		}
	}
	if strings.Contains(log, "wp-login") || strings.Contains(log, "BREW") {
		t.Error("the log contains an unknown path or method")
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
		t.Errorf("the compressed file differs: %v", err)
	}
}

func TestPageHonoursLanguage(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct{ query, accept, want string }{
		{"", "", "en"}, {"?lang=de", "es", "de"}, {"", "fr, es;q=0.8, de;q=0.5", "es"}, {"?lang=xx", "de-AT", "de"},
		{"?lang=%3Cscript%3E", "", "en"},
	} {
		page := h.do("GET", "/"+c.query, nil, header{"Accept-Language": c.accept}).want(200)
		if !strings.Contains(page.raw, `<html lang="`+c.want+`"`) {
			t.Errorf("%q with Accept-Language %q: want lang %s in\n%.200s", c.query, c.accept, c.want, page.raw)
		}
	}
}

func TestEmbeddingIsOffByDefault(t *testing.T) {
	h := newHouse(t)
	h.do("GET", "/embed", nil).problem(404, "not_found")
	h.do("PUT", "/v1/settings", map[string]any{"embedOrigins": []string{"https://clinic.example"}}, asAdmin).want(200)
	page := h.do("GET", "/embed", nil).want(200)
	if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy,
		"frame-ancestors https://clinic.example") {
		t.Errorf("the policy is %q", policy)
	}
	if policy := h.do("GET", "/", nil).header.Get("Content-Security-Policy"); !strings.Contains(policy,
		"frame-ancestors 'none'") {
		t.Errorf("other sites can embed the whole page: %q", policy)
	}
	h.do("GET", "/embed.js", nil).want(200)
}

func TestPageWithoutScriptShowsPhone(t *testing.T) {
	h := newHouse(t)
	h.do("PUT", "/v1/clinic", map[string]any{"name": "Praxis Nord", "contact": map[string]any{"phone": "030 / 1234"}},
		asAdmin).want(200)
	for _, page := range []string{"/", "/manage"} {
		if raw := h.do("GET", page, nil).want(200).raw; !strings.Contains(raw, "Call 030 / 1234.") {
			t.Errorf("%s has no phone number for browsers without JavaScript", page)
		}
	}
}

var (
	imported = regexp.MustCompile(`\b(?:import|from)"(\.[^"]+)"|\bnew URL\("(\.[^"]+)",import`)
	later    = regexp.MustCompile(`\bimport\("(\.[^"]+)"\)`)
)

// loaded returns every file that a page loads, with its compressed size: the files named in its document, and the
// imports of those modules. If all is set, it also returns the imports on demand.
func (h *house) loaded(page string, all bool) map[string]int {
	h.t.Helper()
	sizes := make(map[string]int)
	var base string
	get := func(name string) string {
		raw := h.do("GET", name, nil, header{"Accept-Encoding": "identity"}).want(200).raw
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		_, _ = z.Write([]byte(raw))
		_ = z.Close()
		sizes[name] = min(b.Len(), len(raw))
		return raw
	}
	document := get(page)
	var queue []string
	for _, m := range assetPath.FindAllStringSubmatch(document, -1) {
		queue = append(queue, m[1])
		base, _, _ = strings.Cut(m[1][len("/ui/"):], "/")
	}
	if all {
		queue = append(queue, "/ui/"+base+"/i18n/manage.de.js") // loaded by a computed name
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if _, seen := sizes[name]; seen {
			continue
		}
		body := get(name)
		if path.Ext(name) != ".js" || strings.Contains(name, "/vendor/") {
			continue
		}
		for _, m := range imported.FindAllStringSubmatch(body, -1) {
			queue = append(queue, path.Join(path.Dir(name), cmp.Or(m[1], m[2])))
		}
		for _, m := range later.FindAllStringSubmatch(body, -1) {
			if all && !strings.HasSuffix(m[1], "pseudo.js") &&
				!slices.ContainsFunc(slices.Concat(onlySome...), func(some string) bool {
					return strings.HasSuffix(m[1], "/"+some+".js")
				}) {
				queue = append(queue, path.Join(path.Dir(name), m[1]))
			}
		}
	}
	return sizes
}

// typeface is the file of the typeface for headings and digits. later.js fetches it.
const typeface = "vendor/figtree.woff2"

// onlySome lists the files that a page loads only in some cases: for clinics with many types, specialists or groups of
// types and for those with questions; for the waiting list; for bookings that must be confirmed; for sessions on
// demand; for several days next to each other; once the page of an appointment has shown the appointment; and for
// arrivals that patients report.
var onlySome = [][]string{{"choose", "asks"}, {"waiting"}, {"request"}, {"online"}, {"compare"}, {"after"},
	{"arrive"}}

// TestPatientPageStaysInBudget: the patient's page takes at most 45 KB on the wire, including the form and the page of
// the booked appointment, which are loaded while the patient reads. German needs the most space.
func TestPatientPageStaysInBudget(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct {
		all  bool
		most int
		must []string
	}{
		{false, 38 << 10, []string{"/book/common.js", "/book/page.js", "/lib/beat.js", "/holdfast.css", "/i18n/de.js"}},
		{true, 45 << 10, []string{"/book/later.js", "/i18n/manage.de.js"}},
	} {
		sizes, total := h.loaded("/?lang=de", c.all), 0
		for name, n := range sizes {
			if strings.HasSuffix(name, "/"+typeface) { // fetched once the first times are on the screen
				if n > 21<<10 {
					t.Errorf("the typeface takes %d bytes, want at most 21 KB", n)
				}
				delete(sizes, name)
				continue
			}
			total += n
		}
		for _, must := range c.must {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(sizes)), func(name string) bool {
				return strings.HasSuffix(name, must)
			}) {
				t.Errorf("%s is not among the counted files: %v", must, slices.Sorted(maps.Keys(sizes)))
			}
		}
		if total > c.most {
			t.Errorf("the page takes %d bytes in %d files, want at most %d: %v", total, len(sizes), c.most, sizes)
		}
		t.Logf("%d bytes in %d files", total, len(sizes))
	}
	first := assetPath.FindStringSubmatch(h.do("GET", "/", nil).raw)[1]
	for _, together := range onlySome {
		more := 0
		for _, some := range together {
			for _, name := range []string{"book/" + some + ".js", "i18n/" + some + ".de.js"} {
				_, body := h.raw("GET", path.Dir(first)+"/"+name, asGzip)
				more += len(body)
			}
		}
		if more < 500 || more > 5<<10 {
			t.Errorf("the optional files, %v, take %d bytes more, want at most 5 KB", together, more)
		}
	}
}

// TestPreviewIsFramedByOwnSite: only the booking page with "preview" can be shown in a frame, and only on this site.
func TestPreviewIsFramedByOwnSite(t *testing.T) {
	h := newHouse(t)
	for path, ancestors := range map[string]string{"/": "'none'", "/?preview=1": "'self'", "/staff?preview=1": "'none'", "/manage?preview=1": "'none'"} {
		policy := h.do("GET", path, nil).want(200).header.Get("Content-Security-Policy")
		if !strings.HasSuffix(policy, "frame-ancestors "+ancestors) {
			t.Errorf("%s has the policy %q, want frame-ancestors %s", path, policy, ancestors)
		}
	}
}

func TestDemoPageNeedsDemo(t *testing.T) {
	real := newHouse(t)
	real.do("GET", "/demo", nil).problem(404, "not_found")
	if raw := real.do("GET", "/", nil).want(200).raw; strings.Contains(raw, web.DemoEmail) ||
		strings.Contains(raw, web.DemoPassword) {
		t.Error("a real clinic's page contains the demo's sign-in")
	}
	demo := newHouse(t, func(o *web.Options) { o.Demo = true })
	for method, path := range map[string]string{"PUT": "/v1/settings/mail-server",
		"POST": "/v1/settings/mail-server/test"} {
		demo.do(method, path, map[string]any{"host": "mail.example.org"}, asAdmin).problem(403, "forbidden")
	}
	if policy := demo.do("GET", "/", nil).want(200).header.Get("Content-Security-Policy"); !strings.Contains(policy,
		"frame-ancestors 'self'") {
		t.Errorf("the demo cannot show the page in a frame: %q", policy)
	}
	if raw := demo.do("GET", "/demo", nil).want(200).raw; !strings.Contains(raw, web.DemoEmail) ||
		!strings.Contains(raw, web.DemoPassword) {
		t.Error("the demo's page does not contain its sign-in")
	}
}
