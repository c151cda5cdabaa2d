package message

import (
	"fmt"
	"html"
	"strings"
	"time"

	"holdfast/engine/notice"
	"holdfast/store"
)

// letters are the words of the mails in one language. Placeholders: {name}, {clinic}, {what}, {who}, {when}, {where},
// {link}, {phone}. Lines whose placeholder is empty are left ms.
type letters struct {
	Weekdays [7]string // Sunday first
	Months   [12]string
	date     string // with {weekday} {day} {month} {year}
	time     string // between date and times
	subject  map[string]string
	opening  map[string]string
	details  string
	manage   string
	confirm  string // in place of manage where the link confirms a request
	closing  string
}

var LettersIn = map[string]*letters{
	"en": {
		Weekdays: [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
		Months:   [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
		date:     "{weekday} {day} {month} {year}", time: "{date}, {start} to {end}",
		subject: map[string]string{
			MailRequest: "Please confirm: your appointment on {day}", MailDeclined: "Not possible: the appointment you asked for on {day}",
			mailConfirmation: "Your appointment on {day}", mailCancellation: "Cancelled: your appointment on {day}", mailReschedule: "New time: your appointment on {day}",
			mailReminder: "Reminder: your appointment on {day}", mailFailed: "Your appointment on {day} could not be completed", mailStaff: "A booking needs your attention: {day}",
			mailNewAddress: "Your appointment on {day}", mailOldAddress: "Your appointment on {day}: another address",
		},
		opening: map[string]string{
			MailRequest:      "please confirm the appointment that was asked for with this address. Until then it is not booked. If it was not you, do nothing: it lapses by itself.",
			MailDeclined:     "we are sorry: the appointment you asked for is not possible. Please choose another time.",
			mailConfirmation: "your appointment is booked.", mailCancellation: "your appointment was cancelled.", mailReschedule: "your appointment has a new time.",
			mailReminder:   "this is a reminder of your appointment.",
			mailFailed:     "we are sorry: your booking could not be completed in our system. Please call us, so that we can find a time together.",
			mailStaff:      "a booking could not be written to the practice system. Please look at the queue page and decide what to do.",
			mailNewAddress: "mails about your appointment come to this address from now on. Links in earlier mails no longer work.",
			mailOldAddress: "mails about your appointment go to another address from now on. If nobody asked for that, please call us.",
		},
		details: "What: {what}\nWhen: {when}\nWith: {who}\nWhere: {where}\n",
		confirm: "To confirm it: {link}\n",
		manage:  "To change or cancel it: {link}\n", closing: "Questions? Call {phone}.\n\n{clinic}\n",
	},
	"de": {
		Weekdays: [7]string{"Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"},
		Months:   [12]string{"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"},
		date:     "{weekday}, {day}. {month} {year}", time: "{date}, {start} bis {end} Uhr",
		subject: map[string]string{
			MailRequest: "Bitte bestätigen: Ihr Termin am {day}", MailDeclined: "Nicht möglich: der gewünschte Termin am {day}",
			mailConfirmation: "Ihr Termin am {day}", mailCancellation: "Abgesagt: Ihr Termin am {day}", mailReschedule: "Neue Zeit: Ihr Termin am {day}",
			mailReminder: "Erinnerung: Ihr Termin am {day}", mailFailed: "Ihr Termin am {day} konnte nicht eingetragen werden", mailStaff: "Eine Buchung braucht Ihre Aufmerksamkeit: {day}",
			mailNewAddress: "Ihr Termin am {day}", mailOldAddress: "Ihr Termin am {day}: andere Adresse",
		},
		opening: map[string]string{
			MailRequest:      "bitte bestätigen Sie den Termin, der mit dieser Adresse angefragt wurde. Bis dahin ist er nicht gebucht. Wenn Sie das nicht waren, tun Sie nichts: Die Anfrage verfällt von selbst.",
			MailDeclined:     "es tut uns leid: Der angefragte Termin ist nicht möglich. Bitte wählen Sie eine andere Zeit.",
			mailConfirmation: "Ihr Termin ist gebucht.", mailCancellation: "Ihr Termin wurde abgesagt.", mailReschedule: "Ihr Termin hat eine neue Zeit.",
			mailReminder:   "wir erinnern Sie an Ihren Termin.",
			mailFailed:     "es tut uns leid: Ihre Buchung konnte in unserem System nicht eingetragen werden. Bitte rufen Sie uns an, damit wir gemeinsam eine Zeit finden.",
			mailStaff:      "eine Buchung konnte nicht in das Praxissystem geschrieben werden. Bitte entscheiden Sie auf der Seite „Warteschlange“, was geschehen soll.",
			mailNewAddress: "Mails zu Ihrem Termin kommen von jetzt an an diese Adresse. Links in früheren Mails gelten nicht mehr.",
			mailOldAddress: "Mails zu Ihrem Termin gehen von jetzt an an eine andere Adresse. Wenn das niemand veranlasst hat, rufen Sie uns bitte an.",
		},
		details: "Was: {what}\nWann: {when}\nBei: {who}\nWo: {where}\n",
		confirm: "Jetzt bestätigen: {link}\n",
		manage:  "Ändern oder absagen: {link}\n", closing: "Fragen? Rufen Sie an: {phone}.\n\n{clinic}\n",
	},
	"es": {
		Weekdays: [7]string{"domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"},
		Months:   [12]string{"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"},
		date:     "{weekday} {day} de {month} de {year}", time: "{date}, de {start} a {end}",
		subject: map[string]string{
			MailRequest: "Confirme, por favor: su cita del {day}", MailDeclined: "No es posible: la cita solicitada del {day}",
			mailConfirmation: "Su cita del {day}", mailCancellation: "Cancelada: su cita del {day}", mailReschedule: "Nueva hora: su cita del {day}",
			mailReminder: "Recordatorio: su cita del {day}", mailFailed: "No se pudo completar su cita del {day}", mailStaff: "Una reserva necesita su atención: {day}",
			mailNewAddress: "Su cita del {day}", mailOldAddress: "Su cita del {day}: otra dirección",
		},
		opening: map[string]string{
			MailRequest:      "confirme, por favor, la cita que se solicitó con esta dirección. Hasta entonces no está reservada. Si no fue usted, no haga nada: la solicitud caduca sola.",
			MailDeclined:     "lo sentimos: la cita solicitada no es posible. Elija otra hora, por favor.",
			mailConfirmation: "su cita está reservada.", mailCancellation: "su cita se ha cancelado.", mailReschedule: "su cita tiene una nueva hora.",
			mailReminder:   "le recordamos su cita.",
			mailFailed:     "lo sentimos: su reserva no se pudo completar en nuestro sistema. Llámenos, por favor, y buscaremos una hora juntos.",
			mailStaff:      "una reserva no se pudo escribir en el sistema de la consulta. Por favor, decida en la página de la cola qué hacer.",
			mailNewAddress: "los correos sobre su cita llegan desde ahora a esta dirección. Los enlaces de correos anteriores ya no funcionan.",
			mailOldAddress: "los correos sobre su cita van desde ahora a otra dirección. Si nadie lo pidió, llámenos, por favor.",
		},
		details: "Qué: {what}\nCuándo: {when}\nCon: {who}\nDónde: {where}\n",
		confirm: "Para confirmarla: {link}\n",
		manage:  "Para cambiarla o cancelarla: {link}\n", closing: "¿Preguntas? Llame al {phone}.\n\n{clinic}\n",
	},
}

// writeMail fills in subject, text and HTML, in the patient's language where we have it, or else the clinic's. Times are wall
// clock where the specialist is.
func (ms *Messages) writeMail(m *notice.Mail, name string, a *store.Appointment, link string) {
	s := ms.clinic.Current()
	wanted := []string{a.Locale, s.Clinic.Locale}
	if name == mailStaff {
		wanted = wanted[1:]
	}
	var words *letters
	m.Language, words = lettersFor(wanted...)
	what, who, zone := a.AppointmentTypeID, "", s.Zone
	if t := s.Types[a.AppointmentTypeID]; t != nil {
		what = t.Name
	}
	if p := s.SpecialistByID[a.SpecialistID]; p != nil {
		who, zone = p.Name, s.Calendars[a.SpecialistID].Zone()
	}
	day := words.day(a.SlotStart.In(zone))
	when := strings.NewReplacer("{date}", day, "{start}", a.SlotStart.In(zone).Format("15:04"), "{end}", a.SlotEnd.In(zone).Format("15:04")).Replace(words.time)
	if zone.String() != s.Zone.String() {
		when += " (" + zone.String() + ")"
	}
	values := map[string]string{"what": what, "when": when, "who": who, "where": s.Clinic.Address, "link": link, "phone": s.Clinic.Phone, "clinic": s.Clinic.Name}
	invitation := words.manage
	switch name {
	case MailRequest:
		invitation = words.confirm
	case mailCancellation, mailFailed, mailStaff, MailDeclined:
		values["link"] = ""
	case mailOldAddress: // it is somebody else's matter now
		values["what"], values["who"], values["where"] = "", "", ""
	}
	m.Subject = strings.ReplaceAll(words.subject[name], "{day}", day)
	greeting := ""
	if m.ToName != "" && name != mailStaff {
		greeting = m.ToName + ",\n\n"
	}
	m.Text = greeting + words.opening[name] + "\n\n" + fill(words.details, values) + "\n" + fill(invitation, values) + fill(words.closing, values)
	m.HTML = asHTML(m.Language, m.Subject, m.Text, values["link"])
}

// lettersFor returns the first of these languages that there are letters in; in the end, English.
func lettersFor(tags ...string) (language string, words *letters) {
	for _, tag := range tags {
		language, _, _ = strings.Cut(strings.ToLower(tag), "-")
		if words := LettersIn[language]; words != nil {
			return language, words
		}
	}
	return "en", LettersIn["en"]
}

// asHTML is a text as a page that says the same: nothing in it is fetched from anywhere, and nothing in the text is markup but
// its one link.
func asHTML(language, title, text, link string) string {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="` + html.EscapeString(language) + `"><head><meta charset="utf-8"><title>` + html.EscapeString(title) + `</title></head>` +
		`<body style="font-family:system-ui,sans-serif;font-size:16px;line-height:1.5;max-width:36em;margin:1.5em auto;padding:0 1em">`)
	for paragraph := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		lines := html.EscapeString(strings.Trim(paragraph, "\n"))
		if link != "" {
			to := html.EscapeString(link)
			lines = strings.ReplaceAll(lines, to, `<a href="`+to+`">`+to+`</a>`)
		}
		b.WriteString(`<p dir="auto">` + strings.ReplaceAll(lines, "\n", "<br>") + "</p>")
	}
	b.WriteString("</body></html>\n")
	return b.String()
}

func (w *letters) day(t time.Time) string {
	return strings.NewReplacer("{weekday}", w.Weekdays[t.Weekday()], "{day}", fmt.Sprint(t.Day()), "{month}", w.Months[t.Month()-1], "{year}", fmt.Sprint(t.Year())).Replace(w.date)
}

// fill puts values into lines and leaves out those whose value is empty.
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
