package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
)

// bidi is a connection to a browser that uses the protocol WebDriver BiDi (w3c.github.io/webdriver-bidi).
type bidi struct {
	socket *socket
	event  func(method string, params json.RawMessage) // called for one event after another

	mu      sync.Mutex
	last    int // the number of the last command
	waiting map[int]chan bidiMessage
	err     error // the reason why the connection ended
}

// bidiMessage is a message from the browser: the response to a command, or an event, which has no number.
type bidiMessage struct {
	ID      int             `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   string          `json:"error"`
	Message string          `json:"message"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// object holds the parameters of a command.
type object map[string]any

// listen reads until the connection ends.
func (b *bidi) listen() {
	for {
		raw, err := b.socket.read()
		var said bidiMessage
		if err == nil {
			err = json.Unmarshal(raw, &said)
		}
		if err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.err = fmt.Errorf("the connection to the browser has ended: %w", err)
			for _, answer := range b.waiting {
				close(answer)
			}
			b.waiting = nil
			return
		}
		if said.Method != "" {
			b.event(said.Method, said.Params)
			continue
		}
		b.mu.Lock()
		answer := b.waiting[said.ID]
		delete(b.waiting, said.ID)
		b.mu.Unlock()
		if answer != nil {
			answer <- said
		}
	}
}

// ended returns the reason why the connection ended.
func (b *bidi) ended() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// call sends a command and waits for its result, which it decodes into result unless that is nil.
func (b *bidi) call(ctx context.Context, method string, params object, result any) error {
	answer := make(chan bidiMessage, 1)
	b.mu.Lock()
	if b.err != nil {
		defer b.mu.Unlock()
		return b.err
	}
	b.last++
	id := b.last
	b.waiting[id] = answer
	b.mu.Unlock()
	if params == nil {
		params = object{}
	}
	raw, err := json.Marshal(object{"id": id, "method": method, "params": params})
	if err != nil {
		return err
	}
	if err := b.socket.write(raw); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	case said, isOpen := <-answer:
		switch {
		case !isOpen:
			return fmt.Errorf("%s: %w", method, b.ended())
		case said.Error != "":
			return fmt.Errorf("%s: %s: %s", method, said.Error, said.Message)
		case result == nil:
			return nil
		}
		return json.Unmarshal(said.Result, result)
	}
}

// evaluate runs JavaScript in a browsing context with user activation, waits for its promise, and returns the result as
// JSON, or nil for undefined.
func (b *bidi) evaluate(ctx context.Context, browsingContext, script string) ([]byte, error) {
	var said struct {
		Type             string
		Result           bidiValue
		ExceptionDetails struct{ Text string }
	}
	err := b.call(ctx, "script.evaluate", object{
		"expression": script, "target": object{"context": browsingContext}, "awaitPromise": true,
		"userActivation": true, "serializationOptions": object{"maxDomDepth": 0},
	}, &said)
	if err != nil {
		return nil, err
	}
	if said.Type == "exception" {
		return nil, errors.New(said.ExceptionDetails.Text)
	}
	if said.Result.Type == "undefined" {
		return nil, nil
	}
	plain, err := said.Result.plain()
	if err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

// bidiValue is a JavaScript value in the format of BiDi, which includes its type. An object is a list of pairs.
type bidiValue struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// plain returns the value for encoding/json. A value that JSON cannot express becomes null, as with JSON.stringify. A
// node becomes an empty object.
func (v bidiValue) plain() (any, error) {
	switch v.Type {
	case "string", "boolean":
		return v.Value, nil
	case "number":
		var special string
		if json.Unmarshal(v.Value, &special) != nil {
			return v.Value, nil
		}
		if n, err := strconv.ParseFloat(special, 64); err == nil && n == 0 {
			return math.Abs(n), nil // "-0"
		}
		return nil, nil
	case "array":
		var items []bidiValue
		if err := json.Unmarshal(v.Value, &items); err != nil {
			return nil, err
		}
		list := make([]any, len(items))
		for i, item := range items {
			var err error
			if list[i], err = item.plain(); err != nil {
				return nil, err
			}
		}
		return list, nil
	case "object":
		var pairs [][2]json.RawMessage
		if err := json.Unmarshal(v.Value, &pairs); err != nil {
			return nil, err
		}
		fields := make(object, len(pairs))
		for _, pair := range pairs {
			var name string
			var field bidiValue
			if err := errors.Join(json.Unmarshal(pair[0], &name), json.Unmarshal(pair[1], &field)); err != nil {
				return nil, err
			}
			var err error
			if fields[name], err = field.plain(); err != nil {
				return nil, err
			}
		}
		return fields, nil
	case "undefined", "null":
		return nil, nil
	}
	return object{}, nil
}
