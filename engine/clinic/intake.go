package clinic

import (
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// A booking's intake is the data that it contains in addition to the name: consent to the clinic's text, and answers to
// the type's questions.

const (
	maxConsent = 2000
	maxAnswer  = 1000
)

// Consent is the text that patients must agree to when they book online. If Text is empty, the clinic does not require
// consent.
type Consent struct {
	Text  string            `json:"text,omitempty"`
	Texts map[string]string `json:"texts,omitempty"` // keyed by language
}

// Said is the data that a patient gives for a booking in addition to the name.
type Said struct {
	Consent    bool              // the patient agrees to the clinic's text
	NewPatient bool              // the patient has not been here before
	SMS        bool              // the patient agrees to text messages
	Answers    map[string]string // keyed by the question's id
}

// CheckIntake checks the intake of a booking for a type and returns the part to store. If online is set, the patient
// must provide everything that the clinic asks for. The desk, agents and programs can leave out what they do not have.
// Every answer must fit its question, even if it comes from the desk.
func CheckIntake(m *record.Mistakes, s *Settings, t *store.AppointmentType, said *Said, online bool,
	now time.Time) store.Intake {
	kept := store.Intake{NewPatient: said.NewPatient, SMS: said.SMS}
	if said.Consent && s.Consent.Text != "" {
		kept.ConsentedAt = now.UTC().Truncate(time.Millisecond)
	}
	if online && s.Consent.Text != "" && !said.Consent {
		m.Add("consent", "is required: the patient must agree to the clinic's consent text")
	}
	if online && t.Page.NewPatientsOnly && !said.NewPatient {
		m.Add("newPatient", "this is for new patients; send true if this is the patient's first visit")
	}
	for i := range t.Page.Questions {
		q := &t.Page.Questions[i]
		field, value := "answers."+q.ID, strings.TrimSpace(said.Answers[q.ID])
		if value == "" {
			if q.Required && online {
				m.Add(field, "this question must be answered")
			}
			continue
		}
		kept.Answers = append(kept.Answers, store.Answer{
			QuestionID: q.ID, Question: q.Label, Value: checkAnswer(m, q, value),
		})
	}
	for _, id := range slices.Sorted(maps.Keys(said.Answers)) {
		if !slices.ContainsFunc(t.Page.Questions, func(q store.Question) bool { return q.ID == id }) {
			m.Add("answers."+record.Clip(id), "this appointment type has no such question")
		}
	}
	return kept
}

// ChangeAnswers returns an appointment's answers after some of them have changed. kept contains the stored answers, and
// said the new ones by question id. An empty answer removes the stored one. An answer whose question is not in said
// does not change, even if the type no longer has that question. An unchanged answer keeps its question's wording from
// the time of the booking.
func ChangeAnswers(m *record.Mistakes, t *store.AppointmentType, kept []store.Answer,
	said map[string]string) []store.Answer {
	left, now := maps.Clone(said), []store.Answer(nil)
	have := func(id string) int {
		return slices.IndexFunc(kept, func(a store.Answer) bool { return a.QuestionID == id })
	}
	for i := range t.Page.Questions {
		q := &t.Page.Questions[i]
		value, named := left[q.ID]
		delete(left, q.ID)
		before := have(q.ID)
		if value = strings.TrimSpace(value); value != "" {
			value = checkAnswer(m, q, value)
		}
		switch {
		case before >= 0 && (!named || value == kept[before].Value):
			now = append(now, kept[before])
		case value != "":
			now = append(now, store.Answer{QuestionID: q.ID, Question: q.Label, Value: value})
		}
	}
	for _, a := range kept {
		if asked := slices.ContainsFunc(t.Page.Questions, func(q store.Question) bool {
			return q.ID == a.QuestionID
		}); asked {
			continue
		}
		value, named := left[a.QuestionID]
		if !named || value == a.Value {
			now = append(now, a)
		}
		if value == "" || value == a.Value {
			delete(left, a.QuestionID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		m.Add("answers."+record.Clip(id), "this appointment type has no such question")
	}
	return now
}

// checkAnswer checks an answer and returns it in its stored form. For a choice, that is the option in the clinic's
// own language.
func checkAnswer(m *record.Mistakes, q *store.Question, value string) string {
	field := "answers." + q.ID
	switch q.Kind {
	case store.AskChoice:
		if value = optionOf(q, value); value == "" {
			m.Add(field, "must be one of the options")
		}
	case store.AskYesNo:
		if value != store.AnswerYes && value != store.AnswerNo {
			m.Add(field, "must be yes or no")
		}
	default:
		record.CheckText(m, field, value, maxAnswer, true)
	}
	return value
}

// optionOf returns the option that an answer refers to, in whichever language it was chosen. It returns an empty string
// if the answer is not one of the options.
func optionOf(q *store.Question, value string) string {
	if slices.Contains(q.Options, value) {
		return value
	}
	for _, text := range q.Texts {
		if i := slices.Index(text.Options, value); i >= 0 {
			return q.Options[i]
		}
	}
	return ""
}

func checkConsent(m *record.Mistakes, s *Settings) {
	s.Consent.Text = strings.TrimSpace(s.Consent.Text)
	record.CheckText(m, "consent.text", s.Consent.Text, maxConsent, true)
	checkLanguages(m, "consent.texts", slices.Collect(maps.Keys(s.Consent.Texts)))
	for language, text := range s.Consent.Texts {
		record.CheckText(m, "consent.texts."+record.Clip(language), text, maxConsent, true)
	}
	if s.Consent.Text == "" { // no consent is required
		s.Consent = Consent{}
	}
	for field, link := range map[string]*string{"privacyUrl": &s.PrivacyURL, "imprintUrl": &s.ImprintURL} {
		if *link = strings.TrimSpace(*link); *link != "" {
			checkLink(m, field, *link)
		}
	}
}
