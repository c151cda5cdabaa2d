package clinic

import (
	"fmt"
	"net/url"
	"strings"

	"holdfast/engine/record"
	"holdfast/store"
)

// # Where people find the pages
//
// The address that links begin with is said by whoever starts the server (--base-url), or else by the owner, in the setup or in
// the settings. While nobody has said it, an answer goes by what its request was addressed to. A mail has no request to go by, and
// what some request was addressed to is a stranger's to choose: it uses the address of this machine where that is the only one
// that is listened on, and carries no link otherwise, since one that leads nowhere is worse than none.

// URLSource is who has said where people find the pages.
type URLSource string

// Who can say it, the first before the others.
const (
	URLFromStart    URLSource = "start"    // the server was started with it
	URLFromSettings URLSource = "settings" // the owner
	URLGuessed      URLSource = "guess"    // nobody
)

// defaultPorts are those that browsers leave out of an origin.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// ParseBaseURL reads the address of the pages: a scheme and a host, perhaps a port. It is returned as browsers write an origin.
// Empty is nobody's address and fine. The error says what it should be.
func ParseBaseURL(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return "", nil
	}
	u, err := url.Parse(s)
	if err == nil && u.User == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && len(s) <= 300 {
		origin := strings.ToLower(u.Scheme + "://" + u.Host)
		if u.Port() == defaultPorts[strings.ToLower(u.Scheme)] {
			origin = strings.TrimSuffix(origin, ":"+u.Port())
		}
		if isOrigin(origin) {
			return origin, nil
		}
	}
	return "", fmt.Errorf("%q should be a scheme and a host and nothing more, such as https://book.example.org", s)
}

// GiveBaseURL says where people find the pages, over what the settings say. It is called before the first request.
func (cl *Clinic) GiveBaseURL(origin string) { cl.givenURL = origin }

// GuessBaseURL says where this machine finds the pages, for links of mails while nobody has said more.
func (cl *Clinic) GuessBaseURL(origin string) { cl.guessedURL.Store(&origin) }

// BaseURL is where people find the pages, without a slash at the end, and who has said so; empty while nobody has.
func (cl *Clinic) BaseURL() (string, URLSource) {
	if cl.givenURL != "" {
		return cl.givenURL, URLFromStart
	}
	if chosen := cl.Settings().BaseURL; chosen != "" {
		return chosen, URLFromSettings
	}
	return "", URLGuessed
}

// LinkURL is what links begin with where there is no request to go by; empty: leave the link out.
func (cl *Clinic) LinkURL() string {
	if said, _ := cl.BaseURL(); said != "" {
		return said
	}
	if guess := cl.guessedURL.Load(); guess != nil {
		return *guess
	}
	return ""
}

// ChooseBaseURL notes in the settings of c where people find the pages; empty changes nothing. *record.ValidationError.
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
