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
// Links begin with the address of the pages. --base-url sets it, or else the owner does, in the setup or in the settings. While no address
// is set, an answer uses the address of its request. An email has no request, and any client can choose the address of one. So an email
// uses the address of this machine if the server listens on no other one, and contains no link otherwise.

// URLSource says what set the address of the pages.
type URLSource string

// The sources, in their order of precedence.
const (
	URLFromStart    URLSource = "start"    // the server was started with it
	URLFromSettings URLSource = "settings" // the owner
	URLGuessed      URLSource = "guess"    // it is not set
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

// GuessBaseURL sets the address under which this machine reaches the pages. Links in emails use it while no other address is set.
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
