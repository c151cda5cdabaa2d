package message

import (
	"cmp"
	"strconv"
	"time"
	"unicode/utf8"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/engine/sms"
	"holdfast/engine/words"
	"holdfast/store"
)

// smsLetter is the content of one text message.
type smsLetter struct {
	notice string
	about  *store.Appointment // the first, if there are several
	n      int                // how many appointments it is about
	link   string             // may be empty
	until  time.Time          // how long an offered time is held; zero means no offer
	own    *string            // a text in place of the clinic's own; nil means the clinic's own
}

// minClinicName is the number of characters of the clinic's name that a text message keeps at least.
const minClinicName = 10

// writeSMS returns a text message in the patient's language if it exists, or else in the clinic's. It names neither
// the type nor the specialist, because it is visible on a locked screen. If the program's text is longer than one
// segment, writeSMS shortens the clinic's name in it.
func (ms *Messages) writeSMS(l smsLetter) string {
	s := ms.clinic.Current()
	language := ms.clinic.Words().Find(l.about.Locale, s.Clinic.Locale)
	own := s.Settings.SMS.Texts[l.notice][language.Tag]
	if l.own != nil {
		own = *l.own
	}
	name, link := l.notice, l.link
	if name == MailMustMove && !ms.changesOnline(l.about) {
		name, link = mailMustCall, ""
	}
	_, zone := s.Who(l.about.SpecialistID)
	at := func(t time.Time) string { return language.ShortDay(t.In(zone)) + ", " + clinic.Clock(t.In(zone)) }
	when := at(l.about.SlotStart)
	if zone.String() != s.Zone.String() {
		when += " (" + zone.String() + ")"
	}
	write := func(from string) string {
		text := words.Fill(cmp.Or(own, language.Text("sms."+name)), "clinic", from, "when", when,
			"day", language.ShortDay(l.about.SlotStart.In(zone)), "time", clinic.Clock(l.about.SlotStart.In(zone)),
			"phone", s.Clinic.Phone, "until", at(l.until), "n", strconv.Itoa(l.n))
		if link != "" {
			kind := "manage"
			switch name {
			case MailMustMove:
				kind = "move"
			case MailOffer:
				kind = "offer"
			case MailProposal:
				kind = "proposal"
			}
			text += " " + language.Fill("sms.link."+kind, "link", link)
		}
		return sms.Plain(text)
	}
	from := record.Greetable(s.Clinic.Name)
	text := write(from)
	for own == "" && sms.Measure(text).Segments > 1 && utf8.RuneCountInString(from) > minClinicName {
		runes := []rune(from)
		from = string(runes[:len(runes)-1])
		text = write(from)
	}
	return text
}

// SMSPreview is a text message as it would be written, its length, and the program's text.
type SMSPreview struct {
	Text    string
	Length  sms.Length
	Builtin string // with unfilled placeholders
}

// PreviewSMS writes a text message about an invented appointment with the clinic's own text; empty means the
// program's. It sends nothing. Errors: *ValidationError.
func (ms *Messages) PreviewSMS(name, language, text string) (SMSPreview, error) {
	var wrong record.Mistakes
	clinic.CheckSMSText(&wrong, "", name, language, &text)
	if err := wrong.Err(); err != nil {
		return SMSPreview{}, err
	}
	a, link, until := ms.inventedAppointment(language), "", time.Time{}
	if name == MailOffer || name == MailProposal {
		until = a.SlotStart.Add(-20 * time.Hour)
	}
	if base := ms.clinic.LinkURL(); base != "" && name != mailCancellation {
		link = base + "/m#" + ms.booking.ShortManageToken(&a)
	}
	written := ms.writeSMS(smsLetter{notice: name, about: &a, n: 1, link: link, until: until, own: &text})
	return SMSPreview{written, sms.Measure(written), ms.lettersFor(language).Text("sms." + name)}, nil
}
