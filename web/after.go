package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// # A caller who comes to another node
//
// Where several nodes serve, an answer that changed something says in Holdfast-Change up to which change its node knows the clinic.
// Whoever sends that number as Holdfast-After is answered by any node from what was so then, or later. It is for callers whom a
// load balancer sends to and fro; one node needs none of it and says no numbers.

const (
	changeHeader = "Holdfast-Change"
	afterHeader  = "Holdfast-After"

	// afterBound is how long a node waits for what others have committed. It takes milliseconds; a node that is cut off answers from
	// what it has, and its Holdfast-Change is lower than what was asked for. A number of another database never comes.
	afterBound = time.Second
)

// heedAfter waits until this node knows what the caller does.
func (c *call) heedAfter() error {
	given := c.r.Header.Values(afterHeader)
	if len(given) == 0 {
		return nil
	}
	number, err := strconv.ParseInt(given[0], 10, 64)
	if err != nil || number < 0 || len(given) > 1 || given[0][0] == '+' {
		return fieldError(afterHeader, "must be a number as an answer's "+changeHeader+" has it, given once")
	}
	if !c.engine.Shared() {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), afterBound)
	defer cancel()
	if err := c.engine.Await(ctx, number); err != nil && ctx.Err() == nil {
		return err
	}
	c.sayChange()
	return c.r.Context().Err()
}

// sayChange says up to where this node knows the clinic: before the answer is read from what it knows, or after a change.
func (c *call) sayChange() {
	c.rw.Header()[changeHeader] = []string{strconv.FormatInt(c.engine.LastChange(), 10)}
}

// changes reports whether the answer that was left is to a change that other nodes hear of.
func (c *call) changes() bool {
	return c.engine.Shared() && c.status < http.StatusMultipleChoices && !safe(c.r.Method) && strings.HasPrefix(c.route.pattern, "/v1/")
}
