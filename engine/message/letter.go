package message

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"holdfast/engine/clinic"
	"holdfast/engine/notice"
	"holdfast/engine/words"
	"holdfast/store"
)

// letters contains the texts of emails in one language. Placeholders: {name}, {clinic}, {what}, {who}, {when}, {where},
// {video}, {link}, {until}, {phone}. Lines whose placeholder is empty are left out.
type letters struct{ *words.Language }

func (w letters) subject(notice string) string { return w.Text("mail.subject." + notice) }
func (w letters) opening(notice string) string { return w.Text("mail.opening." + notice) }

// link returns the line that asks the reader to open a link, or an empty string if there is no link.
func (w letters) link(kind string, values map[string]string) string {
	return fill(w.Text("mail.link."+kind)+"\n", values)
}

// letter returns the text of an email: a greeting if the recipient's name is known, and paragraphs. The texts are
// worded as they continue after the greeting, in German with a lower-case first letter. Without a greeting, letter
// capitalizes the first letter.
func (w letters) letter(to, text string) string {
	if to == "" {
		first, size := utf8.DecodeRuneInString(text)
		return string(unicode.ToUpper(first)) + text[size:]
	}
	return w.Fill("mail.greeting", "name", to) + "\n\n" + text
}

// writeMail fills in the subject, the text and the HTML, in the patient's language if it has email texts, or else in
// the clinic's. Times are wall-clock times in the specialist's zone.
func (ms *Messages) writeMail(m *notice.Mail, name string, a *store.Appointment, link string) {
	ms.writeMailAt(m, name, a, link, mailTimes{})
}

// writeMailAt is like writeMail, with the times of an offer.
func (ms *Messages) writeMailAt(m *notice.Mail, name string, a *store.Appointment, link string, at mailTimes) {
	language := ms.lettersFor(a.Locale, ms.clinic.Schedule().Clinic.Locale).Tag
	ms.write(m, name, a, link, ms.clinic.Settings().MailTexts[name][language], at)
}

// mailTimes contains the times in an email that waits for an answer.
type mailTimes struct {
	until  time.Time // the time is held until then, or the entry can be confirmed until then
	was    time.Time // the start of the appointment that cannot take place; zero means none
	text   string    // the name of the texts; empty means the name of the email
	sooner bool      // the patient has an appointment and waits for an earlier time
	// session: the patient waits only for the group session at the appointment's time
	session bool
}

// write is like writeMail, with the times of an offer and the clinic's own texts, which can be empty.
func (ms *Messages) write(m *notice.Mail, name string, a *store.Appointment, link string, own clinic.MailText,
	at mailTimes) {
	s := ms.clinic.Current()
	wanted := []string{a.Locale, s.Clinic.Locale}
	if toStaff(name) {
		wanted = wanted[1:]
	}
	words := ms.lettersFor(wanted...)
	m.Language = words.Tag
	what := s.TypeName(a.AppointmentTypeID, m.Language)
	who, zone := s.Who(a.SpecialistID)
	day, when := words.Day(a.SlotStart.In(zone)), words.when(a, zone, s.Zone)
	values := map[string]string{
		"what": what, "when": when, "who": who, "where": words.where(s, a), "video": s.VideoLink(a), "link": link,
		"phone": s.Clinic.Phone, "clinic": s.Clinic.Name,
	}
	until := func() string { return words.instant(at.until, zone, s.Zone) }
	invitation := "manage"
	switch name {
	case MailRequest, MailReceived, mailAsking:
		values["video"] = "" // only booked appointments have a video link
		if invitation = "seen"; name == MailRequest {
			invitation, values["until"] = "confirm", until()
		}
	case MailWaitlist, MailWaiting:
		invitation, values["video"] = "wait", ""
		if !at.session {
			values["when"], day = "", ""
		}
		if name == MailWaitlist {
			invitation, values["until"] = "join", until()
		}
		if len(s.Settings.Places) > 0 { // an entry has no place; only an offer has one
			values["where"] = ""
		}
	case MailOffer:
		invitation, values["video"], values["until"] = "offered", "", until()
	case MailProposal, MailProposed:
		if invitation, values["video"] = "proposed", ""; name == MailProposed {
			invitation = "answered"
		}
		values["until"], values["was"] = until(), words.instant(at.was, zone, s.Zone)
	case MailOfferGone:
		invitation, values["video"] = "wait", ""
	case mailRecall: // the appointment is the earlier one; the patient books the next one
		invitation, values["when"], values["where"], values["video"] = "book", "", "", ""
		if !servesAgain(s, a) {
			values["who"] = ""
		}
	case MailDeclined:
		invitation, values["video"] = "again", ""
	case MailMustMove:
		values["video"] = ""
	case mailCancellation, mailFailed, mailStaff, MailLapsed:
		values["link"], values["video"] = "", ""
	case mailOldAddress: // the appointment now belongs to a different person
		values["what"], values["who"], values["where"], values["video"] = "", "", "", ""
	}
	if values["video"] != "" {
		values["where"] = ""
	}
	cancelling := ""
	if t := s.TypeOf(a.AppointmentTypeID); t != nil &&
		slices.Contains([]string{mailConfirmation, mailReschedule, mailReminder}, name) {
		cancelling = clinic.CancelTextIn(t, m.Language)
	}
	subject, opening := words.subject(name), words.opening(name)
	if ms.lacksLink(name, link) {
		own = clinic.MailText{}
	}
	switch {
	case name == MailMustMove:
		text := name
		if link == "" {
			text = mailMustCall
		}
		if subject = words.subject(text); a.Patient.Phone == "" {
			text += "_nophone" // the clinic cannot call the patient
		}
		opening = words.opening(text)
	case name == mailReschedule && at.text != "":
		subject, opening = words.subject(at.text), words.opening(at.text)
	case name == mailRecall && link == "":
		opening = words.opening(mailRecallCall)
	case at.sooner && (name == MailWaiting || name == MailOffer):
		opening = words.opening(name + "_sooner")
	}
	values["day"] = day
	m.Subject = filled(cmp.Or(own.Subject, subject), values)
	to := m.ToName
	if toStaff(name) {
		to, values["phone"] = "", ""
	}
	details, ask := fill(words.Text("mail.details")+"\n", values), words.link(invitation, values)
	if link == "" && values["until"] != "" && name != MailWaitlist {
		ask = fill(words.Text("mail.call.held")+"\n", values)
	}
	m.Text = paragraphs(words.letter(to, filled(cmp.Or(own.Text, opening), values)), details,
		ask, cancelling, words.closing(m, values))
	look := ms.newLook()
	look.details, look.cancelled = strings.TrimSpace(details), values["link"] == "" && name == mailCancellation
	if values["when"] != "" {
		look.day = day + otherZone(zone, s.Zone)
		look.clock = clinic.Clock(a.SlotStart.In(zone)) + " – " + clinic.Clock(a.SlotEnd.In(zone))
		values["when"] = "" // the card has the day and the times in large type
	}
	look.facts = strings.TrimSpace(fill(words.Text("mail.details")+"\n", values))
	if values["link"] != "" {
		look.actions = map[string]string{values["link"]: words.Text("mail.action." + invitation)}
	}
	m.HTML = look.html(m.Language, m.Subject, m.Text, values["link"], values["video"])
}

// closing returns the end of an email: how to reach the clinic, and its name. If the clinic has no telephone number, a
// patient can reply to the email.
func (w letters) closing(m *notice.Mail, values map[string]string) string {
	if values["phone"] == "" && m.ReplyTo != "" && m.ReplyTo != m.To {
		return fill(w.Text("mail.closing.reply")+"\n", values)
	}
	return fill(w.Text("mail.closing")+"\n", values)
}

// lacksLink reports whether a message has no link because its appointment cannot be changed online, or its type cannot
// be booked online. The clinic's own text may ask the patient to use the link, so the built-in text is used instead. If
// no message has a link, because no public address is set, the clinic's own text is used.
func (ms *Messages) lacksLink(name, link string) bool {
	return link == "" && (name == MailMustMove || name == mailRecall) && ms.clinic.LinkURL() != ""
}

// lettersFor returns the texts in the first of these languages that the catalog contains, or else in English.
func (ms *Messages) lettersFor(tags ...string) letters {
	return letters{ms.clinic.Words().Find(tags...)}
}

// when returns an appointment's day, start and end in a zone's local time. It adds the name of the zone if it is not
// the clinic's.
func (w letters) when(a *store.Appointment, zone, usual *time.Location) string {
	start, end := a.SlotStart.In(zone), a.SlotEnd.In(zone)
	return w.Fill("date.time", "date", w.Day(start), "start", clinic.Clock(start), "end", clinic.Clock(end)) +
		otherZone(zone, usual)
}

// otherZone returns the name of a zone in brackets, or an empty string if it is the clinic's.
func otherZone(zone, usual *time.Location) string {
	if zone.String() == usual.String() {
		return ""
	}
	return " (" + zone.String() + ")"
}

// instant returns a day and a time of day in a zone's local time. It adds the name of the zone if it is not the
// clinic's.
func (w letters) instant(t time.Time, zone, usual *time.Location) string {
	t = t.In(zone)
	return w.Fill("date.instant", "date", w.Day(t), "start", clinic.Clock(t)) + otherZone(zone, usual)
}

// where returns where an appointment takes place: the address, or that the patient does not have to come.
func (w letters) where(s *clinic.Schedule, a *store.Appointment) string {
	if s.IsRemote(a.AppointmentTypeID) {
		return w.Text("mail.remote")
	}
	return s.Where(a, w.Tag)
}

// filled replaces the placeholders in a text and keeps every line.
func filled(text string, values map[string]string) string {
	for name, value := range values {
		text = strings.ReplaceAll(text, "{"+name+"}", strings.ReplaceAll(value, "\n", ", "))
	}
	return text
}

// paragraphs separates texts by empty lines. It leaves out empty ones.
func paragraphs(texts ...string) string {
	var b strings.Builder
	for _, text := range texts {
		if text = strings.Trim(text, "\n"); text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(text)
	}
	return b.String() + "\n"
}

// fill replaces the placeholders in lines and leaves out each line whose value is empty.
func fill(text string, values map[string]string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		empty := false
		for name, value := range values {
			placeholder := "{" + name + "}"
			if strings.Contains(line, placeholder) {
				empty = empty || value == ""
				line = strings.ReplaceAll(line, placeholder, strings.ReplaceAll(value, "\n", ", "))
			}
		}
		if !empty {
			b.WriteString(line)
		}
	}
	return b.String()
}
