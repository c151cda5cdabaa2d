package agent

import (
	"strconv"
	"strings"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/message"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// # What an agent says aloud
//
// The sentences are data: one of each for each language. Instructions to the model stay English. What is filled in is a
// date, and words that the clinic chose in its settings; what callers typed never is. The name of a child is a field that
// the agent fills in itself, from its own request.

// language is the one that agents speak in.
func (ag *Agent) agentLanguage() string {
	s := ag.clinic.Current()
	lang := s.Settings.AgentTexts.Language
	if lang == "" {
		lang, _, _ = strings.Cut(strings.ToLower(s.Clinic.Locale), "-")
	}
	if Voices[lang] == nil {
		return "en"
	}
	return lang
}

// agentTexts are the clinic's words with their defaults.
func (ag *Agent) agentTexts() clinic.AgentTexts {
	s := ag.clinic.Current()
	t := s.Settings.AgentTexts
	oneLine := func(text string) string { return strings.Join(strings.Fields(strings.Trim(text, "{}<>")), " ") }
	if t.Place == "" {
		t.Place = oneLine(s.Clinic.Name)
	}
	if t.Address == "" {
		t.Address = oneLine(s.Clinic.Address)
	}
	return t
}

// theChild stands in a confirmation for the name that the agent sent as childName.
const theChild = "{childName}"

// guideBooked is the guidance to a confirmed booking: what is said aloud has the child's field, place and time, the guardian's
// sentence for a minor, and the offer of the address. The chain has the same facts, in the order of the call: the address
// and the way come before the question for another appointment and the goodbye.
func (ag *Agent) guideBooked(a *store.Appointment) Guidance {
	g := ag.guide(sayConfirmed, a.SlotStart)
	t, v := ag.agentTexts(), Voices[ag.agentLanguage()]
	child := outbound.ChildOf(a.Patient.Notes) != ""
	var chain []string
	say, facts := v[voiceBooked], "the date and time"
	if child {
		say, facts = v[voiceBookedChild], "the child's name, "+facts
		chain = append(chain, "Say the childName of your own request in place of "+theChild+".")
	}
	at := ""
	if t.Place != "" {
		at = strings.ReplaceAll(v[voiceAt], "{place}", t.Place)
		facts += ", and the place: " + strconv.Quote(t.Place)
	}
	chain = append(chain, "Tell the caller "+facts+".")
	sentences := []string{strings.NewReplacer("{at}", at, theDate, spokenIn(ag.agentLanguage(), a.SlotStart, ag.clinic.Zone())).Replace(say)}
	if child || isMinor(a.Patient.BirthDate, a.SlotStart.In(ag.clinic.Zone())) {
		guardian := t.Guardian
		if guardian == "" {
			guardian = v[voiceGuardian]
		}
		sentences = append(sentences, guardian)
		chain = append(chain, "Tell the caller that a parent or legal guardian must come along.")
	}
	if t.Closing != "" {
		sentences = append(sentences, t.Closing)
	}
	if t.Address != "" {
		sentences = append(sentences, v[voiceAddress])
		chain = append(chain, "If the caller wants the address, say: "+strconv.Quote(t.Address))
	}
	if t.Directions != "" {
		chain = append(chain, "If the caller asks for the way, say: "+strconv.Quote(t.Directions))
	}
	g.Chain = append(chain, g.Chain[1:]...) // the first step of the table is the one with the facts
	g.VoiceResponse = strings.Join(sentences, " ")
	return g
}

// StateSentence returns what to say aloud about an appointment: that it is booked, waits for the practice-management system, failed, is under
// review or was cancelled. It is in the language of the clinic's agents.
func (ag *Agent) StateSentence(a *store.Appointment) string {
	of := ""
	switch {
	case a.Status == store.Cancelled:
		of = sayCancelled
	case a.UpstreamState == store.UpstreamPending:
		of = sayStillQueued
	case a.UpstreamState == store.UpstreamFailed:
		of = sayFailed
	case a.UpstreamState == store.UpstreamReview:
		of = sayReview
	default:
		at := ""
		if t := ag.agentTexts(); t.Place != "" {
			at = strings.ReplaceAll(Voices[ag.agentLanguage()][voiceAt], "{place}", t.Place)
		}
		return strings.NewReplacer("{at}", at, theDate, ag.Spoken(a.SlotStart)).Replace(Voices[ag.agentLanguage()][voiceBooked])
	}
	return ag.guide(of, a.SlotStart).VoiceResponse
}

// MovedSentence returns what to say aloud after a move, in the language of the clinic's agents.
func (ag *Agent) MovedSentence(a *store.Appointment) string {
	return strings.ReplaceAll(Voices[ag.agentLanguage()][voiceMoved], theDate, ag.Spoken(a.SlotStart))
}

// isMinor reports whether somebody born then is younger than 18 on the day.
func isMinor(born string, day time.Time) bool {
	d, err := time.Parse(time.DateOnly, born)
	return err == nil && d.AddDate(18, 0, 0).After(time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, time.UTC))
}

// spokenIn says an instant on the clinic's wall clock in a language, so that it cannot be misheard.
func spokenIn(lang string, at time.Time, zone *time.Location) string {
	words, local := message.LettersIn[lang], at.In(zone)
	switch lang {
	case "de":
		clock := local.Format("15:04")
		if local.Minute() == 0 {
			clock = strconv.Itoa(local.Hour())
		}
		return words.Weekdays[local.Weekday()] + ", " + strconv.Itoa(local.Day()) + ". " + words.Months[local.Month()-1] + " um " + clock + " Uhr"
	case "es":
		the := "a las "
		if local.Hour() == 1 {
			the = "a la "
		}
		return words.Weekdays[local.Weekday()] + " " + strconv.Itoa(local.Day()) + " de " + words.Months[local.Month()-1] + " " + the + local.Format("15:04")
	}
	return spoken(at, zone)
}

// Parts of a confirmation, and what stands where there is no date.
const (
	voiceBooked      = "booked"
	voiceBookedChild = "booked child"
	voiceAt          = "at"
	voiceGuardian    = "guardian"
	voiceAddress     = "address"
	voiceThatTime    = "that time"
	voiceMoved       = "moved"
)

// Voices are the sentences by language. Where a language lacks one, it is the English one of guidances.
var Voices = map[string]map[string]string{
	"en": {
		voiceBooked: "You are booked{at} for {date}.", voiceBookedChild: "{childName} is booked{at} for {date}.", voiceAt: " at {place}",
		voiceGuardian: "Please note that a parent or legal guardian has to come along.", voiceAddress: "Would you like the address?", voiceThatTime: "that time", voiceMoved: "Your appointment was moved to {date}.",
	},
	"de": {
		voiceBooked: "Ihr Termin{at} ist gebucht: {date}.", voiceBookedChild: "Der Termin für {childName}{at} ist gebucht: {date}.", voiceAt: " bei {place}",
		voiceGuardian: "Bitte beachten Sie, dass ein Elternteil oder Vormund mitkommen muss.", voiceAddress: "Möchten Sie die Adresse?", voiceThatTime: "diese Zeit", voiceMoved: "Ihr Termin wurde verschoben: {date}.",
		sayPatient: "Danke, ich habe Ihre Angaben. Ich sehe nach, welche Zeiten frei sind.", saySlots: "Ich habe freie Zeiten gefunden. Ich lese sie Ihnen vor.",
		sayNoSlots:   "An diesen Tagen ist leider nichts frei. Würden Ihnen andere Tage passen?",
		sayQueued:    "Ich habe Ihre Buchung für {date} aufgenommen. Sie ist noch nicht bestätigt. Die Zeit ist für Sie frei gehalten, und die Praxis meldet sich, falls sich etwas ändert.",
		sayRejected:  "Einen Moment, ich muss Ihre Angaben noch einmal nachsehen.",
		sayTaken:     "Leider ist {date} nicht mehr frei. Ich sehe nach, was es sonst gibt.",
		sayNoPatient: "Ich muss Ihre Angaben noch einmal nachsehen, bevor ich das buchen kann.", sayNotAccepted: "Das kann ich leider nicht für Sie buchen. Ich verbinde Sie mit der Praxis.",
		sayPatientRefused: "Diese Angaben konnte ich leider nicht eintragen. Darf ich noch einmal danach fragen?", sayOfferLapsed: "Einen Moment, ich sehe die freien Zeiten noch einmal nach.",
		sayInvalid: "Einen Moment, bitte.", sayBusy: "Einen Moment, bitte.", sayOpen: "Einen Moment, bitte. Ich warte noch auf eine Antwort.",
		sayAskBirthDate: "Damit ich Sie finde: Nennen Sie mir bitte Ihr Geburtsdatum?", sayAskPhone: "Damit ich Sie finde: Nennen Sie mir bitte Ihre Telefonnummer?",
		sayAskEmail: "Damit ich Sie finde: Nennen Sie mir bitte Ihre E-Mail-Adresse?", sayAskPerson: "Ich kann Ihre Angaben leider nicht finden. Ich verbinde Sie mit der Praxis.",
		sayNoMatch:     "Ich konnte Ihre Angaben nicht finden. Nennen Sie mir bitte Ihren vollen Namen, Ihr Geburtsdatum und Ihre Telefonnummer?",
		sayKey:         "Ich kann gerade leider nicht in den Kalender sehen. Ich verbinde Sie mit der Praxis.",
		sayNoOperation: "Einen Moment, bitte. Ich kann nicht sehen, wie weit Ihre Buchung ist. Ich verbinde Sie mit der Praxis.",
		sayPatientOpen: "Das System der Praxis hat leider nicht geantwortet. Ich verbinde Sie mit der Praxis.", sayUnreachable: "Das System der Praxis antwortet gerade leider nicht.",
		sayStillQueued: "Ihre Buchung für {date} ist aufgenommen und noch nicht bestätigt. Die Zeit ist für Sie frei gehalten.",
		sayFailed:      "Ihre Buchung für {date} konnte leider nicht abgeschlossen werden. Die Praxis weiß davon und meldet sich bei Ihnen.",
		sayReview:      "Ihre Buchung für {date} wird von der Praxis angesehen. Sie sagt Ihnen, ob sie bestätigt ist.", sayCancelled: "Die Buchung für {date} wurde abgesagt.",
	},
	"es": {
		voiceBooked: "Su cita{at} está reservada para el {date}.", voiceBookedChild: "La cita de {childName}{at} está reservada para el {date}.", voiceAt: " en {place}",
		voiceGuardian: "Tenga en cuenta que debe venir también el padre, la madre o el tutor legal.", voiceAddress: "¿Quiere que le dé la dirección?", voiceThatTime: "día indicado", voiceMoved: "Su cita se ha cambiado al {date}.",
		sayPatient: "Gracias, ya tengo sus datos. Voy a ver qué horas hay libres.", saySlots: "He encontrado horas libres. Se las leo.",
		sayNoSlots:   "Lo siento, esos días no hay nada libre. ¿Le vendrían bien otros días?",
		sayQueued:    "He recibido su reserva para el {date}. Todavía no está confirmada. La hora queda guardada para usted, y la clínica le avisará si algo cambia.",
		sayRejected:  "Un momento, tengo que buscar sus datos otra vez.",
		sayTaken:     "Lo siento, el {date} ya no está libre. Voy a ver qué más hay.",
		sayNoPatient: "Tengo que buscar sus datos otra vez antes de reservar.", sayNotAccepted: "Lo siento, no puedo hacerle esta reserva. Le paso con la clínica.",
		sayPatientRefused: "Lo siento, no he podido anotar estos datos. ¿Me los puede repetir?", sayOfferLapsed: "Un momento, voy a mirar otra vez las horas libres.",
		sayInvalid: "Un momento, por favor.", sayBusy: "Un momento, por favor.", sayOpen: "Un momento, por favor. Todavía espero una respuesta.",
		sayAskBirthDate: "Para encontrar sus datos, ¿me dice su fecha de nacimiento?", sayAskPhone: "Para encontrar sus datos, ¿me dice su número de teléfono?",
		sayAskEmail: "Para encontrar sus datos, ¿me dice su correo electrónico?", sayAskPerson: "Lo siento, no encuentro sus datos. Le paso con la clínica.",
		sayNoMatch:     "No he encontrado sus datos. ¿Me dice su nombre completo, su fecha de nacimiento y su número de teléfono?",
		sayKey:         "Lo siento, ahora mismo no puedo ver la agenda. Le paso con la clínica.",
		sayNoOperation: "Un momento, por favor. No puedo ver cómo va su reserva. Le paso con la clínica.",
		sayPatientOpen: "Lo siento, el sistema de la clínica no ha respondido. Le paso con la clínica.", sayUnreachable: "Lo siento, el sistema de la clínica no responde en este momento.",
		sayStillQueued: "Su reserva para el {date} está recibida y todavía no está confirmada. La hora queda guardada para usted.",
		sayFailed:      "Lo siento, su reserva para el {date} no se ha podido completar. La clínica lo sabe y se pondrá en contacto con usted.",
		sayReview:      "La clínica está revisando su reserva para el {date}. Le dirá si está confirmada.", sayCancelled: "La reserva para el {date} se ha cancelado.",
	},
}
