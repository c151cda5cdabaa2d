package upstream

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Class groups errors by whether the write may have happened.
type Class string

// The classes. After Unknown, the write may or may not have happened. After each of the others, it certainly did not
// happen.
const (
	RateLimited   Class = "rate_limited"
	Refused       Class = "refused"
	Unknown       Class = "unknown_outcome"
	NotSent       Class = "not_sent"
	Misconfigured Class = "misconfigured"
)

// Reason is why a write was Refused.
type Reason string

// The reasons. AlreadyBooked concerns the patient or the slot. After an Unknown, AlreadyBooked and SlotTaken can mean
// our own first attempt.
const (
	SlotTaken          Reason = "slot_taken"
	PatientUnknown     Reason = "patient_unknown"
	AlreadyBooked      Reason = "already_booked"
	AppointmentUnknown Reason = "appointment_unknown"
	AlreadyCancelled   Reason = "already_cancelled"
	Invalid            Reason = "invalid" // a field was not accepted; a repeat would not help
)

// Error is why a call failed. It is safe to log and to show.
type Error struct {
	Procedure string // as in SetAppointment
	Class     Class
	Reason    Reason // only when Class is Refused
	Status    int    // HTTP status; 0 if there was no response
	Detail    string // the problem, in this package's own words

	cause error // context.Canceled or context.DeadlineExceeded, if that ended the call
}

// Error returns the procedure, the class and the detail in one line.
func (e *Error) Error() string {
	var class string
	switch e.Class {
	case RateLimited:
		class = "rate limited"
	case Refused:
		class = "refused"
	case NotSent:
		class = "not sent"
	case Misconfigured:
		class = "misconfigured"
	default:
		class = "unknown outcome"
	}
	return fmt.Sprintf("upstream %s: %s: %s", e.Procedure, class, e.Detail)
}

// Unwrap returns the context's error if the context ended the call.
func (e *Error) Unwrap() error { return e.cause }

// ClassOf returns the class of err: "" for nil, and Unknown for an error from another package.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Unknown
}

// IsSilent reports whether the upstream did not respond: nothing was sent, or not even the beginning of a response
// arrived. An unusable response still counts as a response.
func IsSilent(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Class == NotSent || e.Class == Unknown && e.Status == 0)
}

// ReasonOf returns the reason for a refusal, or "" if err is not a refusal.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) && e.Class == Refused {
		return e.Reason
	}
	return ""
}

// meaning is the interpretation of an upstream error text.
type meaning struct {
	class  Class
	reason Reason
	detail string
}

// The error texts of several versions of the upstream and of the software around it. They are only matched, never
// repeated, because a text can contain a name.
var (
	rateLimit  = text(`too many requests|rate limit`)
	outOfOrder = text(
		`\b(service|server|system|database|site|api)\b[^.;]* (is |was )?(not available|(temporarily )?unavailable|down|offline|busy)`,
	)
	booked = text(`already (been )?(booked|scheduled)|already has an appointment|double[- ]?book`)
	taken  = text(
		`\b(slot|time|chair|column|schedule|appointment|opening)s?\b[^.;]* (is |are |was |has been )?((no longer|not) available|unavailable|(already )?taken|occupied|conflict|overlap)|slot (was )?not found|conflicts with|overlaps`,
	)
	noPatient = text(
		`\bpatient(guid)?\b.{0,100} (does not exist|doesn't exist|not exist|((was|is|could) )?not (be )?found|is unknown)|(no such|unknown|invalid) patient\b`,
	)
	noBooking = text(
		`\bappointment ?(guid|id)?[^a-z]*[0-9a-f-]*[^a-z]*(does not exist|doesn't exist|not exist|((was|is|could) )?not (be )?found|is unknown)|(no such|unknown) appointment\b`,
	)
	fault = text(
		`time(d )?[ -]?out|deadlock|exception|object reference|current state|internal|try again|temporar|unexpected`,
	)
	credentials = text(
		`(client ?id|user ?name|user|password|credential|log ?in|vendor)s?\b.*(invalid|incorrect|wrong|unknown|not (valid|found|recognized|authorized)|disabled|expired|missing|required)|(invalid|incorrect|wrong|unknown|missing) (client ?id|user ?name|user|password|credential|log ?in|vendor)|unauthori[sz]ed|not authori[sz]ed|authenticat|access (is |was )?denied|permission`,
	)
	procedure = text(`(unknown|invalid|unsupported|no such) procedure|procedure[^.;]* (not|unknown|invalid)`)
	field     = text(
		`invalid|required|missing|must be|must not|cannot be|can't be|not (a )?valid|not allowed|not permitted|out of range|in the past|outside|not found|does not exist|doesn't exist`,
	)
	noneFound = text(`^no ([a-z]+ )?(appointment|record)s?\b[^.;]*( found| exist|$)`)
	cancelled = text(`already (been )?cancell?ed`)
)

func text(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?is)` + pattern) }

// meaningOf interprets an error text. The order matters: first the clear refusals, then texts that suggest a fault in
// the upstream (which may have occurred after the write), then problems with the request. An unfamiliar text is
// Unknown.
func meaningOf(said string) meaning {
	switch said = strings.TrimSpace(said); {
	case said == "":
		return meaning{Unknown, "", "it answered Error without a reason"}
	case rateLimit.MatchString(said):
		return meaning{RateLimited, "", "it temporarily accepts no writes"}
	case outOfOrder.MatchString(said):
		return meaning{Unknown, "", "it reported an internal error"}
	case cancelled.MatchString(said):
		return meaning{Refused, AlreadyCancelled, "already cancelled"}
	case booked.MatchString(said):
		return meaning{Refused, AlreadyBooked, "already booked"}
	case taken.MatchString(said):
		return meaning{Refused, SlotTaken, "the slot is not available"}
	case noPatient.MatchString(said):
		return meaning{Refused, PatientUnknown, "the patient does not exist"}
	case noBooking.MatchString(said), noneFound.MatchString(said):
		return meaning{Refused, AppointmentUnknown, "the appointment does not exist"}
	case fault.MatchString(said):
		return meaning{Unknown, "", "it reported an internal error"}
	case credentials.MatchString(said):
		return meaning{Misconfigured, "", "it does not accept the credentials"}
	case procedure.MatchString(said):
		return meaning{Misconfigured, "", "it does not support this procedure"}
	case field.MatchString(said):
		return meaning{Refused, Invalid, "it did not accept a field of the request"}
	}
	return meaning{Unknown, "", "it answered Error with an unknown reason"}
}

// Words returns the text of an error from this package, which is safe to show. For any other error it returns a fixed
// text.
func Words(err error) string {
	var known *Error
	if errors.As(err, &known) {
		return known.Error()
	}
	return "the answer of the practice system cannot be parsed"
}
