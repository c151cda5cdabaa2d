// Package rule calls a program run by the clinic before a booking is written: the booking rule in the settings.
//
// The program receives one HTTPS call per booking, signed like a webhook (Standard Webhooks), and responds within the
// clinic's deadline of 200 ms to 2 s:
//
//	{"decision": "allow"}
//	{"decision": "refuse", "reason": "Please bring a referral. Call us for an appointment."}
//	{"decision": "approve"}    the booking becomes a request, on which the desk decides
//
// If the program does not return a valid response in time, the clinic's choice applies: allow or refuse. The call is
// never made inside a database transaction, nor for a change made by the desk.
package rule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/store"
)

// Rule calls the program given in the clinic's settings. It is safe for concurrent use.
type Rule struct {
	clinic *clinic.Clinic
	ask    Ask
	log    *slog.Logger

	counts [len(outcomes)]atomic.Uint64
	mu     sync.Mutex
	last   Failure
}

// Ask posts a signed body to an address and returns the first bytes of the response: see notice.Hooks.Post.
type Ask func(ctx context.Context, url string, secrets []string, id string, at time.Time, body []byte) ([]byte, error)

// New returns a Rule that calls ask. A nil ask allows every booking.
func New(c *clinic.Clinic, ask Ask, log *slog.Logger) *Rule {
	return &Rule{clinic: c, ask: ask, log: log}
}

// Question describes a booking that has not been written yet.
type Question struct {
	AppointmentTypeID string
	SpecialistID      string // empty means any
	Place             string // id of the requested place; empty means any
	Start             time.Time
	Source            store.Source
	Patient           store.Patient // sent only if the clinic has enabled this
}

// RefusedError reports that a booking was refused by the clinic's program, or because the program failed.
type RefusedError struct {
	Reason string // the program's reason, for the patient; empty if the program failed
}

func (e *RefusedError) Error() string {
	if e.Reason == "" {
		return "the clinic's booking rule did not answer"
	}
	return "the clinic's booking rule refused the booking: " + e.Reason
}

// The outcomes of calls, in the order in which the metric lists them.
const (
	allowed = iota
	refused
	approval
	failed
)

var outcomes = [...]string{"allowed", "refused", "approval", "failed"}

// Count is the number of calls with one outcome since startup.
type Count struct {
	Outcome string
	Calls   uint64
}

// Counts returns the number of calls by outcome: all outcomes, always in the same order.
func (r *Rule) Counts() []Count {
	list := make([]Count, len(outcomes))
	for i, name := range outcomes {
		list[i] = Count{name, r.counts[i].Load()}
	}
	return list
}

// Failure is the most recent failed call.
type Failure struct {
	At  time.Time // zero if no call has failed since startup
	Why string    // without personal data
}

// LastFailure returns the last failure on this node.
func (r *Rule) LastFailure() Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// maxReason is the maximum length of a reason for a patient, in characters.
const maxReason = 300

// Check consults the program about a booking. needsApproval means that the booking must become a request on which the
// desk decides. If there is no rule, Check makes no call. Errors: *RefusedError and ctx.Err().
func (r *Rule) Check(ctx context.Context, q Question) (needsApproval bool, err error) {
	settings := r.clinic.Settings().BookingRule
	if settings.URL == "" || r.ask == nil || store.Trial(ctx) != nil {
		return false, nil
	}
	decision, reason, err := r.call(ctx, &settings, q)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		r.counts[failed].Add(1)
		r.mu.Lock()
		r.last = Failure{time.Now().UTC(), err.Error()}
		r.mu.Unlock()
		if settings.OnFailure == clinic.RuleRefuses {
			r.log.Warn("booking rule failed; booking refused", "error", err)
			return false, &RefusedError{}
		}
		r.log.Warn("booking rule failed; booking allowed", "error", err)
		return false, nil
	case decision == "refuse":
		r.counts[refused].Add(1)
		return false, &RefusedError{Reason: reason}
	case decision == "approve":
		r.counts[approval].Add(1)
		return true, nil
	}
	r.counts[allowed].Add(1)
	return false, nil
}

// Try calls the program once with an invented booking and returns its decision. The test button in the settings calls
// Try.
func (r *Rule) Try(ctx context.Context, settings clinic.BookingRule) (decision, reason string, err error) {
	if r.ask == nil {
		return "", "", errors.New("this server makes no outbound calls")
	}
	return r.call(ctx, &settings, Question{
		AppointmentTypeID: "test", SpecialistID: "test", Start: record.Now().Add(24 * time.Hour).Truncate(time.Hour),
		Source:  store.SourceWeb,
		Patient: store.Patient{Name: "Test Patient", Email: "test@example.org"},
	})
}

// body is the JSON that the program receives. Its form is part of the API: docs/rule.md.
type body struct {
	Type string   `json:"type"` // "booking.check"
	At   string   `json:"timestamp"`
	Data bodyData `json:"data"`
}

type bodyData struct {
	AppointmentTypeID string       `json:"appointmentTypeId"`
	SpecialistID      string       `json:"specialistId,omitempty"`
	Place             string       `json:"place,omitempty"`
	SlotStartDate     string       `json:"slotStartDate"`
	Source            store.Source `json:"source"`
	Patient           *bodyPatient `json:"patient,omitempty"`
}

type bodyPatient struct {
	Name      string `json:"name"`
	Email     string `json:"email,omitempty"`
	Phone     string `json:"phone,omitempty"`
	BirthDate string `json:"birthDate,omitempty"`
}

// call sends one question and checks the response.
func (r *Rule) call(ctx context.Context, settings *clinic.BookingRule,
	q Question) (decision, reason string, err error) {
	now := record.Now()
	b := body{Type: "booking.check", At: now.Format(time.RFC3339), Data: bodyData{
		AppointmentTypeID: q.AppointmentTypeID, SpecialistID: q.SpecialistID, Place: q.Place,
		SlotStartDate: q.Start.UTC().Format(time.RFC3339), Source: q.Source,
	}}
	if settings.SendPatient {
		p := &q.Patient
		b.Data.Patient = &bodyPatient{Name: p.Name, Email: p.Email, Phone: p.Phone, BirthDate: p.BirthDate}
	}
	raw, err := json.Marshal(b)
	if err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(ctx, settings.Timeout())
	defer cancel()
	answer, err := r.ask(ctx, settings.URL, []string{settings.Secret}, record.NewID(), now, raw)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "", "", fmt.Errorf("no answer within %v", settings.Timeout())
	}
	if err != nil {
		return "", "", err
	}
	return read(answer)
}

// read checks a response from the program.
func read(answer []byte) (decision, reason string, err error) {
	var a struct {
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return "", "", errors.New("the answer is not JSON with a decision")
	}
	a.Reason = strings.TrimSpace(a.Reason)
	switch {
	case a.Decision != "allow" && a.Decision != "refuse" && a.Decision != "approve":
		return "", "", errors.New(`the decision must be "allow", "refuse" or "approve"`)
	case a.Decision == "refuse" && a.Reason == "":
		return "", "", errors.New("a refusal needs a reason for the patient")
	case utf8.RuneCountInString(a.Reason) > maxReason:
		return "", "", fmt.Errorf("the reason has more than %d characters", maxReason)
	case strings.ContainsFunc(a.Reason, unicode.IsControl):
		return "", "", errors.New("the reason has a control character")
	}
	return a.Decision, a.Reason, nil
}
