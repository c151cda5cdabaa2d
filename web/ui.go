package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"
)

// The pages. They are files, embedded, and the modules they load are served under a path that has the hash of all of
// them, so a page never mixes two versions and a browser asks for each file once.

//go:embed ui
var uiFiles embed.FS

// pages are the documents by path: the file, and the script without which it is no page yet.
var pages = map[string]struct{ file, script string }{
	"/":       {"book.html", "book/page.js"},
	"/manage": {"manage.html", "manage/page.js"},
	"/embed":  {"embed.html", "book/embed.js"},
	"/setup":  {"setup.html", "setup/page.js"},
	"/staff":  {"staff.html", "staff/page.js"},
	"/demo":   {"demo.html", "demo/page.js"},
}

// loose are the files that other sites and browsers ask for by a name without a hash.
var loose = map[string]bool{"/embed.js": true, "/favicon.svg": true}

// How logs and metrics name the files.
const (
	assetPattern = "/ui/{hash}/{file}"
	loosePattern = "/{file}"
)

// ui is everything that pages are made of.
type ui struct {
	base      string // "/ui/" and the hash
	assets    map[string]*asset
	languages []string // those there are words in
	pages     map[string]*pageRoute
}

// asset is one file. It is minified and compressed when it is first asked for: a start has no time for that.
type asset struct {
	contentType string
	body        func() []byte
	gzip        func() []byte
}

func newUI() (*ui, error) {
	u := &ui{assets: make(map[string]*asset)}
	files := make(map[string][]byte)
	err := fs.WalkDir(uiFiles, "ui", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := uiFiles.ReadFile(name)
		name = strings.TrimPrefix(name, "ui/")
		files[name] = stripped(name, body)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := join(files); err != nil {
		return nil, err
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%s %d\n", name, len(files[name]))
		sum.Write(files[name])
		if strings.HasPrefix(name, "i18n/") && strings.Count(name, ".") == 1 {
			u.languages = append(u.languages, strings.TrimSuffix(path.Base(name), ".js"))
		}
		body := sync.OnceValue(func() []byte {
			if small, err := minified(name, files[name]); err == nil {
				return small
			}
			return files[name] // which no file needs: a test minifies them all
		})
		u.assets[name] = &asset{contentType: contentTypeOf(name), body: body, gzip: sync.OnceValue(func() []byte { return compressed(body()) })}
	}
	u.base = "/ui/" + hex.EncodeToString(sum.Sum(nil)[:8])
	return u, nil
}

// stripped is a file without what only its readers in the repository need: comments on lines of their own, indentation
// and empty lines. Vendored files stay as they are. Inside a template literal of a page this is safe because htm drops
// blanks that hold a line's end; a test watches that there are no others.
func stripped(name string, body []byte) []byte {
	if path.Ext(name) != ".js" || strings.HasPrefix(name, "vendor/") {
		return body
	}
	kept := make([]byte, 0, len(body))
	for line := range bytes.Lines(body) {
		line = bytes.TrimLeft(line, " \t")
		if len(bytes.TrimSpace(line)) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// minified is a script or a style sheet as it is served: with short names inside of functions, and no blanks. Vendored
// files are it already.
func minified(name string, body []byte) ([]byte, error) {
	kind := path.Ext(name)
	if strings.HasPrefix(name, "vendor/") || kind != ".js" && kind != ".css" {
		return body, nil
	}
	m := minify.New()
	m.Add(".js", &js.Minifier{Version: 2022}) // the language of the oldest browsers that the pages are for
	m.AddFunc(".css", css.Minify)
	out, err := m.Bytes(kind, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

func contentTypeOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".html":
		return "text/html; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

func compressed(body []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil
	}
	_, _ = z.Write(body) // into memory, which does not fail
	_ = z.Close()
	if b.Len() >= len(body) {
		return nil
	}
	return b.Bytes()
}

// page answers what is no route of the API: a page, one of its files, or nothing.
func (s *Server) page(c *call) error {
	name := c.r.URL.Path
	hashed, isAsset := strings.CutPrefix(name, s.ui.base+"/")
	p, isPage := pages[name]
	if isPage && (s.ui.assets[p.script] == nil || name == "/demo" && !s.options.Demo) {
		isPage = false
	}
	switch {
	case !isPage && !isAsset && !loose[name]:
		return errNotFound
	case !safe(c.r.Method):
		c.rw.Header().Set("Allow", "GET, HEAD")
		return errMethodNotAllowed.with("This address answers GET and HEAD.")
	case isPage:
		c.is(name)
		return s.document(c, name, p.file)
	case isAsset && path.Ext(hashed) != ".html":
		c.is(assetPattern)
		return s.asset(c, hashed, "public, max-age=31536000, immutable")
	case loose[name]:
		c.is(loosePattern)
		return s.asset(c, name[1:], "public, max-age=300")
	}
	return errNotFound
}

func (s *Server) asset(c *call, name, cache string) error {
	a := s.ui.assets[name]
	if a == nil {
		return errNotFound
	}
	h := c.rw.Header()
	h["Content-Type"] = []string{a.contentType}
	h["Cache-Control"] = []string{cache}
	h["Vary"] = []string{"Accept-Encoding"}
	c.status, c.out = http.StatusOK, a.body()
	if strings.Contains(c.r.Header.Get("Accept-Encoding"), "gzip") {
		if z := a.gzip(); z != nil {
			h["Content-Encoding"] = []string{"gzip"}
			c.out = z
		}
	}
	return nil
}

// document answers a page: its file with the words that only the server knows put in.
func (s *Server) document(c *call, name, file string) error {
	settings := s.engine.Settings()
	ancestors := "'none'"
	if s.options.Demo {
		ancestors = "'self'" // the demo shows two phones and the desk in one window
	}
	if name == "/embed" {
		if len(settings.EmbedOrigins) == 0 {
			return errNotFound.with("Embedding is switched off. An owner can name the sites that may embed the page in the settings.")
		}
		ancestors = strings.Join(settings.EmbedOrigins, " ")
	}
	boot, err := json.Marshal(s.boot())
	if err != nil {
		return err
	}
	nonce := rand.Text()
	h := c.rw.Header()
	h["Content-Type"] = htmlType
	h["Content-Security-Policy"] = []string{"default-src 'none'; script-src 'self' 'nonce-" + nonce + "'; style-src 'self'; img-src 'self' data:; " +
		"connect-src 'self'; worker-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors " + ancestors}
	h["Vary"] = []string{"Accept-Language"}
	clinic := &s.engine.Schedule().Clinic
	title := cmp.Or(clinic.Name, "Holdfast")
	filled := strings.NewReplacer(
		"{{base}}", s.ui.base, "{{nonce}}", nonce, "{{boot}}", string(boot), // json.Marshal has escaped <, > and &
		"{{lang}}", s.language(c.r), "{{title}}", html.EscapeString(title), "{{phone}}", html.EscapeString(cmp.Or(clinic.Phone, title)),
	).Replace(string(s.ui.assets[file].body()))
	c.status, c.out = http.StatusOK, []byte(filled)
	return nil
}

// language is the one that the page is declared to be in: asked for, preferred by the browser, or the clinic's.
func (s *Server) language(r *http.Request) string {
	asked := []string{r.URL.Query().Get("lang")}
	for item := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, _, _ := strings.Cut(item, ";")
		asked = append(asked, strings.TrimSpace(tag))
	}
	for _, tag := range append(asked, s.engine.Schedule().Clinic.Locale) {
		language, _, _ := strings.Cut(strings.ToLower(tag), "-")
		if slices.Contains(s.ui.languages, language) {
			return language
		}
	}
	return "en"
}

// bootJSON is what a page knows without asking.
type bootJSON struct {
	Clinic           bootClinicJSON        `json:"clinic"`
	AppointmentTypes []appointmentTypeJSON `json:"appointmentTypes"`
	Specialists      []specialistJSON      `json:"specialists"`
	Settings         bootSettingsJSON      `json:"settings"`
	Demo             bool                  `json:"demo"`
	DemoSignIn       *demoSignInJSON       `json:"demoSignIn,omitempty"`
}

// The owner of the demo's clinic. Everybody knows the password, since the page /demo shows it: the clinic is invented and
// gone when the demo ends.
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
	RequiredFields    []string `json:"requiredFields"`
	Accent            string   `json:"accent"`
	ChangeCutoffHours int      `json:"changeCutoffHours"`
	Logo              string   `json:"logo"`
}

func (s *Server) boot() bootJSON {
	clinic, settings := clinicOf(&s.engine.Schedule().Clinic), s.engine.Settings()
	var demo *demoSignInJSON
	if s.options.Demo {
		demo = &demoSignInJSON{DemoEmail, DemoPassword}
	}
	return bootJSON{
		Clinic: bootClinicJSON{clinic, clinic.Contact}, AppointmentTypes: s.appointmentTypesFor(false), Specialists: s.publicSpecialists(),
		Settings: bootSettingsJSON{append([]string{}, settings.RequiredFields...), settings.Accent, settings.ChangeCutoffHours, settings.Logo},
		Demo:     s.options.Demo, DemoSignIn: demo,
	}
}
