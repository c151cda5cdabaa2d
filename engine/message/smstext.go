package message

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/engine/sms"
	"holdfast/engine/words"
	"holdfast/store"
)

// smsLetter is the content of one text message.
type smsLetter struct {
	notice string
	about  *store.Appointment // the first appointment, if there are several
	n      int                // the number of appointments
	link   string             // may be empty
	text   string             // the name of the text; empty means the notice
	until  time.Time          // until when an offered time is held; zero means no offer
	own    *string            // a text to use instead of the clinic's own; nil means the clinic's own
}

// minClinicName is the minimum number of characters that a text message keeps of the clinic's name.
const minClinicName = 10

// writeSMS returns a text message in the patient's language if it has message texts, or else in the clinic's. The
// message names neither the type nor the specialist, because it is visible on a locked screen. If the built-in text is
// longer than one segment, writeSMS shortens the clinic's name in it. If that is not enough, the message names only the
// city of the specialist's time zone and includes the link without an explanation.
func (ms *Messages) writeSMS(l smsLetter) string {
	s := ms.clinic.Current()
	language := ms.clinic.Words().Find(l.about.Locale, s.Clinic.Locale)
	own := s.Settings.SMS.Texts[l.notice][language.Tag]
	if l.notice == mailSeriesReminder {
		own = s.Settings.SMS.Texts[mailReminder][language.Tag]
	}
	if l.own != nil {
		own = *l.own
	}
	name, link := l.notice, l.link
	if ms.lacksLink(name, link) {
		own = ""
	}
	if name == MailMustMove && link == "" {
		name = mailMustCall
	}
	if name == mailReschedule && l.text != "" {
		name = l.text
	}
	_, zone := s.Who(l.about.SpecialistID)
	at := func(t time.Time) string { return language.ShortDay(t.In(zone)) + ", " + clinic.Clock(t.In(zone)) }
	write := func(from string, isBrief bool) string {
		when := at(l.about.SlotStart)
		switch {
		case zone.String() == s.Zone.String():
		case isBrief:
			when += " (" + city(zone) + ")"
		default:
			when += " (" + zone.String() + ")"
		}
		text := words.Fill(cmp.Or(own, language.Text("sms."+name)), "clinic", from, "when", when,
			"day", language.ShortDay(l.about.SlotStart.In(zone)), "time", clinic.Clock(l.about.SlotStart.In(zone)),
			"phone", s.Clinic.Phone, "until", at(l.until), "n", strconv.Itoa(l.n))
		switch {
		case link == "" && own == "" && s.Clinic.Phone != "" && slices.Contains(answeredSMS, name):
			text += " " + language.Fill("sms.call", "phone", s.Clinic.Phone)
		case link == "":
		case isBrief:
			text += " " + link
		default:
			text += " " + language.Fill("sms.link."+cmp.Or(smsLinks[name], "manage"), "link", link)
		}
		return sms.Plain(text)
	}
	from := record.Greetable(s.Clinic.Name)
	if own != "" {
		return write(from, false)
	}
	text := shortened(from, func(from string) string { return write(from, false) })
	if n := sms.Measure(text).Segments; n > 1 {
		brief := shortened(from, func(from string) string { return write(from, true) })
		if sms.Measure(brief).Segments < n {
			return brief
		}
	}
	return text
}

// smsLinks contains, by message, the names of the texts for links that do something other than open an appointment to
// change or cancel it.
var smsLinks = map[string]string{MailMustMove: "move", MailOffer: "offer", MailProposal: "proposal",
	mailRecall: "offer"}

// answeredSMS contains the text messages that the patient answers: by phone, if they have no link.
var answeredSMS = []string{MailOffer, MailProposal, mailRecall}

// shortened returns the text that write returns for the clinic's name. If it is longer than one segment, shortened
// truncates the name as far as necessary, but to no fewer than minClinicName characters.
func shortened(name string, write func(name string) string) string {
	text := write(name)
	for runes := []rune(name); len(runes) > minClinicName && sms.Measure(text).Segments > 1; {
		runes = runes[:len(runes)-1]
		text = write(string(runes))
	}
	return text
}

// city returns the last part of a zone's name in readable form, such as Sao Paulo.
func city(zone *time.Location) string {
	name := zone.String()
	return strings.ReplaceAll(name[strings.LastIndexByte(name, '/')+1:], "_", " ")
}

// SMSPreview is a text message as the server would write it, with its length and the built-in text.
type SMSPreview struct {
	Text    string
	Length  sms.Length
	Builtin string // the built-in text with unfilled placeholders
}

// PreviewSMS writes a text message about a made-up appointment with the clinic's own text or, if that is empty, the
// built-in text. It does not send anything. Errors: *ValidationError.
func (ms *Messages) PreviewSMS(name, language, text string) (SMSPreview, error) {
	var wrong record.Mistakes
	ms.clinic.CheckSMSText(&wrong, "", name, language, &text)
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
