package message

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/notice"
	"holdfast/store"
)

// letters are the words of the mails in one language. Placeholders: {name}, {clinic}, {what}, {who}, {when}, {where},
// {video}, {link}, {until}, {phone}. Lines whose placeholder is empty are left out.
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
	seen     string // and where it only shows it
	wait     string // and where it keeps or takes a person off the waiting list
	offered  string // and where it books what is offered or declines it
	closing  string
}

var LettersIn = map[string]*letters{
	"en": {
		Weekdays: [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
		Months:   [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
		date:     "{weekday} {day} {month} {year}", time: "{date}, {start} to {end}",
		subject: map[string]string{
			MailWaitlist: "Please confirm: you want to wait for a time", MailWaiting: "You are on the waiting list",
			MailOffer: "A time has become free: {day}", MailOfferGone: "No longer free: {day}",
			MailReceived: "Received: your request for {day}", mailAsking: "A request waits for you: {day}", MailLapsed: "A request lapsed: {day}",
			MailRequest: "Please confirm: your appointment on {day}", MailDeclined: "Not possible: the appointment you asked for on {day}",
			mailConfirmation: "Your appointment on {day}", mailCancellation: "Cancelled: your appointment on {day}", mailReschedule: "New time: your appointment on {day}",
			mailReminder: "Reminder: your appointment on {day}", mailFailed: "Your appointment on {day} could not be completed", mailStaff: "A booking needs your attention: {day}",
			mailNewAddress: "Your appointment on {day}", mailOldAddress: "Your appointment on {day}: another address",
			mailSeries: "{n} appointments from {day} on", mailSeriesCancelled: "Cancelled: {n} appointments from {day} on", mailSeriesMoved: "New times: {n} appointments from {day} on",
			MailMustMove: "Please choose another time: your appointment on {day}",
		},
		opening: map[string]string{
			MailWaitlist:     "please confirm that you want to wait for an appointment. Until then no time is kept for you. If it was not you, do nothing.",
			MailWaiting:      "you are on the waiting list. When a time that suits you becomes free, we keep it for you for a while and write to you.",
			MailOffer:        "a time has become free that suits you, and it is kept for you. Please book it or say that it does not suit; after that it is offered to the next person.",
			MailOfferGone:    "we are sorry: the time that we offered you cannot be kept for you any more. You are still on the waiting list.",
			MailReceived:     "we have your request. It is not booked yet: the time is kept for you, and we tell you whether it is possible.",
			mailAsking:       "somebody asks for an appointment. The time is held until you approve or decline it on the page “Requests”.",
			MailLapsed:       "somebody asked for an appointment, and nobody approved or declined it in time. The time is free again, and the patient was told that it is not possible, if there is an address.",
			MailRequest:      "please confirm the appointment that was asked for with this address. Until then it is not booked. If it was not you, do nothing: it lapses by itself.",
			MailDeclined:     "we are sorry: the appointment you asked for is not possible. Please choose another time.",
			mailConfirmation: "your appointment is booked.", mailCancellation: "your appointment was cancelled.", mailReschedule: "your appointment has a new time.",
			mailReminder:   "this is a reminder of your appointment.",
			mailFailed:     "we are sorry: your booking could not be completed in our system. Please call us, so that we can find a time together.",
			mailStaff:      "a booking could not be written to the practice system. Please look at the queue page and decide what to do.",
			mailNewAddress: "mails about your appointment come to this address from now on. Links in earlier mails no longer work.",
			mailOldAddress: "mails about your appointment go to another address from now on. If nobody asked for that, please call us.",
			mailSeries:     "these appointments are booked. To change or cancel one, use the link below it.", mailSeriesCancelled: "these appointments were cancelled.", mailSeriesMoved: "these appointments have new times. To change or cancel one, use the link below it.",
			"visit_confirmation": "these appointments are booked, one after the other. The link below shows the last one. To change or cancel them, call us.",
			"visit_reschedule":   "these appointments have new times, one after the other. The link below shows the last one. To change or cancel them, call us.",
			MailMustMove:         "we are sorry: your appointment cannot take place at this time. We will call you, or you can choose another time with the link below.",
			mailMustCall:         "we are sorry: your appointment cannot take place at this time. We will call you to find another one.",
		},
		details: "What: {what}\nWhen: {when}\nWith: {who}\nWhere: {where}\nVideo call: {video}\n",
		seen:    "To see it or give it back: {link}\n",
		wait:    "To confirm, see or leave the list: {link}\n",
		offered: "To book it or decline it, until {until}: {link}\n",
		confirm: "To confirm it: {link}\n",
		manage:  "To change or cancel it: {link}\n", closing: "Questions? Call {phone}.\n\n{clinic}\n",
	},
	"de": {
		Weekdays: [7]string{"Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"},
		Months:   [12]string{"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"},
		date:     "{weekday}, {day}. {month} {year}", time: "{date}, {start} bis {end} Uhr",
		subject: map[string]string{
			MailWaitlist: "Bitte bestätigen: Sie möchten auf einen Termin warten", MailWaiting: "Sie stehen auf der Warteliste",
			MailOffer: "Ein Termin ist frei geworden: {day}", MailOfferGone: "Nicht mehr frei: {day}",
			MailReceived: "Eingegangen: Ihre Anfrage für {day}", mailAsking: "Eine Anfrage wartet: {day}", MailLapsed: "Eine Anfrage ist verfallen: {day}",
			MailRequest: "Bitte bestätigen: Ihr Termin am {day}", MailDeclined: "Nicht möglich: der gewünschte Termin am {day}",
			mailConfirmation: "Ihr Termin am {day}", mailCancellation: "Abgesagt: Ihr Termin am {day}", mailReschedule: "Neue Zeit: Ihr Termin am {day}",
			mailReminder: "Erinnerung: Ihr Termin am {day}", mailFailed: "Ihr Termin am {day} konnte nicht eingetragen werden", mailStaff: "Eine Buchung braucht Ihre Aufmerksamkeit: {day}",
			mailNewAddress: "Ihr Termin am {day}", mailOldAddress: "Ihr Termin am {day}: andere Adresse",
			mailSeries: "{n} Termine ab {day}", mailSeriesCancelled: "Abgesagt: {n} Termine ab {day}", mailSeriesMoved: "Neue Zeiten: {n} Termine ab {day}",
			MailMustMove: "Bitte eine andere Zeit wählen: Ihr Termin am {day}",
		},
		opening: map[string]string{
			MailWaitlist:     "bitte bestätigen Sie, dass Sie auf einen Termin warten möchten. Bis dahin wird keine Zeit für Sie freigehalten. Wenn Sie das nicht waren, tun Sie nichts.",
			MailWaiting:      "Sie stehen auf der Warteliste. Wenn eine passende Zeit frei wird, halten wir sie eine Weile für Sie frei und schreiben Ihnen.",
			MailOffer:        "eine Zeit ist frei geworden, die für Sie passt, und sie wird für Sie freigehalten. Bitte buchen Sie sie oder sagen Sie, dass sie nicht passt; danach wird sie der nächsten Person angeboten.",
			MailOfferGone:    "es tut uns leid: Die angebotene Zeit können wir nicht länger für Sie freihalten. Sie stehen weiter auf der Warteliste.",
			MailReceived:     "wir haben Ihre Anfrage. Sie ist noch nicht gebucht: Die Zeit wird für Sie freigehalten, und wir sagen Ihnen, ob sie möglich ist.",
			mailAsking:       "jemand fragt einen Termin an. Die Zeit ist freigehalten, bis Sie auf der Seite „Anfragen“ zusagen oder ablehnen.",
			MailLapsed:       "jemand hat einen Termin angefragt, und niemand hat rechtzeitig zugesagt oder abgelehnt. Die Zeit ist wieder frei, und wer gefragt hat, weiß, dass es nicht möglich ist, wenn es eine Adresse gibt.",
			MailRequest:      "bitte bestätigen Sie den Termin, der mit dieser Adresse angefragt wurde. Bis dahin ist er nicht gebucht. Wenn Sie das nicht waren, tun Sie nichts: Die Anfrage verfällt von selbst.",
			MailDeclined:     "es tut uns leid: Der angefragte Termin ist nicht möglich. Bitte wählen Sie eine andere Zeit.",
			mailConfirmation: "Ihr Termin ist gebucht.", mailCancellation: "Ihr Termin wurde abgesagt.", mailReschedule: "Ihr Termin hat eine neue Zeit.",
			mailReminder:   "wir erinnern Sie an Ihren Termin.",
			mailFailed:     "es tut uns leid: Ihre Buchung konnte in unserem System nicht eingetragen werden. Bitte rufen Sie uns an, damit wir gemeinsam eine Zeit finden.",
			mailStaff:      "eine Buchung konnte nicht in das Praxissystem geschrieben werden. Bitte entscheiden Sie auf der Seite „Warteschlange“, was geschehen soll.",
			mailNewAddress: "Mails zu Ihrem Termin kommen von jetzt an an diese Adresse. Links in früheren Mails gelten nicht mehr.",
			mailOldAddress: "Mails zu Ihrem Termin gehen von jetzt an an eine andere Adresse. Wenn das niemand veranlasst hat, rufen Sie uns bitte an.",
			mailSeries:     "diese Termine sind gebucht. Den Link darunter können Sie nutzen, um einen davon zu ändern oder abzusagen.", mailSeriesCancelled: "diese Termine wurden abgesagt.", mailSeriesMoved: "diese Termine haben neue Zeiten. Den Link darunter können Sie nutzen, um einen davon zu ändern oder abzusagen.",
			"visit_confirmation": "diese Termine sind gebucht, einer nach dem anderen. Der Link darunter zeigt den letzten. Zum Ändern oder Absagen rufen Sie uns bitte an.",
			"visit_reschedule":   "diese Termine haben neue Zeiten, einer nach dem anderen. Der Link darunter zeigt den letzten. Zum Ändern oder Absagen rufen Sie uns bitte an.",
			MailMustMove:         "es tut uns leid: Ihr Termin kann zu dieser Zeit nicht stattfinden. Wir rufen Sie an, oder Sie wählen mit dem Link unten selbst eine andere Zeit.",
			mailMustCall:         "es tut uns leid: Ihr Termin kann zu dieser Zeit nicht stattfinden. Wir rufen Sie an, um eine andere Zeit zu finden.",
		},
		details: "Was: {what}\nWann: {when}\nBei: {who}\nWo: {where}\nVideosprechstunde: {video}\n",
		seen:    "Ansehen oder zurückziehen: {link}\n",
		wait:    "Bestätigen, ansehen oder die Liste verlassen: {link}\n",
		offered: "Buchen oder ablehnen, bis {until}: {link}\n",
		confirm: "Jetzt bestätigen: {link}\n",
		manage:  "Ändern oder absagen: {link}\n", closing: "Fragen? Rufen Sie an: {phone}.\n\n{clinic}\n",
	},
	"es": {
		Weekdays: [7]string{"domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"},
		Months:   [12]string{"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"},
		date:     "{weekday} {day} de {month} de {year}", time: "{date}, de {start} a {end}",
		subject: map[string]string{
			MailWaitlist: "Confirme, por favor: quiere esperar una cita", MailWaiting: "Está en la lista de espera",
			MailOffer: "Ha quedado libre una hora: {day}", MailOfferGone: "Ya no está libre: {day}",
			MailReceived: "Recibida: su solicitud para el {day}", mailAsking: "Una solicitud le espera: {day}", MailLapsed: "Una solicitud ha caducado: {day}",
			MailRequest: "Confirme, por favor: su cita del {day}", MailDeclined: "No es posible: la cita solicitada del {day}",
			mailConfirmation: "Su cita del {day}", mailCancellation: "Cancelada: su cita del {day}", mailReschedule: "Nueva hora: su cita del {day}",
			mailReminder: "Recordatorio: su cita del {day}", mailFailed: "No se pudo completar su cita del {day}", mailStaff: "Una reserva necesita su atención: {day}",
			mailNewAddress: "Su cita del {day}", mailOldAddress: "Su cita del {day}: otra dirección",
			mailSeries: "{n} citas a partir del {day}", mailSeriesCancelled: "Canceladas: {n} citas a partir del {day}", mailSeriesMoved: "Nuevas horas: {n} citas a partir del {day}",
			MailMustMove: "Elija otra hora, por favor: su cita del {day}",
		},
		opening: map[string]string{
			MailWaitlist:     "confirme, por favor, que quiere esperar una cita. Hasta entonces no se le guarda ninguna hora. Si no fue usted, no haga nada.",
			MailWaiting:      "está en la lista de espera. Cuando quede libre una hora que le convenga, se la guardaremos un rato y le escribiremos.",
			MailOffer:        "ha quedado libre una hora que le conviene, y se la guardamos. Resérvela o diga que no le va bien; después se ofrece a la siguiente persona.",
			MailOfferGone:    "lo sentimos: ya no podemos guardarle la hora que le ofrecimos. Sigue en la lista de espera.",
			MailReceived:     "hemos recibido su solicitud. Aún no está reservada: le guardamos la hora y le diremos si es posible.",
			mailAsking:       "alguien solicita una cita. La hora está guardada hasta que usted la apruebe o la rechace en la página de solicitudes.",
			MailLapsed:       "alguien solicitó una cita y nadie la aprobó ni la rechazó a tiempo. La hora vuelve a estar libre y se avisó al paciente de que no es posible, si hay una dirección.",
			MailRequest:      "confirme, por favor, la cita que se solicitó con esta dirección. Hasta entonces no está reservada. Si no fue usted, no haga nada: la solicitud caduca sola.",
			MailDeclined:     "lo sentimos: la cita solicitada no es posible. Elija otra hora, por favor.",
			mailConfirmation: "su cita está reservada.", mailCancellation: "su cita se ha cancelado.", mailReschedule: "su cita tiene una nueva hora.",
			mailReminder:   "le recordamos su cita.",
			mailFailed:     "lo sentimos: su reserva no se pudo completar en nuestro sistema. Llámenos, por favor, y buscaremos una hora juntos.",
			mailStaff:      "una reserva no se pudo escribir en el sistema de la consulta. Por favor, decida en la página de la cola qué hacer.",
			mailNewAddress: "los correos sobre su cita llegan desde ahora a esta dirección. Los enlaces de correos anteriores ya no funcionan.",
			mailOldAddress: "los correos sobre su cita van desde ahora a otra dirección. Si nadie lo pidió, llámenos, por favor.",
			mailSeries:     "estas citas están reservadas. Para cambiar o cancelar una, use el enlace que está debajo.", mailSeriesCancelled: "estas citas se han cancelado.", mailSeriesMoved: "estas citas tienen nuevas horas. Para cambiar o cancelar una, use el enlace que está debajo.",
			"visit_confirmation": "estas citas están reservadas, una detrás de otra. El enlace de abajo muestra la última. Para cambiarlas o cancelarlas, llámenos.",
			"visit_reschedule":   "estas citas tienen nuevas horas, una detrás de otra. El enlace de abajo muestra la última. Para cambiarlas o cancelarlas, llámenos.",
			MailMustMove:         "lo sentimos: su cita no puede tener lugar a esta hora. Le llamaremos, o puede elegir otra hora con el enlace de abajo.",
			mailMustCall:         "lo sentimos: su cita no puede tener lugar a esta hora. Le llamaremos para encontrar otra.",
		},
		details: "Qué: {what}\nCuándo: {when}\nCon: {who}\nDónde: {where}\nVideollamada: {video}\n",
		seen:    "Para verla o retirarla: {link}\n",
		wait:    "Para confirmar, ver o dejar la lista: {link}\n",
		offered: "Para reservarla o rechazarla, hasta {until}: {link}\n",
		confirm: "Para confirmarla: {link}\n",
		manage:  "Para cambiarla o cancelarla: {link}\n", closing: "¿Preguntas? Llame al {phone}.\n\n{clinic}\n",
	},
}

// writeMail fills in subject, text and HTML, in the patient's language where we have it, or else the clinic's. Times are wall
// clock where the specialist is.
func (ms *Messages) writeMail(m *notice.Mail, name string, a *store.Appointment, link string) {
	language, _ := lettersFor(a.Locale, ms.clinic.Schedule().Clinic.Locale)
	ms.write(m, name, a, link, ms.clinic.Settings().MailTexts[name][language], time.Time{})
}

// write is writeMail with the clinic's own words for it, which may be none, and until when what is offered is kept.
func (ms *Messages) write(m *notice.Mail, name string, a *store.Appointment, link string, own clinic.MailText, until time.Time) {
	s := ms.clinic.Current()
	wanted := []string{a.Locale, s.Clinic.Locale}
	if toStaff(name) {
		wanted = wanted[1:]
	}
	var words *letters
	m.Language, words = lettersFor(wanted...)
	what := s.TypeName(a.AppointmentTypeID, m.Language)
	who, zone := s.Who(a.SpecialistID)
	day, when := words.day(a.SlotStart.In(zone)), words.when(a, zone, s.Zone)
	values := map[string]string{"what": what, "when": when, "who": who, "where": s.Where(a, m.Language), "video": s.VideoLink(a), "link": link, "phone": s.Clinic.Phone, "clinic": s.Clinic.Name}
	invitation := words.manage
	switch name {
	case MailRequest, MailReceived, mailAsking:
		if invitation, values["video"] = words.confirm, ""; name == MailReceived { // the call is for who has booked it
			invitation = words.seen
		}
	case MailWaitlist, MailWaiting:
		invitation, values["when"], day = words.wait, "", ""
	case MailOffer:
		invitation, values["video"] = words.offered, ""
		values["until"] = words.instant(until, s.Zone)
	case MailOfferGone:
		invitation, values["video"] = words.wait, ""
	case mailCancellation, mailFailed, mailStaff, MailDeclined, MailLapsed:
		values["link"], values["video"] = "", ""
	case mailOldAddress: // it is somebody else's matter now
		values["what"], values["who"], values["where"], values["video"] = "", "", "", ""
	}
	cancelling := ""
	if t := s.TypeOf(a.AppointmentTypeID); t != nil && slices.Contains([]string{mailConfirmation, mailReschedule, mailReminder}, name) {
		if cancelling = clinic.CancelTextIn(t, m.Language); cancelling != "" {
			cancelling += "\n\n"
		}
	}
	opening := words.opening[name]
	if name == MailMustMove && !ms.changesOnline(a) {
		opening, values["link"] = words.opening[mailMustCall], ""
	}
	values["day"] = day
	m.Subject = filled(cmp.Or(own.Subject, words.subject[name]), values)
	greeting := ""
	if m.ToName != "" && !toStaff(name) {
		greeting = m.ToName + ",\n\n"
	}
	m.Text = greeting + filled(cmp.Or(own.Text, opening), values) + "\n\n" + fill(words.details, values) + "\n" + fill(invitation, values) + cancelling + fill(words.closing, values)
	m.HTML = asHTML(m.Language, m.Subject, m.Text, values["link"], values["video"])
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
// its links.
func asHTML(language, title, text string, links ...string) string {
	var b strings.Builder
	// All at once, the longest first: one may be the beginning of another.
	slices.SortFunc(links, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, link := range links {
		if to := html.EscapeString(link); to != "" {
			pairs = append(pairs, to, `<a href="`+to+`">`+to+`</a>`)
		}
	}
	anchors := strings.NewReplacer(pairs...)
	b.WriteString(`<!doctype html><html lang="` + html.EscapeString(language) + `"><head><meta charset="utf-8"><title>` + html.EscapeString(title) + `</title></head>` +
		`<body style="font-family:system-ui,sans-serif;font-size:16px;line-height:1.5;max-width:36em;margin:1.5em auto;padding:0 1em">`)
	for paragraph := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		lines := anchors.Replace(html.EscapeString(strings.Trim(paragraph, "\n")))
		b.WriteString(`<p dir="auto">` + strings.ReplaceAll(lines, "\n", "<br>") + "</p>")
	}
	b.WriteString("</body></html>\n")
	return b.String()
}

// when is from when to when an appointment is, on the wall clock of a zone, which is named where it is not the usual one, the clinic's.
func (w *letters) when(a *store.Appointment, zone, usual *time.Location) string {
	start, end := a.SlotStart.In(zone), a.SlotEnd.In(zone)
	when := strings.NewReplacer("{date}", w.day(start), "{start}", clinic.Clock(start), "{end}", clinic.Clock(end)).Replace(w.time)
	if zone.String() != usual.String() {
		when += " (" + zone.String() + ")"
	}
	return when
}

// instant is a day and a time of day on the wall clock of a zone.
func (w *letters) instant(t time.Time, zone *time.Location) string {
	return w.day(t.In(zone)) + ", " + clinic.Clock(t.In(zone))
}

func (w *letters) day(t time.Time) string {
	return strings.NewReplacer("{weekday}", w.Weekdays[t.Weekday()], "{day}", fmt.Sprint(t.Day()), "{month}", w.Months[t.Month()-1], "{year}", fmt.Sprint(t.Year())).Replace(w.date)
}

// LongDay is a date in words, such as Monday 23 November 2026, in a language that there are mails in; in English for any other.
func LongDay(language string, t time.Time) string {
	_, words := lettersFor(language, "en")
	return words.day(t)
}

// filled puts values into a text whose lines all stay.
func filled(text string, values map[string]string) string {
	for name, value := range values {
		text = strings.ReplaceAll(text, "{"+name+"}", strings.ReplaceAll(value, "\n", ", "))
	}
	return text
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
