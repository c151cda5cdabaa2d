package agent

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/outbound"
	"holdfast/engine/words"
	"holdfast/store"
)

// # What an agent says aloud
//
// The sentences are in package words, each in every language. Instructions to the model are in English only. The
// placeholders are filled with a date and with texts from the clinic's settings, never with anything that callers said.
// The child's name is a placeholder that the agent fills in itself, from its own request.

// language returns the language that agents speak: the one in the settings or, if none is set, the clinic's.
func (ag *Agent) language() *words.Language {
	s := ag.clinic.Current()
	return ag.clinic.Words().Find(s.Settings.AgentTexts.Language, s.Clinic.Locale)
}

// TypeName returns the name of an appointment type in the language of the clinic's agents.
func (ag *Agent) TypeName(t *store.AppointmentType) string {
	return clinic.NameIn(t, ag.language().Tag)
}

// say returns a sentence in the language of the clinic's agents, with its placeholders replaced as by words.Fill.
func (ag *Agent) say(of string, pairs ...string) string {
	return ag.language().Fill("agent."+of, pairs...)
}

// oneLine returns a text of the clinic's as one line for a sentence.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.Trim(text, "{}<>")), " ")
}

// Location is where an appointment takes place, in texts to say aloud. Its fields are empty for a remote appointment.
type Location struct {
	Place      *Place // nil unless the appointment is at one of the clinic's places
	Address    string
	Directions string
}

// Place is one of the clinic's places as an agent names it.
type Place struct{ ID, Name string }

// placeNamed returns a place with its name in the language of the clinic's agents, or nil if the id is unknown.
func (ag *Agent) placeNamed(s *clinic.Schedule, id string) *Place {
	p := s.Place(id)
	if p == nil {
		return nil
	}
	return &Place{p.ID, oneLine(p.NameIn(ag.language().Tag))}
}

// Places lists the clinic's places.
func (ag *Agent) Places() (all []Location) {
	s := ag.clinic.Current()
	for i := range s.Settings.Places {
		all = append(all, ag.Where(&store.Appointment{Place: s.Settings.Places[i].ID}))
	}
	return all
}

// Where returns the location of an appointment. The clinic's own texts for agents apply to the clinic's address, and
// therefore not to a place with another address.
func (ag *Agent) Where(a *store.Appointment) Location {
	s := ag.clinic.Current()
	if s.IsRemote(a.AppointmentTypeID) {
		return Location{}
	}
	texts := s.Settings.AgentTexts
	at := Location{Place: ag.placeNamed(s, a.Place), Address: texts.Address, Directions: texts.Directions}
	switch p := s.Place(a.Place); {
	case p != nil && p.Address != "":
		at.Address, at.Directions = oneLine(s.Where(a, ag.language().Tag)), ""
	case p != nil && texts.Address != "":
		at.Address = at.Place.Name + ", " + texts.Address
	case texts.Address == "":
		at.Address = oneLine(s.Where(a, ag.language().Tag))
	}
	return at
}

// placeOf returns what follows "at" in a confirmation: the clinic's name, and the name of the place if the appointment
// is at one of the clinic's places.
func (ag *Agent) placeOf(at *Location) string {
	s := ag.clinic.Current()
	name := cmp.Or(s.Settings.AgentTexts.Place, oneLine(s.Clinic.Name))
	if at.Place == nil {
		return name
	}
	return strings.TrimPrefix(name+", "+at.Place.Name, ", ")
}

// theChild is the placeholder in a confirmation that the agent replaces with the name it sent as childName.
const theChild = "{childName}"

// guideBooked returns the guidance for a confirmed booking. The sentence to say aloud contains the placeholder for the
// child's name, the place and the time, the sentence for a minor's guardian, and the offer to give the address. The
// chain presents the same facts in the order of the call: the address and directions come before the question whether
// the caller needs anything else, and before the goodbye.
func (ag *Agent) guideBooked(a *store.Appointment) Guidance {
	g := ag.guide(sayConfirmed, a.SlotStart)
	t, where := ag.clinic.Current().Settings.AgentTexts, ag.Where(a)
	child := outbound.ChildOf(a.Patient.Notes) != ""
	var chain []string
	say, facts := voiceBooked, "the date and time"
	if child {
		say, facts = voiceBookedChild, "the child's name, "+facts
		chain = append(chain, "Say the childName of your own request in place of "+theChild+".")
	}
	at := ""
	if place := ag.placeOf(&where); place != "" {
		at = ag.say(voiceAt, "place", place)
		facts += ", and the place: " + strconv.Quote(place)
	}
	chain = append(chain, "Tell the caller "+facts+".")
	sentences := []string{ag.say(say, "at", at, "date", ag.Spoken(a.SlotStart))}
	if child || isMinor(a.Patient.BirthDate, a.SlotStart.In(ag.clinic.Zone())) {
		guardian := t.Guardian
		if guardian == "" {
			guardian = ag.say(voiceGuardian)
		}
		sentences = append(sentences, guardian)
		chain = append(chain, "Tell the caller that a parent or legal guardian must come along.")
	}
	if t.Closing != "" {
		sentences = append(sentences, t.Closing)
	}
	if where.Address != "" {
		sentences = append(sentences, ag.say(voiceAddress))
		chain = append(chain, "If the caller wants the address, say: "+strconv.Quote(where.Address))
	}
	if where.Directions != "" {
		chain = append(chain, "If the caller asks for the way, say: "+strconv.Quote(where.Directions))
	}
	g.Chain = append(chain, g.Chain[1:]...) // the facts replace the first step from the table
	g.VoiceResponse = strings.Join(sentences, " ")
	return g
}

// StateSentence returns the sentence to say aloud about the state of an appointment: booked, waiting for the
// practice-management system, failed, under review or cancelled. The sentence is in the language of the clinic's
// agents.
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
		where := ag.Where(a)
		if place := ag.placeOf(&where); place != "" {
			at = ag.say(voiceAt, "place", place)
		}
		return ag.say(voiceBooked, "at", at, "date", ag.Spoken(a.SlotStart))
	}
	return ag.guide(of, a.SlotStart).VoiceResponse
}

// MovedSentence returns the text to say aloud after a move, in the language of the clinic's agents. If the appointment
// is at one of the clinic's places, the text names it, because a move can change it.
func (ag *Agent) MovedSentence(a *store.Appointment) string {
	moved := ag.say(voiceMoved, "date", ag.Spoken(a.SlotStart))
	if where := ag.Where(a); where.Place != nil {
		moved += " " + ag.say(voicePlace, "place", where.Place.Name)
	}
	return moved
}

// isMinor reports whether a person with this date of birth is younger than 18 on the day.
func isMinor(born string, day time.Time) bool {
	d, err := time.Parse(time.DateOnly, born)
	return err == nil && d.AddDate(18, 0, 0).After(time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, time.UTC))
}

// The parts of a confirmation, and the wording used when a date is not known.
const (
	voiceBooked      = "booked"
	voiceBookedChild = "booked_child"
	voiceAt          = "at"
	voiceGuardian    = "guardian"
	voiceAddress     = "address"
	voiceThatTime    = "that_time"
	voiceMoved       = "moved"
	voicePlace       = "place"
)
