package web_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestManualServesEveryPage follows every link of the manual, and requests each page again with its entity tag.
func TestManualServesEveryPage(t *testing.T) {
	h := newHouse(t)
	link := regexp.MustCompile(` (?:href|src)="(/(?:docs|openapi)[^"#]*)`)
	seen, queue := map[string]bool{"/docs": true}, []string{"/docs"}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		page := h.do("GET", path, nil).want(200)
		if policy := page.header.Get("Content-Security-Policy"); path != "/openapi.yaml" &&
			(!strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") ||
				strings.Contains(policy, "unsafe")) {
			t.Errorf("%s has the policy %q", path, policy)
		}
		if tag := page.header.Get("Etag"); path != "/openapi.yaml" &&
			h.do("GET", path, nil, header{"If-None-Match": tag}).want(304).raw != "" {
			t.Errorf("%s: the body is sent again although the ETag is current", path)
		}
		for _, m := range regexp.MustCompile(` style="| on[a-z]+="`).FindAllString(page.raw, -1) {
			if strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
				t.Errorf("%s contains %s, which the policy refuses", path, m)
			}
		}
		for _, m := range link.FindAllStringSubmatch(page.raw, -1) {
			if !seen[m[1]] && strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
				seen[m[1]] = true
				queue = append(queue, m[1])
			}
		}
	}
	if len(seen) < 35 {
		t.Errorf("found only %d pages", len(seen))
	}
}

// TestManualRedirectsSourceNames: links that name the source files lead to the pages.
func TestManualRedirectsSourceNames(t *testing.T) {
	h := newHouse(t)
	for path, want := range map[string]string{
		"/docs/backup.md": "/docs/backup", "/docs/README.md": "/docs", "/docs/": "/docs",
		"/docs/clinic/setup/": "/docs/clinic/setup",
	} {
		if got := h.do("GET", path, nil).want(301).header.Get("Location"); got != want {
			t.Errorf("%s redirects to %q, want %q", path, got, want)
		}
	}
	h.do("GET", "/docs/nothing", nil).problem(404, "not_found")
	h.do("GET", "/docs/built/backup.html", nil).problem(404, "not_found")
	h.do("POST", "/docs/backup", nil).problem(405, "method_not_allowed")
}

// TestManualPictureIsNotCompressed: compression does not make a PNG smaller.
func TestManualPictureIsNotCompressed(t *testing.T) {
	a, body := newHouse(t).raw("GET", "/docs/pictures/board-light.png", asGzip)
	if a.StatusCode != 200 || a.Header.Get("Content-Type") != "image/png" || a.Header.Get("Content-Encoding") != "" ||
		!strings.HasPrefix(string(body), "\x89PNG") {
		t.Errorf("got %d, %v", a.StatusCode, a.Header)
	}
}
