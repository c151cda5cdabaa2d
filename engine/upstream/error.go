package upstream

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Class sorts errors by whether the write may have happened.
type Class string

// The classes. Only Unknown leaves open whether the write happened; after each of
// the others it certainly did not.
const (
	RateLimited   Class = "rate_limited"
	Refused       Class = "refused"
	Unknown       Class = "unknown_outcome"
	NotSent       Class = "not_sent"
	Misconfigured Class = "misconfigured"
)

// Reason is why a write was Refused.
type Reason string

// The reasons. AlreadyBooked is said of the patient or the slot and, after an
// Unknown, may well mean our own first try; so may SlotTaken.
const (
	SlotTaken          Reason = "slot_taken"
	PatientUnknown     Reason = "patient_unknown"
	AlreadyBooked      Reason = "already_booked"
	AppointmentUnknown Reason = "appointment_unknown"
	AlreadyCancelled   Reason = "already_cancelled"
	Invalid            Reason = "invalid" // a field was not accepted; the same request never will be
)

// Error is how a call failed. It is safe to log and to show.
type Error struct {
	Procedure string // as in SetAppointment
	Class     Class
	Reason    Reason // only when Class is Refused
	Status    int    // of HTTP; 0 when there was no answer
	Detail    string // what happened, in words of this package

	cause error // context.Canceled or context.DeadlineExceeded, if it was that
}

// Error says procedure, class and detail in one line.
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

// Unwrap is the context's own error, when the context ended the call.
func (e *Error) Unwrap() error { return e.cause }

// ClassOf is the class of err: "" for nil, and Unknown for an error that is none of
// this package's, since nothing is known about it.
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

// IsSilent reports whether nobody answered: nothing was sent, or what was sent got not
// even the beginning of an answer. An answer that cannot be used is one all the same.
func IsSilent(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Class == NotSent || e.Class == Unknown && e.Status == 0)
}

// ReasonOf is why err refused, or "" when it is no refusal.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) && e.Class == Refused {
		return e.Reason
	}
	return ""
}

// meaning is what an error text of the upstream's stands for.
type meaning struct {
	class  Class
	reason Reason
	detail string
}

// The texts, as several versions of the upstream and of the code around it spell
// them. They are read, never repeated: a text may hold a name.
var (
	rateLimit   = text(`too many requests|rate limit`)
	outOfOrder  = text(`\b(service|server|system|database|site|api)\b[^.;]* (is |was )?(not available|(temporarily )?unavailable|down|offline|busy)`)
	booked      = text(`already (been )?(booked|scheduled)|already has an appointment|double[- ]?book`)
	taken       = text(`\b(slot|time|chair|column|schedule|appointment|opening)s?\b[^.;]* (is |are |was |has been )?((no longer|not) available|unavailable|(already )?taken|occupied|conflict|overlap)|slot (was )?not found|conflicts with|overlaps`)
	noPatient   = text(`\bpatient(guid)?\b.{0,100} (does not exist|doesn't exist|not exist|((was|is|could) )?not (be )?found|is unknown)|(no such|unknown|invalid) patient\b`)
	noBooking   = text(`\bappointment ?(guid|id)?[^a-z]*[0-9a-f-]*[^a-z]*(does not exist|doesn't exist|not exist|((was|is|could) )?not (be )?found|is unknown)|(no such|unknown) appointment\b`)
	fault       = text(`time(d )?[ -]?out|deadlock|exception|object reference|current state|internal|try again|temporar|unexpected`)
	credentials = text(`(client ?id|user ?name|user|password|credential|log ?in|vendor)s?\b.*(invalid|incorrect|wrong|unknown|not (valid|found|recognized|authorized)|disabled|expired|missing|required)|(invalid|incorrect|wrong|unknown|missing) (client ?id|user ?name|user|password|credential|log ?in|vendor)|unauthori[sz]ed|not authori[sz]ed|authenticat|access (is |was )?denied|permission`)
	procedure   = text(`(unknown|invalid|unsupported|no such) procedure|procedure[^.;]* (not|unknown|invalid)`)
	field       = text(`invalid|required|missing|must be|must not|cannot be|can't be|not (a )?valid|not allowed|not permitted|out of range|in the past|outside|not found|does not exist|doesn't exist`)
	noneFound   = text(`^no ([a-z]+ )?(appointment|record)s?\b[^.;]*( found| exist|$)`)
	cancelled   = text(`already (been )?cancell?ed`)
)

func text(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?is)` + pattern) }

// meaningOf reads an error text. The order matters: the plain refusals first, then
// whatever smells of a fault on the other side (which may have struck after the
// write), then what was wrong with the request. A text nobody has seen is Unknown.
func meaningOf(said string) meaning {
	switch said = strings.TrimSpace(said); {
	case said == "":
		return meaning{Unknown, "", "it said Error and no reason"}
	case rateLimit.MatchString(said):
		return meaning{RateLimited, "", "it takes no more writes for now"}
	case outOfOrder.MatchString(said):
		return meaning{Unknown, "", "it reported a fault of its own"}
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
		return meaning{Unknown, "", "it reported a fault of its own"}
	case credentials.MatchString(said):
		return meaning{Misconfigured, "", "it does not accept the credentials"}
	case procedure.MatchString(said):
		return meaning{Misconfigured, "", "it does not know this procedure"}
	case field.MatchString(said):
		return meaning{Refused, Invalid, "it did not accept a field of the request"}
	}
	return meaning{Unknown, "", "it said Error for a reason not known here"}
}

// Words says an error of this package, which is safe to show; of anything else it only says that it is one.
func Words(err error) string {
	var known *Error
	if errors.As(err, &known) {
		return known.Error()
	}
	return "the practice system gave no answer that can be understood"
}
