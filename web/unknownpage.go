package web

import (
	"cmp"
	"crypto/rand"
	"html"
	"net/http"
	"strings"
)

// wantsPage reports whether a browser is requesting a page: the request accepts text/html. Requests by programs and by
// the pages themselves do not.
func wantsPage(r *http.Request) bool {
	return safe(r.Method) && strings.Contains(strings.Join(r.Header["Accept"], ","), "text/html")
}

// unknownPage responds to a request for a path that does not exist.
func (s *Server) unknownPage(c *call) error { return s.refusedPage(c, "notfound", errNotFound) }

// refusedPage responds to a request for a page that the server does not show. A browser gets a page with a link to the
// booking page, and other callers get the problem.
func (s *Server) refusedPage(c *call, key string, refused problem) error {
	if !wantsPage(c.r) {
		return refused
	}
	words := s.engine.Clinic.Words().Find(s.language(c.r))
	s.plainPage(c, refused.Status, key, "/?lang="+words.Tag, words.Text("notfound.button"))
	return nil
}

// notSetUp reports whether this server has no booking page yet: it has no owner, and no appointment type that the
// public can book.
func (s *Server) notSetUp(c *call) bool {
	if s.options.Demo || len(s.bootTypes()) > 0 {
		return false
	}
	needsSetup, err := s.engine.Account.NeedsSetup(c.ctx())
	return err == nil && needsSetup
}

// setupPage sends a page stating that patients cannot book yet, with a link to the manual's page on installation.
func (s *Server) setupPage(c *call) error {
	words := s.engine.Clinic.Words().Find(s.language(c.r))
	s.plainPage(c, http.StatusOK, "notsetup", "/docs/install", words.Text("notsetup.button"))
	return nil
}

// ownAccent is the style of an accent colour that is not one of the tested hues. White text on this colour is readable.
// A dark page mixes a bright colour from it, unless the browser cannot mix colours.
const ownAccent = `:root:root:root{--accent:{own};--accent-strong:{own};--accent-ink:#fff}` +
	`@media (prefers-color-scheme:dark){@supports (color:color-mix(in srgb,red,red)){:root:root:root{` +
	`--accent:color-mix(in srgb,{own} 40%,#fff);--accent-strong:color-mix(in srgb,{own} 25%,#fff);` +
	`--accent-ink:color-mix(in srgb,{own} 15%,#000)}}}`

// plainPage sends a page without a script: the clinic's header, a title, one sentence and one button. The button links
// to the address in to. The text keys of the title and the sentence begin with key.
func (s *Server) plainPage(c *call, status int, key, to, button string) {
	words := s.engine.Clinic.Words().Find(s.language(c.r))
	language, title := words.Tag, words.Text(key+".title")
	settings, name := s.engine.Clinic.Settings(), cmp.Or(s.engine.Clinic.Schedule().Clinic.Name, "Holdfast")
	mark := `<span class="mark" aria-hidden="true">` + html.EscapeString(string([]rune(name)[:1])) + `</span>`
	if settings.Logo != "" {
		mark = `<img src="` + html.EscapeString(settings.Logo) + `" alt="">`
	}
	accent, style, permitted := "", "", "'self'"
	if own := settings.OwnAccent(); own != "" {
		nonce := rand.Text()
		style = `<style nonce="` + nonce + `">` + strings.ReplaceAll(ownAccent, "{own}", own) + `</style>`
		permitted += " 'nonce-" + nonce + "'"
	} else if settings.Accent != "" {
		accent = ` data-accent="` + html.EscapeString(settings.Accent) + `"`
	}
	h := c.rw.Header()
	h["Content-Type"], h["Cache-Control"], h["Vary"] = htmlType, noCache, []string{"Accept-Language, Accept"}
	h["Content-Security-Policy"] = []string{
		"default-src 'none'; style-src " + permitted + "; img-src 'self' data:; base-uri 'none'; " +
			"form-action 'none'; frame-ancestors 'none'",
	}
	c.status, c.out = status, []byte(`<!doctype html><html lang="`+language+`"`+accent+
		`><head><meta charset="utf-8">`+
		`<meta name="viewport" content="width=device-width, initial-scale=1">`+
		`<meta name="color-scheme" content="light dark">`+
		`<title>`+title+` – `+html.EscapeString(name)+`</title><link rel="icon" href="`+s.files.Base+
		`/favicon.svg" type="image/svg+xml">`+`<link rel="stylesheet" href="`+s.files.Base+
		`/holdfast.css">`+style+`</head><body><div id="app">`+`<header class="top"><div>`+
		`<div class="brand">`+mark+`<bdi>`+
		html.EscapeString(name)+`</bdi></div></div></header>`+`<div class="page"><main><h1>`+title+
		`</h1><p class="lead">`+words.Text(key+".sentence")+`</p>`+`<p><a class="btn primary" href="`+
		to+`">`+button+`</a></p></main></div></div></body></html>`)
}
