package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"holdfast/engine/agent"
)

// What is the same of every route of agents: a body in which unknown words do no harm, and an answer that says
// success, error_type and what to do now, whatever went wrong.

// toAgent is in for a body that a language model writes. Such a model adds words of its own, so fields that nobody knows are
// passed over and named in the answer's warnings, where every other route refuses them. All else is checked as anywhere.
func toAgent[T any](h func(*call, *T) error) handle {
	answer := bodied(bodyRules{limit: maxBody, lenient: true}, h)
	return func(c *call) error {
		err := answer(c)
		if err == nil {
			c.warn()
		}
		return err
	}
}

// maxWarnings bounds how many unknown fields are named.
const maxWarnings = 20

// known returns a document without the fields of its object that nobody knows, and a warning for each of those. A document
// that is no JSON object is returned as it is, to be refused.
func known(raw []byte, expected *shape) (kept []byte, warnings []string) {
	w := walk{b: raw}
	if !json.Valid(raw) {
		return raw, nil
	}
	if w.space(); w.b[w.i] != '{' {
		return raw, nil
	}
	kept = append(kept, '{')
	for w.i++; ; {
		w.space()
		switch w.b[w.i] {
		case '}':
			if warnings == nil {
				return raw, nil
			}
			return append(kept, '}'), warnings
		case ',':
			w.i++
			continue
		}
		start := w.i
		name := w.name()
		w.space()
		w.i++ // :
		w.space()
		w.skip()
		switch {
		case expected.fields[name] != nil:
			if len(kept) > 1 {
				kept = append(kept, ',')
			}
			kept = append(kept, raw[start:w.i]...)
		case len(warnings) < maxWarnings:
			warnings = append(warnings, "The field "+quoted(name)+" is not known here and was ignored.")
		}
	}
}

// warn adds the warnings to the answer that was left. They are no part of what is remembered under an idempotency key: a
// repeat has the same body and so the same warnings.
func (c *call) warn() {
	n := len(c.out)
	if len(c.warnings) == 0 || n < 2 || c.out[n-1] != '}' {
		return
	}
	list, _ := json.Marshal(c.warnings) // texts cannot fail
	out := append(c.out[:n-1:n-1], `,"warnings":`...)
	c.out = append(append(out, list...), '}')
}

// forAgent reports whether an agent asked, who is told everything with guidance.
func (c *call) forAgent() bool { return strings.HasPrefix(c.r.URL.Path, "/v1/agent/") }

// agentProblem leaves a problem like any other, and what to do now.
func (c *call) agentProblem(p problem) error {
	defer c.warn()
	return c.json(p.Status, invalidAgentJSON{p, false, strings.ToUpper(p.Code), p.Detail, c.engine.Agent.ProblemGuidance(c.stateOf(p))})
}

type invalidAgentJSON struct {
	problem
	Success   bool           `json:"success"`
	ErrorType string         `json:"error_type"`
	Message   string         `json:"message"`
	Guidance  agent.Guidance `json:"llm_guidance"`
}

// stateOf is what is known of a request after a problem. What the storage left open is open: a caller must hear neither that
// it was done nor that it was not.
func (c *call) stateOf(p problem) agent.Problem {
	switch {
	case p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden:
		return agent.ProblemKey
	case p.Status == http.StatusTooManyRequests || p.Code == errOverloaded.Code:
		return agent.ProblemBusy
	case p.Status >= 500 && safe(c.r.Method), p.Status >= 500 && strings.HasSuffix(c.route.pattern, "/slots"):
		return agent.ProblemUnreachable
	case p.Status >= 500, p.Code == errIdempotencyInFlight.Code:
		return agent.ProblemOpen
	case p.Code == errNotFound.Code && strings.HasPrefix(c.route.pattern, "/v1/agent/operations/"):
		return agent.ProblemNoOperation
	}
	return agent.ProblemRequest
}
