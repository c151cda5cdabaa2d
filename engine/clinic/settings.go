package clinic

import (
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

// SetupReminderHours is how many hours before the start a newly set-up clinic sends patients a reminder.
const SetupReminderHours = 24

// RemindFromSetup turns on reminders in the settings of a clinic that is being set up, unless the reminder time already
// has a value.
func RemindFromSetup(c *store.Clinic) error {
	settings, err := readSettings(c.Settings)
	if err != nil || settings.ReminderHours != 0 {
		return err
	}
	settings.ReminderHours = SetupReminderHours
	c.Settings, err = settings.stored()
	return err
}

// Settings are the choices made by a clinic's owner. The zero value is for a clinic whose owner has not chosen
// anything.
type Settings struct {
	// the address of the pages, such as https://book.example.org
	BaseURL string `json:"baseUrl,omitempty"`
	// patient fields required in addition to the name: email, phone, contact, birthDate
	RequiredFields []string `json:"requiredFields,omitempty"`
	// patients can change and cancel online until this many hours before the start
	ChangeCutoffHours int    `json:"changeCutoffHours,omitempty"`
	Accent            string `json:"accent,omitempty"` // one of the tested hues, or a colour such as #3a4f9a
	Logo              string `json:"logo,omitempty"`   // a PNG or an SVG as a data: URL, at most 100 KB
	// sites that may frame the booking page; if empty, embedding is off
	EmbedOrigins []string `json:"embedOrigins,omitempty"`
	// sites whose pages may read, hold and book from a browser; if empty, no other site may
	CORSOrigins []string `json:"corsOrigins,omitempty"`
	// specialists who are online must send heartbeats; default true
	RequirePing *bool `json:"requirePing,omitempty"`
	// the maximum age of a heartbeat, in seconds; 0 means the value given when the server was started
	StaleAfterSeconds int `json:"staleAfterSeconds,omitempty"`
	// an accepted session expires this many minutes after the last activity; 0 means DefaultSessionIdle
	SessionIdleMinutes int `json:"sessionIdleMinutes,omitempty"`
	// patients can request a session on the booking page while a specialist is available
	OnDemand bool `json:"onDemand,omitempty"`
	// patients can report their arrival on the page of their appointment
	OnlineArrival bool `json:"onlineArrival,omitempty"`
	// patients can ask for a recall: a message, months later, that it is time for the next visit
	OnlineRecall bool `json:"onlineRecall,omitempty"`
	// patients get an email reminder this many hours before the start; 0 means never
	ReminderHours int `json:"reminderHours,omitempty"`

	PublicBookings PublicBookings `json:"publicBookings,omitzero"` // limits of public bookings
	Waitlist       Waitlist       `json:"waitlist,omitzero"`       // offers of times that become free

	PrivacyURL string  `json:"privacyUrl,omitempty"` // the clinic's privacy policy
	ImprintURL string  `json:"imprintUrl,omitempty"` // the clinic's legal notice
	Consent    Consent `json:"consent,omitzero"`

	Places     []Place     `json:"places,omitempty"`     // the clinic's locations; hours refer to them
	TypeGroups []TypeGroup `json:"typeGroups,omitempty"` // the headings on the booking page, in display order
	MailTexts  MailTexts   `json:"mailTexts,omitempty"`  // the clinic's own texts for emails to patients
	SMS        SMS         `json:"sms,omitzero"`         // text messages to patients

	AgentTexts AgentTexts `json:"agentTexts,omitzero"` // texts for voice and chat agents

	Webhooks []WebhookEndpoint `json:"webhooks,omitempty"`

	BookingRule BookingRule `json:"bookingRule,omitzero"` // the program that the server calls before each booking

	// Mail is the mail server that the owner has chosen, or nil if there is none. Only a Choice changes it. It does not
	// appear in any API response, clinic file or audit entry.
	Mail *notice.Server `json:"-"`

	// Gateway is the SMS gateway that the owner has chosen, or nil if there is none. Only a Choice changes it. Like
	// Mail, it does not appear in any API response, clinic file or audit entry.
	Gateway *notice.Gateway `json:"-"`

	// OpenID is the identity provider that staff can sign in with, or nil if there is none. Only a Choice changes it.
	// Like Mail, it does not appear in any API response, clinic file or audit entry.
	OpenID *openid.Provider `json:"-"`
}

// storedSettings is the stored form of Settings.
type storedSettings struct {
	Settings
	Mail    *notice.Server   `json:"mailServer,omitempty"`
	Gateway *notice.Gateway  `json:"smsGateway,omitempty"`
	OpenID  *openid.Provider `json:"openId,omitempty"`
}

// DefaultSessionIdle is how long an accepted session can be inactive if the clinic has not set a value.
const DefaultSessionIdle = 4 * time.Hour

// SessionIdle returns how long an accepted session can be inactive before it expires.
func (s Settings) SessionIdle() time.Duration {
	if s.SessionIdleMinutes == 0 {
		return DefaultSessionIdle
	}
	return time.Duration(s.SessionIdleMinutes) * time.Minute
}

// Settings returns the clinic's current settings. The caller must not modify the lists in them.
func (cl *Clinic) Settings() Settings { return cl.Current().Settings }

// readSettings decodes the stored settings.
func readSettings(raw json.RawMessage) (s Settings, err error) {
	var stored storedSettings
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &stored)
	}
	stored.Settings.Mail, stored.Settings.Gateway, stored.Settings.OpenID = stored.Mail, stored.Gateway, stored.OpenID
	return stored.Settings, err
}

// stored encodes the settings for the store.
func (s Settings) stored() (json.RawMessage, error) {
	return json.Marshal(storedSettings{s, s.Mail, s.Gateway, s.OpenID})
}

// checkSettings completes and checks the settings that will replace before. languages are those of the server's texts.
func checkSettings(m *record.Mistakes, languages []string, s, before *Settings) {
	s.Mail, s.Gateway, s.OpenID = before.Mail, before.Gateway, before.OpenID
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
		m.Add("sessionIdleMinutes", "must be 5 to %d minutes, or 0 for the default of %d", 7*24*60,
			DefaultSessionIdle/time.Minute)
	}
	if s.ReminderHours < 0 || s.ReminderHours > 24*14 {
		m.Add("reminderHours", "must be 0 (never) to %d hours", 24*14)
	}
	checkPublicBookings(m, &s.PublicBookings)
	checkWaitlist(m, &s.Waitlist)
	checkAgentTexts(m, languages, &s.AgentTexts)
	s.TypeGroups = slices.Clone(s.TypeGroups)
	checkTypeGroups(m, s.TypeGroups)
	s.Places = slices.Clone(s.Places)
	checkPlaces(m, s.Places)
	s.MailTexts = checkMailTexts(m, languages, s.MailTexts)
	checkSMS(m, languages, &s.SMS)
	checkConsent(m, s)
	s.Webhooks = slices.Clone(s.Webhooks)
	checkWebhooks(m, s.Webhooks, before.Webhooks)
	checkBookingRule(m, &s.BookingRule, &before.BookingRule)
	checkLook(m, s)
	checkOrigins(m, "embedOrigins", s.EmbedOrigins)
	checkOrigins(m, "corsOrigins", s.CORSOrigins)
}

// maxOrigins limits the list of origins, because the server searches it for each response.
const maxOrigins = 50

func checkOrigins(m *record.Mistakes, field string, origins []string) {
	if len(origins) > maxOrigins {
		m.Add(field, "must be at most %d origins", maxOrigins)
		return
	}
	for i, o := range origins {
		if !isOrigin(o) {
			m.Add(indexed(field, i), "must be an origin like https://www.example.org: no path, no wildcard, lower case")
		}
	}
}

// isOrigin reports whether s is the origin of one site as browsers write it: scheme, host and optional port.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Scheme+"://"+u.Host != s {
		return false
	}
	host, port := u.Hostname(), u.Port()
	if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port) ||
		strings.HasSuffix(u.Host, ":") {
		return false
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Zone() == ""
	}
	for label := range strings.SplitSeq(host, ".") {
		if strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.Trim(label, "-") != label ||
			label == "" {
			return false
		}
	}
	return true
}

// audited returns the settings for the audit log, without the logo's bytes and the webhooks' secrets.
func (s Settings) audited() Settings {
	s.BookingRule.Secret = ""
	s.Webhooks = slices.Clone(s.Webhooks)
	for i := range s.Webhooks {
		s.Webhooks[i].Secret, s.Webhooks[i].Previous = "", ""
	}
	if s.Logo != "" {
		s.Logo = "(an image)"
	}
	return s
}
