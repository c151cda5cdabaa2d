package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"holdfast/engine/agent"
)

// All routes for agents accept unknown fields in the body. Each response contains success and the next step, and the
// response to a failed request also contains error_type.

// toAgent wraps a handler for bodies that a language model writes. Models add fields that do not exist, so toAgent
// ignores unknown fields and names them in the response's warnings. All other routes refuse unknown fields. Its other
// checks are the same as those of in.
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

// maxWarnings is the maximum number of unknown fields that a response names.
const maxWarnings = 20

// known removes the unknown fields from a document's object and returns a warning for each of them. If the document is
// not a JSON object, known returns it unchanged, so that the decoder refuses it.
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
			warnings = append(warnings, "The field "+quoted(name)+" is unknown and was ignored.")
		}
	}
}

// warn adds the warnings to the response. They are not part of the response that is stored under an idempotency key: a
// repeat has the same body and so the same warnings.
func (c *call) warn() {
	n := len(c.out)
	if len(c.warnings) == 0 || n < 2 || c.out[n-1] != '}' {
		return
	}
	list, _ := json.Marshal(c.warnings) // encoding strings cannot fail
	out := append(c.out[:n-1:n-1], `,"warnings":`...)
	c.out = append(append(out, list...), '}')
}

// forAgent reports whether the request is on a route for agents, where every response contains guidance.
func (c *call) forAgent() bool { return strings.HasPrefix(c.r.URL.Path, "/v1/agent/") }

// agentProblem sets a problem as the response, with guidance on the next step.
func (c *call) agentProblem(p problem) error {
	defer c.warn()
	return c.json(p.Status, invalidAgentJSON{p, false, strings.ToUpper(p.Code), p.Detail,
		c.engine.Agent.ProblemGuidance(c.stateOf(p))})
}

type invalidAgentJSON struct {
	problem
	Success   bool           `json:"success"`
	ErrorType string         `json:"error_type"`
	Message   string         `json:"message"`
	Guidance  agent.Guidance `json:"llm_guidance"`
}

// stateOf returns the state of a request after a problem. If the storage error left the outcome unknown, the state is
// ProblemOpen: the guidance must claim neither success nor failure.
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
