// This file is the handwritten part of the client: it creates a client and reads the live streams. The calls are
// generated from the API description.

package holdfast

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
)

// Connect returns a client for the server at an address, such as https://book.example.org. key is an API key; it is
// empty for public operations. client is a secret from NewClientID that identifies this program as the owner of its
// holds; it may be empty for a program that makes no holds.
func Connect(server, key, client string, more ...ClientOption) (*ClientWithResponses, error) {
	sign := func(_ context.Context, r *http.Request) error {
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		if client != "" && r.Header.Get("Holdfast-Client") == "" {
			r.Header.Set("Holdfast-Client", client)
		}
		return nil
	}
	return NewClientWithResponses(server, append([]ClientOption{WithRequestEditorFn(sign)}, more...)...)
}

// NewClientID creates a client secret.
func NewClientID() string { return rand.Text() }

// NewKey creates an Idempotency-Key. Send the same key with every attempt of the same request.
func NewKey() *string {
	key := rand.Text()
	return &key
}

// Refusal is the error for an unsuccessful response. Problem is the body of the response.
type Refusal struct {
	Status  int
	Problem Problem
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%d %s: %s", r.Status, r.Problem.Code, r.Problem.Detail)
}

// Refused returns a *Refusal if the response is not a success, and nil otherwise.
func Refused(r *http.Response, body []byte) error {
	if r.StatusCode < 300 {
		return nil
	}
	return refusalOf(r, body)
}

func refusalOf(r *http.Response, body []byte) *Refusal {
	refusal := &Refusal{Status: r.StatusCode}
	_ = json.Unmarshal(body, &refusal.Problem) // a response from a proxy in between may have no such body
	return refusal
}

// Frame is one message of a live stream. Data is the whole message; its shape is the Frame… type that Type names.
type Frame struct {
	ID   string
	Type string
	Data json.RawMessage
}

// Frames returns the messages of a stream until it ends, and then closes it. If the stream did not end properly, the
// last element contains the error: a *Refusal if the server refused the request.
func Frames(r *http.Response) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(io.LimitReader(r.Body, 64<<10)) // without a body, the status is the reason
			yield(Frame{}, refusalOf(r, body))
			return
		}
		var f Frame
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ":")
			switch value = strings.TrimPrefix(value, " "); name {
			case "id":
				f.ID = value
			case "data":
				f.Data = json.RawMessage(value)
			case "":
				if f.Data == nil {
					continue
				}
				var said struct{ Type string }
				if err := json.Unmarshal(f.Data, &said); err != nil {
					yield(f, errors.Join(errors.New("a frame is not valid JSON"), err))
					return
				}
				if f.Type = said.Type; !yield(f, nil) || f.Type == "end" {
					return
				}
				f = Frame{}
			}
		}
		if err := lines.Err(); err != nil {
			yield(Frame{}, err)
		}
	}
}
