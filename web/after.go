package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// # Callers that reach another node
//
// If several nodes serve the clinic, the response to a change carries the number of that change in the header
// Holdfast-Change. If a caller sends the number in the header Holdfast-After, the response from any node reflects that
// change. This is for callers that a load balancer sends to different nodes. A single node sends no numbers.

const (
	changeHeader = "Holdfast-Change"
	afterHeader  = "Holdfast-After"

	// afterBound is how long a node waits for the changes of other nodes. They usually take milliseconds. After
	// afterBound, a node that is cut off responds from its own state, and its Holdfast-Change is lower than the
	// requested number. The same happens if the number comes from another database.
	afterBound = time.Second
)

// heedAfter waits until this node has applied the change whose number the caller sent in Holdfast-After. It waits at
// most afterBound.
func (c *call) heedAfter() error {
	given := c.r.Header.Values(afterHeader)
	if len(given) == 0 {
		return nil
	}
	number, err := strconv.ParseInt(given[0], 10, 64)
	if err != nil || number < 0 || len(given) > 1 || given[0][0] == '+' {
		return fieldError(afterHeader, "must be the number from the header "+changeHeader+" of an answer, and must "+
			"appear only once")
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

// sayChange sets Holdfast-Change to the number of the last change that this node has applied. For a request with
// Holdfast-After, the number is set before the handler reads; for a change, after the handler has run.
func (c *call) sayChange() {
	c.rw.Header()[changeHeader] = []string{strconv.FormatInt(c.engine.LastChange(), 10)}
}

// changes reports whether the response that flush is about to write confirms a change that other nodes receive.
func (c *call) changes() bool {
	return c.engine.Shared() && c.status < http.StatusMultipleChoices && !safe(c.r.Method) &&
		strings.HasPrefix(c.route.pattern, "/v1/")
}
