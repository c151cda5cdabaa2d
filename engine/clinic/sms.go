package clinic

import (
	"maps"
	"slices"
	"strings"

	"holdfast/engine/notice"
	"holdfast/engine/record"
	"holdfast/engine/sms"
	"holdfast/engine/token"
	"holdfast/store"
)

// SMS configures the text messages to patients. The zero value of each field is its default.
type SMS struct {
	// country code for numbers without one, without the plus, such as 49; if empty, such numbers get no text messages
	CountryCode   string   `json:"countryCode,omitempty"`
	ReminderHours []int    `json:"reminderHours,omitempty"` // hours before the start; default 48 and 2
	NoReminders   bool     `json:"noReminders,omitempty"`   // send no reminders
	Texts         SMSTexts `json:"texts,omitempty"`         // the clinic's own texts
}

// SMSTexts contains the clinic's own wording for text messages, by notice (named as in the delivery log) and by
// language. The server appends the link. It ignores the text of a must_move or a recall that has no link although the
// server has a public address.
type SMSTexts map[string]map[string]string

// Reminders returns how many hours before the start patients get their reminders.
func (s SMS) Reminders() []int {
	switch {
	case s.NoReminders:
		return nil
	case len(s.ReminderHours) == 0:
		return []int{48, 2}
	}
	return s.ReminderHours
}

// smsNotices are the text messages whose wording a clinic can change.
var smsNotices = []string{
	"confirmation", "reschedule", "cancellation", "reminder", "recall", "must_move", "waitlist_offer", "proposal",
}

// smsPlaceholders are the placeholders in a text message. Text messages are visible on a locked screen, so neither the
// appointment's type nor its specialist is among them.
var smsPlaceholders = []string{"when", "day", "time", "clinic", "phone"}

const (
	maxSMSText   = 600
	maxReminders = 3
)

// CheckSMSText trims and checks the clinic's wording of one text message in one language. It prefixes field names with
// at.
func (cl *Clinic) CheckSMSText(m *record.Mistakes, at, notice, language string, text *string) {
	checkSMSText(m, cl.languages(), at, notice, language, text)
}

func checkSMSText(m *record.Mistakes, languages []string, at, notice, language string, text *string) {
	*text = strings.TrimSpace(*text)
	if !slices.Contains(smsNotices, notice) {
		m.Add(at+"notice", "must be one of %s", strings.Join(smsNotices, ", "))
	}
	if !slices.Contains(languages, language) {
		m.Add(at+"language", "must be one of %s: text messages are available only in these languages",
			strings.Join(languages, ", "))
	}
	record.CheckText(m, at+"text", *text, maxSMSText, true)
	for _, found := range placeholder.FindAllStringSubmatch(*text, -1) {
		if !slices.Contains(smsPlaceholders, found[1]) {
			m.Add(at+"text", "has no placeholder {%s}; the placeholders are {%s}", record.Clip(found[1]),
				strings.Join(smsPlaceholders, "}, {"))
			break
		}
	}
}

func checkSMS(m *record.Mistakes, languages []string, s *SMS) {
	s.CountryCode = strings.TrimPrefix(strings.TrimSpace(s.CountryCode), "+")
	if s.CountryCode != "" && !sms.IsCountryCode(s.CountryCode) {
		m.Add("sms.countryCode", "must be a calling code, such as 49")
	}
	if len(s.ReminderHours) > maxReminders {
		m.Add("sms.reminderHours", "must be at most %d reminders", maxReminders)
	}
	for i, hours := range s.ReminderHours {
		if hours < 1 || hours > 24*14 {
			m.Add(indexed("sms.reminderHours", i), "must be 1 to %d hours", 24*14)
		}
	}
	kept := make(SMSTexts)
	for _, notice := range slices.Sorted(maps.Keys(s.Texts)) {
		for _, language := range slices.Sorted(maps.Keys(s.Texts[notice])) {
			text := s.Texts[notice][language]
			at := "sms.texts." + record.Clip(notice) + "." + record.Clip(language) + "."
			checkSMSText(m, languages, at, notice, language, &text)
			if text == "" {
				continue
			}
			if kept[notice] == nil {
				kept[notice] = make(map[string]string)
			}
			kept[notice][language] = text
		}
	}
	if s.Texts = kept; len(kept) == 0 {
		s.Texts = nil
	}
}

// SMSGateway returns the SMS gateway choice. Its secret is sealed for this method, address, headers, body and user.
func (cl *Clinic) SMSGateway(keys *token.Keys) *Choice[notice.Gateway] {
	return &Choice[notice.Gateway]{
		clinic: cl, keys: keys,
		changed: record.ActionSettingsSMSChanged, resealed: record.ActionSettingsSMSSealed,
		field:  func(s *Settings) **notice.Gateway { return &s.Gateway },
		sealed: func(g *notice.Gateway) *string { return &g.Sealed },
		use: func(g *notice.Gateway) string {
			return "sms gateway " + strings.Join([]string{g.Method, g.URL, g.Headers, g.Body, g.User}, "\x00")
		},
		audited: func(g *notice.Gateway) any {
			return gatewayAudit{g.Method, g.Host(), g.From, g.User, g.Sealed != ""}
		},
	}
}

// gatewayAudit describes an SMS gateway in the audit log. The URL and the headers can contain a secret that an owner
// typed there instead of a placeholder, so the entry contains only the host.
type gatewayAudit struct {
	Method    string `json:"method"`
	Host      string `json:"host"`
	From      string `json:"from,omitempty"`
	User      string `json:"user,omitempty"`
	SecretSet bool   `json:"secretSet"`
}

// TextNumber returns the phone number for a patient's text messages, in E.164 format. It returns "" if the patient has
// not agreed to text messages or has no usable number.
func (s *Settings) TextNumber(p *store.Patient, intake *store.Intake) string {
	if !intake.SMS {
		return ""
	}
	return sms.E164(p.Phone, s.SMS.CountryCode)
}
