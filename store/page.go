package store

import (
	"context"
	"encoding/json"
	"time"
)

// TypePage configures how the booking page presents an appointment type, which patients it offers the type to, and
// which questions it asks. The zero value shows the type's name and description and asks nothing. A backend stores it
// whole, as one string (see Packed).
type TypePage struct {
	// id of one of the clinic's groups; empty means none
	Group string `json:"group,omitempty"`
	// color on the board and the page; if empty, it depends on the type's position in the list
	Color string `json:"color,omitempty"`
	Price string `json:"price,omitempty"` // as displayed, such as "from 40 €"
	// only staff and programs with an admin key can book it
	DeskOnly bool `json:"deskOnly,omitempty"`
	// online patients must confirm that this is their first visit
	NewPatientsOnly bool `json:"newPatientsOnly,omitempty"`
	// by language; if a text is empty, the untranslated one is used
	Texts map[string]TypeText `json:"texts,omitempty"`
	// for patients who book online, in this order
	Questions []Question `json:"questions,omitempty"`
	// an online booking becomes a request, which the desk must approve
	Approval bool `json:"approval,omitempty"`
	// how long such a request holds its time; 0 means the default
	ApprovalHours int `json:"approvalHours,omitempty"`
	// the cancellation text of the page and emails
	CancelText string `json:"cancelText,omitempty"`
	Remote     bool   `json:"remote,omitempty"` // takes place without a visit to the clinic
	// link of a remote type; the server replaces {appointment} with the appointment's id
	VideoLink string `json:"videoLink,omitempty"`
}

// TypeText holds the texts of a TypePage in one language.
type TypeText struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Price       string `json:"price,omitempty"`
	CancelText  string `json:"cancelText,omitempty"`
}

// QuestionKind is the kind of answer to a question.
type QuestionKind string

const (
	AskText   QuestionKind = "text"
	AskChoice QuestionKind = "choice" // one of the options
	AskYesNo  QuestionKind = "yesno"  // AnswerYes or AnswerNo
)

// The answers to a question of kind AskYesNo.
const (
	AnswerYes = "yes"
	AnswerNo  = "no"
)

// Question is one question to the patient who books a type online.
type Question struct {
	ID       string                  `json:"id"`
	Kind     QuestionKind            `json:"kind"`
	Label    string                  `json:"label"`
	Options  []string                `json:"options,omitempty"` // the options of an AskChoice
	Required bool                    `json:"required,omitempty"`
	Texts    map[string]QuestionText `json:"texts,omitempty"` // by language
}

// QuestionText is a question in one language. Its options have the same order as the untranslated ones.
type QuestionText struct {
	Label   string   `json:"label,omitempty"`
	Options []string `json:"options,omitempty"`
}

// SpecialistPage configures how the booking page presents a specialist. A backend stores it whole, as one string.
type SpecialistPage struct {
	Line  string            `json:"line,omitempty"`  // one line under the name, such as "Children and teenagers"
	Lines map[string]string `json:"lines,omitempty"` // by language
	Feed  CalendarFeed      `json:"feed,omitzero"`
}

// CalendarFeed is the address where a calendar program reads a specialist's appointments. The zero value means no feed.
type CalendarFeed struct {
	Hash   string    `json:"hash,omitempty"`  // SHA-256 of the secret part of the address, in hex
	Names  bool      `json:"names,omitempty"` // the feed contains patient names
	MadeAt time.Time `json:"madeAt,omitzero"`
}

// Intake holds a patient's answers on the booking form, other than their contact details. It is personal data: an
// erasure blanks it. A backend stores it whole, as one string.
type Intake struct {
	// when the patient agreed to the clinic's text; if zero, the patient was not asked
	ConsentedAt time.Time `json:"consentedAt,omitzero"`
	NewPatient  bool      `json:"newPatient,omitempty"` // the patient stated that this is their first visit
	SMS         bool      `json:"sms,omitempty"`        // the patient agreed to text messages to their phone number
	Answers     []Answer  `json:"answers,omitempty"`
}

// Answer is the answer to one question. It includes the label that the question had at that time, because questions can
// change later.
type Answer struct {
	QuestionID string `json:"questionId"`
	Question   string `json:"question"`
	Value      string `json:"value"`
}

// IsZero reports whether i is empty.
func (i Intake) IsZero() bool {
	return i.ConsentedAt.IsZero() && !i.NewPatient && !i.SMS && len(i.Answers) == 0
}

// Packed returns i as a backend stores it.
func (i Intake) Packed() string {
	if i.IsZero() {
		return ""
	}
	return Packed(i)
}

// Packed returns v as every backend stores a value in one column: JSON, or "" for the zero value or an empty list.
func Packed(v any) string {
	b, err := json.Marshal(v)
	if text := string(b); err == nil && text != "{}" && text != "null" && text != "[]" {
		return text
	}
	return ""
}

// Unpacked parses the result of Packed. For any other string it returns the zero value.
func Unpacked[T any](text string) (v T) {
	if text != "" {
		_ = json.Unmarshal([]byte(text), &v)
	}
	return v
}

// Picture is an image file that shows a specialist.
type Picture struct {
	ContentType string // image/png, image/jpeg or image/webp
	Digest      string // identifies the content: a different picture has a different digest
	Content     []byte
}

// PictureReader reads pictures. Schedule contains only their digests.
type PictureReader interface {
	// Picture returns the picture of one specialist. Errors: ErrNotFound.
	Picture(ctx context.Context, specialistID string) (Picture, error)
}

// PictureWriter changes pictures.
type PictureWriter interface {
	// PutPicture sets or replaces the picture of a specialist. It returns ErrNotFound if there is no such specialist.
	PutPicture(ctx context.Context, specialistID string, p Picture) error
	// DeletePicture removes the picture of a specialist. It returns ErrNotFound if there is none.
	DeletePicture(ctx context.Context, specialistID string) error
}
