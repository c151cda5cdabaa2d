package store

import (
	"context"
	"encoding/json"
	"time"
)

// TypePage is what the booking page says about an appointment type, to whom it is offered, and what it asks. The zero value is a
// type that says its name and description and asks nothing. A backend keeps it whole, as one text (see Packed).
type TypePage struct {
	Group           string              `json:"group,omitempty"`           // id of one of the clinic's groups; empty: none
	Color           string              `json:"color,omitempty"`           // on the board and the page; empty: by the type's place in the list
	Price           string              `json:"price,omitempty"`           // as it is shown, such as "from 40 €"
	DeskOnly        bool                `json:"deskOnly,omitempty"`        // only staff and programs with an admin key book it
	NewPatientsOnly bool                `json:"newPatientsOnly,omitempty"` // who books online says that they have not been here before
	Texts           map[string]TypeText `json:"texts,omitempty"`           // by language; what is empty in one is as it is without
	Questions       []Question          `json:"questions,omitempty"`       // asked of who books online, in this order
	Approval        bool                `json:"approval,omitempty"`        // booked online it is a request, which the desk approves
	ApprovalHours   int                 `json:"approvalHours,omitempty"`   // how long such a request keeps its time; 0: the default
	CancelText      string              `json:"cancelText,omitempty"`      // what the page and emails say about cancelling
	Remote          bool                `json:"remote,omitempty"`          // it takes place without a visit to the clinic
	VideoLink       string              `json:"videoLink,omitempty"`       // of a remote one; {appointment} in it is the appointment's id
}

// TypeText is a TypePage's words in one language.
type TypeText struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Price       string `json:"price,omitempty"`
	CancelText  string `json:"cancelText,omitempty"`
}

// QuestionKind is how a question is answered.
type QuestionKind string

const (
	AskText   QuestionKind = "text"
	AskChoice QuestionKind = "choice" // one of the options
	AskYesNo  QuestionKind = "yesno"  // AnswerYes or AnswerNo
)

// The answers to a question of AskYesNo.
const (
	AnswerYes = "yes"
	AnswerNo  = "no"
)

// Question is one thing that a type asks of who books it online.
type Question struct {
	ID       string                  `json:"id"`
	Kind     QuestionKind            `json:"kind"`
	Label    string                  `json:"label"`
	Options  []string                `json:"options,omitempty"` // of AskChoice
	Required bool                    `json:"required,omitempty"`
	Texts    map[string]QuestionText `json:"texts,omitempty"` // by language
}

// QuestionText is a question in one language. Its options stand in the places of those that they translate.
type QuestionText struct {
	Label   string   `json:"label,omitempty"`
	Options []string `json:"options,omitempty"`
}

// SpecialistPage is what the booking page says about a specialist. A backend keeps it whole, as one text.
type SpecialistPage struct {
	Line  string            `json:"line,omitempty"`  // one line under the name, such as "Children and teenagers"
	Lines map[string]string `json:"lines,omitempty"` // by language
	Feed  CalendarFeed      `json:"feed,omitzero"`
}

// CalendarFeed is the address at which a calendar program reads a specialist's appointments. The zero value is none.
type CalendarFeed struct {
	Hash   string    `json:"hash,omitempty"`  // SHA-256 of what is secret in the address, in hex
	Names  bool      `json:"names,omitempty"` // patients are named in it
	MadeAt time.Time `json:"madeAt,omitzero"`
}

// Intake is what somebody said beside their name when they booked. It is personal: an erasure blanks it. A backend keeps it whole, as
// one text.
type Intake struct {
	ConsentedAt time.Time `json:"consentedAt,omitzero"` // when they agreed to the clinic's text; zero: they were not asked
	NewPatient  bool      `json:"newPatient,omitempty"` // they said that they have not been here before
	Answers     []Answer  `json:"answers,omitempty"`
}

// Answer is the answer to one question, with its label as it was asked: questions change later.
type Answer struct {
	QuestionID string `json:"questionId"`
	Question   string `json:"question"`
	Value      string `json:"value"`
}

// IsZero reports whether nothing was said.
func (i Intake) IsZero() bool { return i.ConsentedAt.IsZero() && !i.NewPatient && len(i.Answers) == 0 }

// Packed is i as a backend writes it down.
func (i Intake) Packed() string {
	if i.IsZero() {
		return ""
	}
	return Packed(i)
}

// Packed is how every backend writes down what it keeps whole: JSON, and nothing for the zero value or an empty list.
func Packed(v any) string {
	b, err := json.Marshal(v)
	if text := string(b); err == nil && text != "{}" && text != "null" && text != "[]" {
		return text
	}
	return ""
}

// Unpacked reads what Packed wrote. Anything else is the zero value.
func Unpacked[T any](text string) (v T) {
	if text != "" {
		_ = json.Unmarshal([]byte(text), &v)
	}
	return v
}

// Picture is the picture of a specialist.
type Picture struct {
	ContentType string // image/png, image/jpeg or image/webp
	Digest      string // names the content: another picture, another digest
	Content     []byte
}

// PictureReader asks for pictures. Schedule names their digests only.
type PictureReader interface {
	// Picture returns the picture of one specialist. ErrNotFound.
	Picture(ctx context.Context, specialistID string) (Picture, error)
}

// PictureWriter changes pictures.
type PictureWriter interface {
	// PutPicture gives a specialist a picture in place of the one there is. ErrNotFound if there is no such specialist.
	PutPicture(ctx context.Context, specialistID string, p Picture) error
	// DeletePicture takes it away. ErrNotFound if there is none.
	DeletePicture(ctx context.Context, specialistID string) error
}
