package web

import (
	"fmt"
	"time"

	"holdfast/engine/agent"

	"github.com/google/jsonschema-go/jsonschema"
)

// A language model receives these texts before it calls a tool: the clinic's name, today's date at the clinic, and the
// allowed values of each field. The server refuses a value over a limit, with a sentence that names the limit.

const mcpInstructions = `Book, move and cancel appointments of the clinic %q. Its clock and calendar are those of %s, where today is %s.
Offer only times that find_slots returned, and say them as "spoken" has them. Copy tokens exactly and never read them out.
A booking that is "queued" is received and not yet confirmed: say so, and look it up later with booking_status.`

// today returns the weekday and the date at the clinic, such as "Monday, 2026-11-23".
func (t mcpTools) today() string {
	return time.Now().In(t.engine.Clinic.Zone()).Format("Monday, 2006-01-02")
}

func (t mcpTools) instructions() string {
	return fmt.Sprintf(mcpInstructions, t.engine.Clinic.Schedule().Clinic.Name, t.engine.Clinic.Zone(), t.today())
}

// maxTypesListed is the maximum number of appointment types that a schema lists as the values of a field.
const maxTypesListed = 100

// schemaOf returns the schema of a tool's input or output. It derives the schema from the Go type and restricts the
// fields to their allowed values.
func schemaOf[T any](t mcpTools) *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // impossible: the types are from this package, and the tests use all of them
	}
	for name, p := range s.Properties {
		if narrow, known := mcpValues[name]; known && p.Properties == nil {
			narrow(p)
		}
	}
	if p := s.Properties["appointmentTypeId"]; p != nil {
		for _, kind := range t.engine.Clinic.Schedule().AppointmentTypes {
			if kind.Active && !kind.Page.DeskOnly && !kind.Page.Approval {
				p.Enum = append(p.Enum, kind.ID)
			}
		}
		if len(p.Enum) > maxTypesListed {
			p.Enum = nil
		}
	}
	if p := s.Properties["place"]; p != nil && p.Properties == nil {
		for _, place := range t.engine.Clinic.Current().Settings.Places {
			p.Enum = append(p.Enum, place.ID)
		}
	}
	return s
}

// mcpValues restricts fields, by name, to the values that the engine accepts.
var mcpValues = map[string]func(*jsonschema.Schema){
	"from":         pattern(`^\d{4}-\d{2}-\d{2}$`),
	"days":         between(1, agent.MaxAgentDays),
	"count":        between(1, agent.MaxAgentSlots),
	"place":        upTo(1, 64),
	"partOfDay":    oneOf("morning", "afternoon", "any"),
	"bookingToken": upTo(1, 512),
	"manageToken":  upTo(1, 512),
	"sessionId":    upTo(1, 256),
	"firstName":    upTo(1, 100),
	"lastName":     upTo(1, 100),
	"birthDate":    pattern(`^(\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/\d{4})$`),
	"phone":        upTo(3, 40),
	"email":        upTo(3, 254),
	"childName":    upTo(0, 200),
	"note":         upTo(0, 2000),
	"reason":       upTo(0, 500),
	"status":       oneOf("confirmed", "queued", "refused", "cancelled", "failed"),
}

func between(least, most float64) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Minimum, s.Maximum = &least, &most }
}

func upTo(least, most int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.MinLength, s.MaxLength = &least, &most }
}

func pattern(p string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Pattern = p }
}

func oneOf(values ...any) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Enum = values }
}
