package web

import (
	"net/http"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
)

// ruleJSON contains the statistics of the booking rule on this node since its start.
type ruleJSON struct {
	Calls       map[string]uint64 `json:"calls"` // by outcome: allowed, refused, approval, failed
	LastFailure *ruleFailureJSON  `json:"lastFailure,omitempty"`
}

type ruleFailureJSON struct {
	At     string `json:"at"`
	Detail string `json:"detail"`
}

func (s *Server) getRule(c *call) error {
	answer := ruleJSON{Calls: map[string]uint64{}}
	for _, count := range s.engine.Rule.Counts() {
		answer.Calls[count.Outcome] = count.Calls
	}
	if last := s.engine.Rule.LastFailure(); !last.At.IsZero() {
		answer.LastFailure = &ruleFailureJSON{httpTime(last.At), last.Why}
	}
	return c.json(http.StatusOK, map[string]ruleJSON{"bookingRule": answer})
}

type ruleTestJSON struct {
	Decision string `json:"decision"`         // allow, refuse, approve or failed
	Reason   string `json:"reason,omitempty"` // of a refusal, for the patient
	Detail   string `json:"detail,omitempty"` // why the call failed
	// how long the call took
	DurationMillis int64 `json:"durationMillis"`
}

// testRule calls the program of a booking rule with an invented booking, before the rule is saved. If the program
// fails, the request itself still succeeds, and its response contains the cause.
func (s *Server) testRule(c *call, b *clinic.BookingRule) error {
	c.once = nil // every test is a new call
	known := s.engine.Clinic.Settings().BookingRule
	var m record.Mistakes
	clinic.CheckRule(&m, "", b, &known)
	if err := m.Err(); err != nil {
		return err
	}
	began := time.Now()
	decision, reason, err := s.engine.Rule.Try(c.ctx(), *b)
	answer := ruleTestJSON{Decision: decision, Reason: reason, DurationMillis: time.Since(began).Milliseconds()}
	if err != nil {
		answer.Decision, answer.Detail = "failed", err.Error()
	}
	return c.json(http.StatusOK, answer)
}
