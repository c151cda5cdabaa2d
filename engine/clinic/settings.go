package clinic

import (
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/notice"
	"holdfast/engine/openid"
	"holdfast/engine/record"
	"holdfast/store"
)

// SetupReminderHours is how long before the start patients are reminded once a clinic is set up, as its setup says.
const SetupReminderHours = 24

// RemindFromSetup notes reminders in the settings of a clinic that is set up, unless it has chosen.
func RemindFromSetup(c *store.Clinic) error {
	settings, err := readSettings(c.Settings)
	if err != nil || settings.ReminderHours != 0 {
		return err
	}
	settings.ReminderHours = SetupReminderHours
	c.Settings, err = settings.stored()
	return err
}

// Settings are what the owner of a clinic chooses. The zero value is a clinic that has chosen nothing.
type Settings struct {
	BaseURL            string   `json:"baseUrl,omitempty"`            // where people find the pages, such as https://book.example.org
	RequiredFields     []string `json:"requiredFields,omitempty"`     // of the patient besides the name: email, phone, contact, birthDate
	ChangeCutoffHours  int      `json:"changeCutoffHours,omitempty"`  // patients change and cancel online until so long before the start
	Accent             string   `json:"accent,omitempty"`             // one of the page's tested hues
	Logo               string   `json:"logo,omitempty"`               // a PNG as a data: URL, at most 100 KB
	EmbedOrigins       []string `json:"embedOrigins,omitempty"`       // sites that may frame the booking page; none: embedding is off
	RequirePing        *bool    `json:"requirePing,omitempty"`        // specialists who are online must send heartbeats; default true
	StaleAfterSeconds  int      `json:"staleAfterSeconds,omitempty"`  // how old a heartbeat may be; 0: as the server was started
	SessionIdleMinutes int      `json:"sessionIdleMinutes,omitempty"` // an accepted session without a sign of life expires so long after the last; 0: DefaultSessionIdle
	ReminderHours      int      `json:"reminderHours,omitempty"`      // patients are reminded by mail so long before the start; 0: never

	PublicBookings PublicBookings `json:"publicBookings,omitzero"` // how often the public may book
	Waitlist       Waitlist       `json:"waitlist,omitzero"`       // what becomes free is offered

	PrivacyURL string  `json:"privacyUrl,omitempty"` // where the clinic says what it does with what people type
	ImprintURL string  `json:"imprintUrl,omitempty"` // where it says who it is
	Consent    Consent `json:"consent,omitzero"`

	Places     []Place     `json:"places,omitempty"`     // the clinic's houses; hours name them
	TypeGroups []TypeGroup `json:"typeGroups,omitempty"` // headings of the booking page, in their order
	MailTexts  MailTexts   `json:"mailTexts,omitempty"`  // the clinic's own words in mails to patients

	AgentTexts AgentTexts `json:"agentTexts,omitzero"` // what voice and chat agents say

	Webhooks []WebhookEndpoint `json:"webhooks,omitempty"`

	// Mail is the mail server that the owner has chosen; nil: none. It is in no answer, no file and no audit entry; ChangeMailServer
	// changes it, and nothing else does.
	Mail *notice.Server `json:"-"`

	// OpenID is the identity provider that staff may sign in with; nil: none. It is as Mail is; ChangeOpenID changes it.
	OpenID *openid.Provider `json:"-"`
}

// storedSettings are Settings as the store keeps them.
type storedSettings struct {
	Settings
	Mail   *notice.Server   `json:"mailServer,omitempty"`
	OpenID *openid.Provider `json:"openId,omitempty"`
}

// DefaultSessionIdle is how long an accepted session may go without a sign of life where the clinic has not said.
const DefaultSessionIdle = 4 * time.Hour

// SessionIdle is how long an accepted session may go without a sign of life.
func (s Settings) SessionIdle() time.Duration {
	if s.SessionIdleMinutes == 0 {
		return DefaultSessionIdle
	}
	return time.Duration(s.SessionIdleMinutes) * time.Minute
}

// Settings returns the clinic's settings as they are now. The lists in it must not be changed.
func (cl *Clinic) Settings() Settings { return cl.Current().Settings }

// readSettings reads what the store kept.
func readSettings(raw json.RawMessage) (s Settings, err error) {
	var stored storedSettings
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &stored)
	}
	stored.Settings.Mail, stored.Settings.OpenID = stored.Mail, stored.OpenID
	return stored.Settings, err
}

// stored is what the store keeps.
func (s Settings) stored() (json.RawMessage, error) {
	return json.Marshal(storedSettings{s, s.Mail, s.OpenID})
}

// accents are the page's hues, each tested for contrast in both themes.
var accents = []string{"kelp", "ocean", "plum", "amber", "rose", "olive"}

const maxLogo = 100 << 10

// checkSettings completes and checks settings that replace those in before.
func checkSettings(m *record.Mistakes, s, before *Settings) {
	s.Mail, s.OpenID = before.Mail, before.OpenID
	var err error
	if s.BaseURL, err = ParseBaseURL(s.BaseURL); err != nil {
		m.Add("baseUrl", "%v", err)
	}
	for i, f := range s.RequiredFields {
		if !slices.Contains([]string{"email", "phone", "contact", "birthDate"}, f) {
			m.Add(indexed("requiredFields", i), "must be email, phone, contact (one of the two) or birthDate")
		}
	}
	if s.ChangeCutoffHours < 0 || s.ChangeCutoffHours > 24*60 {
		m.Add("changeCutoffHours", "must be 0 to %d hours", 24*60)
	}
	if s.StaleAfterSeconds != 0 && (s.StaleAfterSeconds < 5 || s.StaleAfterSeconds > 3600) {
		m.Add("staleAfterSeconds", "must be 5 to 3600 seconds")
	}
	if s.SessionIdleMinutes != 0 && (s.SessionIdleMinutes < 5 || s.SessionIdleMinutes > 7*24*60) {
		m.Add("sessionIdleMinutes", "must be 5 to %d minutes, or 0 for the default of %d", 7*24*60, DefaultSessionIdle/time.Minute)
	}
	if s.ReminderHours < 0 || s.ReminderHours > 24*14 {
		m.Add("reminderHours", "must be 0 (never) to %d hours", 24*14)
	}
	checkPublicBookings(m, &s.PublicBookings)
	checkWaitlist(m, &s.Waitlist)
	checkAgentTexts(m, &s.AgentTexts)
	s.TypeGroups = slices.Clone(s.TypeGroups)
	checkTypeGroups(m, s.TypeGroups)
	s.Places = slices.Clone(s.Places)
	checkPlaces(m, s.Places)
	s.MailTexts = checkMailTexts(m, s.MailTexts)
	checkConsent(m, s)
	s.Webhooks = slices.Clone(s.Webhooks)
	checkWebhooks(m, s.Webhooks, before.Webhooks)
	if s.Accent != "" && !slices.Contains(accents, s.Accent) {
		m.Add("accent", "must be one of %s", strings.Join(accents, ", "))
	}
	if s.Logo != "" {
		png, found := strings.CutPrefix(s.Logo, "data:image/png;base64,")
		raw, err := base64.StdEncoding.DecodeString(png)
		if !found || err != nil || !strings.HasPrefix(string(raw), "\x89PNG\r\n\x1a\n") || len(raw) > maxLogo {
			m.Add("logo", "must be a PNG of at most 100 KB as a data: URL")
		}
	}
	for i, o := range s.EmbedOrigins {
		if !isOrigin(o) {
			m.Add(indexed("embedOrigins", i), "must be an origin like https://www.example.org: no path, no wildcard, small letters")
		}
	}
}

// isOrigin reports whether s is the origin of one site as browsers write it: scheme, host and perhaps a port.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Scheme+"://"+u.Host != s {
		return false
	}
	host, port := u.Hostname(), u.Port()
	if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port) || strings.HasSuffix(u.Host, ":") {
		return false
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Zone() == ""
	}
	for label := range strings.SplitSeq(host, ".") {
		if strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.Trim(label, "-") != label || label == "" {
			return false
		}
	}
	return true
}

// audited is what the audit log keeps of settings: the logo's bytes and the webhooks' secrets are left out.
func (s Settings) audited() Settings {
	s.Webhooks = slices.Clone(s.Webhooks)
	for i := range s.Webhooks {
		s.Webhooks[i].Secret, s.Webhooks[i].Previous = "", ""
	}
	if s.Logo != "" {
		s.Logo = "(a PNG)"
	}
	return s
}
