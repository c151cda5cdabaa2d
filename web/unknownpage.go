package web

import (
	"cmp"
	"html"
	"net/http"
	"strings"
)

// wantsPage reports whether a browser requests a page: the request accepts text/html. Programs and the pages' own
// requests do not.
func wantsPage(r *http.Request) bool {
	return safe(r.Method) && strings.Contains(strings.Join(r.Header["Accept"], ","), "text/html")
}

// unknownPage answers an address that does not exist.
func (s *Server) unknownPage(c *call) error { return s.refusedPage(c, "notfound", errNotFound) }

// refusedPage answers a page that the server does not show: a browser gets a page with the clinic's head, one sentence
// and one button, other callers get the problem. key is the first part of its texts. The page has no script.
func (s *Server) refusedPage(c *call, key string, refused problem) error {
	if !wantsPage(c.r) {
		return refused
	}
	words := s.engine.Clinic.Words().Find(s.language(c.r))
	language, title := words.Tag, words.Text(key+".title")
	settings, name := s.engine.Clinic.Settings(), cmp.Or(s.engine.Clinic.Schedule().Clinic.Name, "Holdfast")
	mark := `<span class="mark" aria-hidden="true">` + html.EscapeString(string([]rune(name)[:1])) + `</span>`
	if settings.Logo != "" {
		mark = `<img src="` + html.EscapeString(settings.Logo) + `" alt="">`
	}
	accent := ""
	if settings.Accent != "" {
		accent = ` data-accent="` + html.EscapeString(settings.Accent) + `"`
	}
	h := c.rw.Header()
	h["Content-Type"], h["Cache-Control"], h["Vary"] = htmlType, noCache, []string{"Accept-Language, Accept"}
	h["Content-Security-Policy"] = []string{
		"default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; " +
			"frame-ancestors 'none'",
	}
	c.status, c.out = refused.Status, []byte(`<!doctype html><html lang="`+language+`"`+accent+
		`><head><meta charset="utf-8">`+
		`<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">`+
		`<title>`+title+` – `+html.EscapeString(name)+`</title><link rel="icon" href="`+s.files.Base+
		`/favicon.svg" type="image/svg+xml">`+`<link rel="stylesheet" href="`+s.files.Base+
		`/holdfast.css"></head><body><div id="app">`+`<header class="top"><div><div class="brand">`+mark+`<bdi>`+
		html.EscapeString(name)+`</bdi></div></div></header>`+`<div class="page"><main><h1>`+title+
		`</h1><p class="lead">`+words.Text(key+".sentence")+`</p>`+`<p><a class="btn primary" href="/?lang=`+
		language+`">`+words.Text("notfound.button")+`</a></p></main></div></div></body></html>`)
	return nil
}
