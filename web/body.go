package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/engine/record"
	"holdfast/engine/sheet"
	"holdfast/web/fhir"
)

// Limits of a request body. The server refuses a body that takes longer than bodyTime to arrive.
const (
	maxBody   = 64 << 10
	maxImport = 16 << 20
	maxSheet  = 2 * sheet.MaxBytes // a spreadsheet as a JSON string
	maxBlocks = 1 << 20            // a public calendar as a JSON string
	bodyTime  = 30 * time.Second
	restTime  = time.Second // for reading the rest of a body that the server does not need
)

// watchedBody is a request's body that records whether the server has read it to its end.
type watchedBody struct {
	io.ReadCloser
	left  int64 // bytes left of the announced length; negative if none was announced
	ended bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left == 0 || err != nil {
		b.ended = true
	}
	return n, err
}

// watchBody sets a deadline of bodyTime for the request's body, if there is one. It runs before every check that can
// refuse the request: net/http itself has no deadline for a body, and waits for the rest of the body after every
// response.
func (c *call) watchBody() {
	if c.r.Body == nil || c.r.Body == http.NoBody {
		return
	}
	c.body = watchedBody{ReadCloser: c.r.Body, left: c.r.ContentLength}
	if c.body.left == 0 {
		c.body.left = -1
	}
	c.r.Body = &c.body
	_ = http.NewResponseController(c.rw.ResponseWriter).SetReadDeadline(c.started.Add(bodyTime))
}

// leaveBody runs before the response is written. If the server has not read the whole body, leaveBody announces that
// the connection will close, and limits the time for reading the rest to restTime. The response then does not wait for
// a slow caller.
func (c *call) leaveBody() {
	if c.body.ReadCloser == nil || c.body.ended {
		return
	}
	if c.r.ProtoMajor < 2 { // HTTP/2 closes only the stream
		c.rw.Header()["Connection"] = []string{"close"}
	}
	_ = http.NewResponseController(c.rw.ResponseWriter).SetReadDeadline(time.Now().Add(restTime))
}

// drainBody runs after the response. It sends the response and reads the rest of a body that the server has not read,
// until the deadline of leaveBody: closing a connection that has unread bytes resets it, and the caller would lose the
// response.
func (c *call) drainBody() {
	if c.body.ReadCloser == nil || c.body.ended || c.r.ProtoMajor >= 2 {
		return
	}
	if http.NewResponseController(c.rw.ResponseWriter).Flush() == nil {
		_, _ = io.Copy(io.Discard, c.body.ReadCloser) // an error ends the read like the end of the body
	}
}

// in wraps a handler. It decodes the body for the handler, and refuses unknown fields, duplicate fields and text that
// is not UTF-8. If the document as a whole is wrong, the problem is malformed_body. If a known field has a value of the
// wrong kind, the problem is validation_failed and names the field.
func in[T any](h func(*call, *T) error) handle { return inUpTo(maxBody, h) }

// inUpTo is like in, with another size limit.
func inUpTo[T any](limit int64, h func(*call, *T) error) handle {
	return bodied(bodyRules{limit: limit}, h)
}

// maybe is like in, for a body that the caller may leave out.
func maybe[T any](h func(*call, *T) error) handle {
	return bodied(bodyRules{limit: maxBody, optional: true}, h)
}

// beacon wraps the handler of a body that a closing page sends: if navigator.sendBeacon sends a string, its type is
// text/plain.
func beacon[T any](h func(*call, *T) error) handle {
	return bodied(bodyRules{limit: maxBody, plain: true}, h)
}

// bodyless wraps the handler of a POST whose path contains all the data. The caller may send an empty object.
// Idempotency keys work as for any other POST.
func bodyless(h handle) handle {
	return bodied(bodyRules{limit: maxBody, optional: true, plain: true}, func(c *call, _ *emptyBody) error {
		return h(c)
	})
}

// allOrNothing wraps a handler that changes nothing unless it succeeds, and that commits its response together with its
// change. The server then looks for an earlier response to the same request only after a failure, which saves a look-up
// for every new request. The commit itself refuses an idempotency key that already has a response.
func allOrNothing[T any](h func(*call, *T) error) handle {
	return bodied(bodyRules{limit: maxBody, allOrNothing: true}, h)
}

// emptyBody has no fields.
type emptyBody struct{}

type bodyRules struct {
	limit    int64
	optional bool
	plain    bool // a text/plain body is parsed as JSON
	// lenient ignores unknown fields and names them in the response's warnings. It is only for the routes of agents,
	// whose bodies a language model writes.
	lenient      bool
	allOrNothing bool
}

// owned is a body that names its client.
type owned interface{ owner() *string }

// clientBody is the part of a body that names its client. The header Holdfast-Client can replace it.
type clientBody struct {
	ClientID string `json:"clientId"`
}

func (b *clientBody) owner() *string { return &b.ClientID }

func bodied[T any](rules bodyRules, h func(*call, *T) error) handle {
	expected := shapeOf(reflect.TypeFor[T]())
	return func(c *call) error {
		raw, err := c.read(rules)
		if err != nil {
			return err
		}
		c.reading = time.Since(c.started)
		c.renew()
		if rules.lenient {
			raw, c.warnings = known(raw, expected)
		}
		var body T
		if len(raw) > 0 || !rules.optional {
			if err := decode(raw, expected, &body); err != nil {
				var form *formError
				if !errors.As(err, &form) {
					return err
				}
				body = *new(T)
				_ = json.Unmarshal(form.rest, &body) // its errors are in form.wrong
				c.wrong = form.wrong
			}
		}
		var given string
		if o, ok := any(&body).(owned); ok {
			given = *o.owner()
		}
		if err := c.mistake(c.resolveClient(given)); err != nil {
			return err
		}
		return c.atMostOnce(raw, rules.allOrNothing, func() error { return c.withWrong(h(c, &body)) })
	}
}

// withWrong combines err with the mistakes in call.wrong. If there are mistakes, the result is always a
// *record.ValidationError.
func (c *call) withWrong(err error) error {
	if len(c.wrong) == 0 {
		return err
	}
	var invalid *record.ValidationError
	if errors.As(err, &invalid) {
		return record.Mistakes(c.wrong).Together(invalid.Fields).Err()
	}
	return c.wrong.err()
}

// mistake adds the fields of a *record.ValidationError to call.wrong, so that the handler continues and finds the
// other mistakes too. It returns any other error.
func (c *call) mistake(err error) error {
	var invalid *record.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	for _, f := range invalid.Fields {
		c.wrong.add(f.Field, f.Message)
	}
	return nil
}

// read returns the whole body. It checks the Content-Type, the Content-Encoding and the size limit.
func (c *call) read(rules bodyRules) ([]byte, error) {
	r := c.r
	if r.ContentLength == 0 {
		return nil, nil
	}
	if !jsonContent(r.Header.Get("Content-Type"), rules.plain) {
		return nil, errUnsupportedMediaType
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		c.rw.Header()["Accept-Encoding"] = []string{"identity"} // RFC 9110, section 12.5.3
		return nil, errUnsupportedMediaType.with("Send the body uncompressed, without Content-Encoding.")
	}
	tooLarge := errPayloadTooLarge.with("This route takes at most " + strconv.FormatInt(rules.limit>>10, 10) +
		" KiB. Split the request.")
	if r.ContentLength > rules.limit {
		return nil, tooLarge
	}
	var raw []byte
	if r.ContentLength > 0 {
		raw = make([]byte, r.ContentLength)
		if n, err := io.ReadFull(r.Body, raw); err != nil {
			return nil, errMalformedBody.with("The body ended after " + strconv.Itoa(n) + " of the announced " +
				strconv.Itoa(len(raw)) + " bytes. Send it again.")
		}
		return raw, nil
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, rules.limit+1))
	switch {
	case err != nil:
		return nil, errMalformedBody.with("The body is incomplete. Send it again.")
	case int64(len(raw)) > rules.limit:
		return nil, tooLarge
	}
	return raw, nil
}

// jsonContent reports whether a Content-Type is JSON in UTF-8. A body without a Content-Type counts as JSON.
func jsonContent(contentType string, plain bool) bool {
	if contentType == "application/json" || contentType == "" {
		return true
	}
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" && media != fhir.ContentType && !(plain && media == "text/plain") {
		return false
	}
	charset := parameters["charset"]
	return charset == "" || strings.EqualFold(charset, "utf-8")
}

// decode reads a document of the expected shape into dst.
func decode(raw []byte, expected *shape, dst any) error {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	wanted, what := byte('{'), "a JSON object, such as {\"clientId\": …}"
	if expected.list {
		wanted, what = '[', "a JSON list, such as [{…}]"
	}
	switch {
	case len(trimmed) == 0:
		return errMalformedBody.with("The body is empty. Send " + what + ".")
	case !utf8.Valid(raw):
		return errMalformedBody.with("The body is not UTF-8. Send the text in UTF-8.")
	}
	err := json.Unmarshal(raw, dst)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return errMalformedBody.with("The body is not JSON: at byte " + strconv.FormatInt(syntax.Offset, 10) + ", " +
			syntax.Error() + ".")
	}
	if trimmed[0] != wanted {
		return errMalformedBody.with("The body must be " + what + ".")
	}
	if _, wrong := misfit(raw, expected, err != nil); wrong != nil || err == nil {
		return wrong
	}
	return fieldError("body", strings.TrimPrefix(err.Error(), "json: "))
}

// kindOf describes the JSON value that a Go type needs, for error messages.
func kindOf(t reflect.Type) string {
	if readsText(t) {
		return "a text in quotes"
	}
	switch t.Kind() {
	case reflect.String:
		return "a text in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a whole number that fits"
}

// quoted returns a string from the request in quotes, shortened to 64 bytes.
func quoted(s string) string {
	return strconv.Quote(record.Clip(s))
}
