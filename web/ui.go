package web

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"html"
	"net/http"
	"path"
	"strings"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
)

// The responses to requests for pages: the paths that are pages, their headers, and the data that is embedded in a
// page. The files are in package pages.

// pageFiles maps the path of each page to its HTML file and its script.
var pageFiles = map[string]struct{ file, script string }{
	"/":        {"book.html", "book/page.js"},
	"/manage":  {"manage.html", "manage/page.js"},
	"/m":       {"manage.html", "manage/page.js"}, // the short address in text messages
	"/arrived": {"manage.html", "manage/page.js"}, // the address in the QR code at the door
	"/embed":   {"embed.html", "book/embed.js"},
	"/setup":   {"setup.html", "setup/page.js"},
	"/staff":   {"staff.html", "staff/page.js"},
	planPage:   {"plan.html", "plan/page.js"},
	"/demo":    {"demo.html", "demo/page.js"},
}

// worker is the script that a page runs as a Worker to send heartbeats. The Content-Security-Policy that applies to the
// worker is that of the script's own response, not that of the page.
const worker = "lib/beat.js"

var workerContents = []string{"default-src 'none'; connect-src 'self'; frame-ancestors 'none'"}

// planPage is the page that shows the last downtime plan if the server is unreachable. deskWorker is the service worker
// that stores this page in the browser. The worker is at the root so that its scope can include the desk's address; it
// serves no page for patients.
const (
	planPage   = "/staff/plan"
	deskWorker = "/staff-worker.js"
)

// loose contains the files that other sites and browsers request by a name without a hash.
var loose = map[string]bool{"/embed.js": true, "/favicon.svg": true, deskWorker: true}

// The routes of files in logs and metrics.
const (
	assetPattern = "/ui/{hash}/{file}"
	loosePattern = "/{file}"
)

// page responds to a request for a path outside the API with a page, a file, or not found.
func (s *Server) page(c *call) error {
	name := c.r.URL.Path
	hashed, isAsset := strings.CutPrefix(name, s.files.Base+"/")
	isManual := strings.HasPrefix(name, "/docs/")
	p, isPage := pageFiles[name]
	if isPage && (s.files.File(p.script) == nil || name == "/demo" && !s.options.Demo) {
		isPage = false
	}
	switch {
	case !isPage && !isAsset && !loose[name] && !isManual:
		return s.unknownPage(c)
	case !safe(c.r.Method):
		c.rw.Header().Set("Allow", "GET, HEAD")
		return errMethodNotAllowed.with("This address supports only GET and HEAD.")
	case isManual:
		return s.manualPage(c)
	case name == "/" && wantsPage(c.r) && s.notSetUp(c):
		c.is(name)
		return s.setupPage(c)
	case isPage:
		c.is(name)
		return s.document(c, name, p.file)
	case isAsset && path.Ext(hashed) != ".html":
		c.is(assetPattern)
		return s.asset(c, hashed, "public, max-age=31536000, immutable")
	case name == deskWorker:
		c.is(loosePattern)
		return s.deskWorker(c)
	case loose[name]:
		c.is(loosePattern)
		return s.asset(c, name[1:], "public, max-age=300")
	}
	return errNotFound
}

func (s *Server) asset(c *call, name, cache string) error {
	a := s.files.File(name)
	if a == nil {
		return errNotFound
	}
	h := c.rw.Header()
	h["Content-Type"] = []string{a.ContentType}
	h["Cache-Control"] = []string{cache}
	h["Vary"] = varyEncoding
	if name == worker {
		h["Content-Security-Policy"] = workerContents
	}
	c.status = http.StatusOK
	if a.Gzip == nil || !takesGzip(c.r.Header["Accept-Encoding"]) {
		c.out = a.Plain()
		return nil
	}
	h["Content-Encoding"] = []string{"gzip"}
	c.out = a.Gzip
	return nil
}

// deskWorker sends the service worker. Its script contains the current path of the page's files, which differs in each
// release. So the browser, which checks the script whenever the desk is opened, detects a new worker and replaces the
// old one.
func (s *Server) deskWorker(c *call) error {
	h := c.rw.Header()
	h["Content-Type"], h["Cache-Control"], h["Content-Security-Policy"] = []string{"text/javascript; charset=utf-8"},
		noCache, workerContents
	c.status, c.out = http.StatusOK,
		bytes.ReplaceAll(s.files.File("plan/worker.js").Plain(), []byte("{{base}}"), []byte(s.files.Base))
	return nil
}

// document sends a page: its file, with the placeholders replaced by values from the server.
func (s *Server) document(c *call, name, file string) error {
	settings := s.engine.Clinic.Settings()
	ancestors := "'none'"
	if s.options.Demo || name == "/" && c.r.URL.Query().Has("preview") {
		ancestors = "'self'" // the demo and the settings page show pages in frames
	}
	if name == "/embed" {
		if len(settings.EmbedOrigins) == 0 {
			return s.refusedPage(c, "embedoff",
				errNotFound.with("Embedding is off. An owner can list the allowed sites in the settings."))
		}
		ancestors = strings.Join(settings.EmbedOrigins, " ")
	}
	known := s.boot(c)
	if name == "/staff" {
		known.SignInWith = s.engine.Account.Identity.SignInWith()
		known.Me = s.signedIn(c)
	}
	boot, err := json.Marshal(known)
	if err != nil {
		return err
	}
	nonce := rand.Text()
	h := c.rw.Header()
	h["Content-Type"] = htmlType
	h["Content-Security-Policy"] = []string{
		"default-src 'none'; script-src 'self' 'nonce-" + nonce + "'; style-src 'self'; img-src 'self' data:; " +
			"connect-src 'self'; worker-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; " +
			"frame-ancestors " + ancestors,
	}
	h["Vary"] = []string{"Accept-Language"}
	place := &s.engine.Clinic.Schedule().Clinic
	title := cmp.Or(place.Name, "Holdfast")
	filled := strings.NewReplacer(
		"{{base}}", s.files.Base, "{{nonce}}", nonce, "{{boot}}", string(boot), // json.Marshal has escaped <, > and &
		"{{lang}}", s.language(c.r), "{{title}}", html.EscapeString(title), "{{phone}}",
		html.EscapeString(cmp.Or(place.Phone, title)),
	).Replace(string(s.files.File(file).Plain()))
	c.status, c.out = http.StatusOK, []byte(filled)
	return nil
}

// signedIn returns the user to whom the request's cookie belongs. It returns nil if there is no valid cookie or if the
// database does not respond. The page then requests the user itself and shows the reason.
func (s *Server) signedIn(c *call) *meJSON {
	secret := c.cookie(signInCookie)
	if secret == "" {
		return nil
	}
	staff, err := s.engine.Account.SignedIn(c.ctx(), secret)
	if err != nil {
		return nil
	}
	me := meOf(&staff)
	return &me
}

// language returns the language tag of a page: the language in the query, else the browser's preference, else the
// clinic's language.
func (s *Server) language(r *http.Request) string {
	return s.engine.Clinic.Words().Find(append(requestLanguages(r), s.engine.Clinic.Schedule().Clinic.Locale)...).Tag
}

// separator returns the character between the columns of a CSV file, as spreadsheets in the language of the request
// expect it. A request without a language gets commas, so that programs need not know the clinic's language.
func (s *Server) separator(r *http.Request) rune {
	return s.engine.Clinic.Words().Find(requestLanguages(r)...).Separator(s.engine.Clinic.Schedule().Clinic.Locale)
}

// requestLanguages returns the languages that a request names: the one in the query, then the browser's preferences.
func requestLanguages(r *http.Request) []string {
	asked := []string{r.URL.Query().Get("lang")}
	for item := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, _, _ := strings.Cut(item, ";")
		asked = append(asked, strings.TrimSpace(tag))
	}
	return asked
}

// bootJSON is the data that is embedded in a page.
type bootJSON struct {
	Clinic           bootClinicJSON     `json:"clinic"`
	AppointmentTypes []bootTypeJSON     `json:"appointmentTypes"`
	TypeGroups       []clinic.TypeGroup `json:"typeGroups,omitempty"`
	Specialists      []specialistJSON   `json:"specialists"`
	Places           []clinic.Place     `json:"places,omitempty"`
	// the choice of a type needs more than names: groups, places, pictures, or a search
	More     bool             `json:"more,omitempty"`
	Settings bootSettingsJSON `json:"settings"`
	Address  addressJSON      `json:"address"`
	// visitors who find no time can join the waiting list
	Waitlist bool `json:"waitlist,omitempty"`
	// visitors can request a session while a specialist is available
	OnDemand bool `json:"onDemand,omitempty"`
	// visitors can report their arrival from this many minutes before the start; if omitted, they cannot
	ArrivalMinutes int `json:"arrivalMinutes,omitempty"`
	// patients can ask for a recall on the page of their appointment
	Recall bool `json:"recall,omitempty"`
	// the name of the identity provider, only on the staff page
	SignInWith string `json:"signInWith,omitempty"`
	// the signed-in user, only on the staff page
	Me *meJSON `json:"me,omitempty"`
	// an SMS gateway is configured, so patients can agree to text messages
	SMS bool `json:"sms,omitempty"`
	// a mail server is configured; otherwise pages do not mention emails
	Mail        bool            `json:"mail"`
	Demo        bool            `json:"demo"`
	DemoCluster bool            `json:"demoCluster,omitempty"`
	DemoSignIn  *demoSignInJSON `json:"demoSignIn,omitempty"`
}

// The credentials of the owner of the demo's clinic. The page /demo shows the password: the clinic is invented and is
// deleted when the demo ends.
const (
	DemoEmail    = "demo@holdfast.invalid"
	DemoPassword = "tide and harbour"
)

type demoSignInJSON struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

type bootClinicJSON struct {
	clinicJSON
	contactJSON
}

type bootSettingsJSON struct {
	RequiredFields    []string       `json:"requiredFields"`
	Accent            string         `json:"accent"`
	ChangeCutoffHours int            `json:"changeCutoffHours"`
	Logo              string         `json:"logo"`
	PrivacyURL        string         `json:"privacyUrl,omitempty"`
	ImprintURL        string         `json:"imprintUrl,omitempty"`
	Consent           clinic.Consent `json:"consent,omitzero"`
}

func (s *Server) boot(c *call) bootJSON {
	about, settings := clinicOf(&s.engine.Clinic.Schedule().Clinic), s.engine.Clinic.Settings()
	var demo *demoSignInJSON
	if s.options.Demo {
		demo = &demoSignInJSON{DemoEmail, DemoPassword}
	}
	arrival := 0
	if settings.OnlineArrival {
		arrival = int(booking.ArrivalLead / time.Minute)
	}
	types, people := s.bootTypes(), s.publicSpecialists()
	return bootJSON{
		Clinic: bootClinicJSON{about, about.Contact}, AppointmentTypes: types, TypeGroups: settings.TypeGroups,
		Specialists: people, More: moreToSay(types, people), Places: settings.Places,
		Settings: bootSettingsJSON{
			append([]string{}, settings.RequiredFields...), settings.Accent, settings.ChangeCutoffHours, settings.Logo,
			settings.PrivacyURL, settings.ImprintURL, settings.Consent,
		},
		Address: c.pagesAddress(), Waitlist: s.engine.Waitlist.Open(), OnDemand: settings.OnDemand,
		ArrivalMinutes: arrival,
		Recall:         settings.OnlineRecall && (s.engine.Message.MailsLinks() || s.engine.Message.SendsSMS()),
		Mail:           s.engine.Message.SendsMail(), SMS: s.engine.Message.SendsSMS(), Demo: s.options.Demo,
		DemoCluster: s.options.DemoCluster, DemoSignIn: demo,
	}
}
