package clinic

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"holdfast/engine/record"
)

// MailText is the clinic's own text for an email. It replaces the built-in text. An empty field means the built-in
// text.
type MailText struct {
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text,omitempty"` // the first paragraphs; the details, the link and the end do not change
}

// MailTexts contains the clinic's own texts, by notice (named as in the delivery log) and by language.
type MailTexts map[string]map[string]MailText

// mailNotices are the patient emails whose text a clinic can change.
var mailNotices = []string{"confirmation", "reschedule", "cancellation", "reminder", "recall",
	"confirmation_request", "request_received", "request_declined", "waitlist_confirm", "waitlist_joined",
	"waitlist_offer", "waitlist_withdrawn"}

// mailPlaceholders are the placeholders for appointment data in a MailText. They are never replaced with text that
// patients entered.
var mailPlaceholders = []string{"what", "when", "day", "who", "where", "clinic", "phone"}

const (
	maxMailSubject = 200
	maxMailText    = 2000
)

var placeholder = regexp.MustCompile(`\{([^{}\s]*)\}`)

// CheckMailText trims and checks the clinic's text for one email in one language. It prefixes field names with at.
func (cl *Clinic) CheckMailText(m *record.Mistakes, at, notice, language string, text *MailText) {
	checkMailText(m, cl.languages(), at, notice, language, text)
}

func checkMailText(m *record.Mistakes, languages []string, at, notice, language string, text *MailText) {
	text.Subject, text.Text = strings.TrimSpace(text.Subject), strings.TrimSpace(text.Text)
	if !slices.Contains(mailNotices, notice) {
		m.Add(at+"notice", "must be one of %s", strings.Join(mailNotices, ", "))
	}
	if !slices.Contains(languages, language) { // the server would never send text in another language
		m.Add(at+"language", "must be one of %s: emails are available only in these "+
			"languages", strings.Join(languages, ", "))
	}
	record.CheckText(m, at+"subject", text.Subject, maxMailSubject, false)
	record.CheckText(m, at+"text", text.Text, maxMailText, true)
	for field, s := range map[string]string{"subject": text.Subject, "text": text.Text} {
		for _, found := range placeholder.FindAllStringSubmatch(s, -1) {
			if !slices.Contains(mailPlaceholders, found[1]) {
				m.Add(at+field, "has no placeholder {%s}; the placeholders are {%s}", record.Clip(found[1]),
					strings.Join(mailPlaceholders, "}, {"))
				break
			}
		}
	}
}

func checkMailTexts(m *record.Mistakes, languages []string, texts MailTexts) MailTexts {
	kept := make(MailTexts)
	for _, notice := range slices.Sorted(maps.Keys(texts)) {
		for _, language := range slices.Sorted(maps.Keys(texts[notice])) {
			text := texts[notice][language]
			at := "mailTexts." + record.Clip(notice) + "." + record.Clip(language) + "."
			checkMailText(m, languages, at, notice, language, &text)
			if text == (MailText{}) {
				continue
			}
			if kept[notice] == nil {
				kept[notice] = make(map[string]MailText)
			}
			kept[notice][language] = text
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}
