package clinic

import (
	"fmt"
	"net/url"
	"strings"

	"holdfast/engine/record"
	"holdfast/store"
)

// # The address of the pages
//
// Links begin with the address of the pages. --base-url sets it; otherwise the owner sets it, during setup or in the
// settings. While no address is set, a response uses the address of its request. Emails cannot do that: they may be
// written without a request, and any client could choose the address in its request. So an email uses the address of
// this machine if the server listens only on that, and otherwise contains no link.

// URLSource identifies the source of the pages' address.
type URLSource string

// The sources, in order of precedence.
const (
	URLFromStart    URLSource = "start"    // set when the server starts
	URLFromSettings URLSource = "settings" // set by the owner
	URLGuessed      URLSource = "guess"    // not set
)

// defaultPorts are the ports that browsers leave out of an origin.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// ParseBaseURL parses the address of the pages: a scheme, a host and an optional port. It returns the address the way
// browsers write an origin. An empty address is valid and returned unchanged. The error describes the expected form.
func ParseBaseURL(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return "", nil
	}
	u, err := url.Parse(s)
	if err == nil && u.User == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && !u.ForceQuery &&
		u.Fragment == "" && len(s) <= 300 {
		origin := strings.ToLower(u.Scheme + "://" + u.Host)
		if u.Port() == defaultPorts[strings.ToLower(u.Scheme)] {
			origin = strings.TrimSuffix(origin, ":"+u.Port())
		}
		if isOrigin(origin) {
			return origin, nil
		}
	}
	return "", fmt.Errorf("%q must be a scheme and a host only, such as https://book.example.org", s)
}

// GuessBaseURL sets the address where this machine can reach the pages. Links in emails use it while no other address
// is set.
func (cl *Clinic) GuessBaseURL(origin string) { cl.guessedURL.Store(&origin) }

// BaseURL returns the address of the pages, without a trailing slash, and its source. The address is empty if none is
// set.
func (cl *Clinic) BaseURL() (string, URLSource) {
	if cl.givenURL != "" {
		return cl.givenURL, URLFromStart
	}
	if chosen := cl.Settings().BaseURL; chosen != "" {
		return chosen, URLFromSettings
	}
	return "", URLGuessed
}

// LinkURL returns the base URL for links that are written without a request, such as in emails. If it is empty, the
// caller leaves the link out.
func (cl *Clinic) LinkURL() string {
	if said, _ := cl.BaseURL(); said != "" {
		return said
	}
	if guess := cl.guessedURL.Load(); guess != nil {
		return *guess
	}
	return ""
}

// ChooseBaseURL stores the address of the pages in c's settings. If the address is empty, it changes nothing. Errors:
// *record.ValidationError.
func ChooseBaseURL(c *store.Clinic, baseURL string) error {
	origin, err := ParseBaseURL(baseURL)
	if err != nil {
		return record.Invalid("baseUrl", "%v", err)
	}
	if origin == "" {
		return nil
	}
	settings, err := readSettings(c.Settings)
	if err != nil {
		return err
	}
	settings.BaseURL = origin
	c.Settings, err = settings.stored()
	return err
}
