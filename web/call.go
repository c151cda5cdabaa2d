package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// call is the state of one request: the request itself, its caller and its response.
type call struct {
	*Server
	r      *http.Request
	rw     responseWriter
	route  *route
	params params
	caller caller
	site   string         // the allowed origin (CORS) of another website that sent the request; else empty
	client holds.ClientID // the client id, set by resolveClient; may be empty
	denied error          // an invalid manage link; a repeat under its idempotency key still gets the stored response

	once      *record.Once // the idempotency key of this request; nil once a use case has taken it
	committed struct {     // the response that was stored with the last run of the write
		status int
		body   []byte
	}
	status int    // of the response that flush writes; 0 if the handler has written it
	out    []byte // the body of that response

	warnings []string // unknown fields that an agent sent
	// mistakes found in the body so far; if there are any, the request is refused, and ctx returns a trial context
	wrong mistakes

	bounded context.Context // derived from ctx; nil until first used
	release context.CancelFunc

	// the id of the request in the log and in the response's header; the caller can choose it
	id      string
	trace   string // the traceparent of W3C Trace Context that the caller sent; may be empty
	counted *routeMetrics
	started time.Time
	reading time.Duration // how long reading the body took
	body    watchedBody
	spent   store.Spent
}

// responseWriter records the status and the size of the response for the log and the metrics.
type responseWriter struct {
	http.ResponseWriter
	status   int
	bytes    int
	hijacked bool

	perOrigin bool // the response depends on the header Origin
}

func (w *responseWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	if w.perOrigin {
		addVary(w.Header(), "Origin")
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += n
	return n, err
}

// Hijack hands the connection to its caller, which then writes the response itself.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.status, w.hijacked = http.StatusOK, true
	}
	return conn, buffered, err
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Header values of every response. They are shared and never changed.
var (
	noSniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
	noStore    = []string{"no-store"}
	oneYear    = []string{"max-age=31536000"}
	noContents = []string{"default-src 'none'; frame-ancestors 'none'"}
	jsonType   = []string{"application/json"}
)

// serve processes one request: it checks the request, calls the route's handler and writes the response.
func (s *Server) serve(rt *route, counted *routeMetrics, p params, w http.ResponseWriter, r *http.Request) {
	c := &call{Server: s, r: r, route: rt, params: p, counted: counted, started: time.Now()}
	c.id, c.trace = names(r.Header)
	c.rw.ResponseWriter = w
	defer c.end()
	c.watchBody()
	h := w.Header()
	h["X-Content-Type-Options"] = noSniff
	h["Referrer-Policy"] = noReferrer
	h["Content-Security-Policy"] = noContents
	h["Cache-Control"] = noStore
	if base, _ := s.engine.Clinic.BaseURL(); strings.HasPrefix(base, "https://") { // HSTS: browsers then use https only
		h["Strict-Transport-Security"] = oneYear
	}
	h["X-Request-Id"] = []string{c.id}
	if c.trace != "" {
		h["Traceparent"] = []string{c.trace}
	}
	c.admitSite()
	err := s.admit(c)
	if err == nil {
		err = c.heedAfter()
	}
	if err == nil {
		err = rt.handle(c)
	}
	if err != nil {
		c.fail(err)
		return
	}
	c.flush()
}

// admit decides whether the request may reach its handler.
func (s *Server) admit(c *call) error {
	if !safe(c.r.Method) && c.site == "" {
		if err := s.origins.Check(c.r); err != nil && !c.fromOwnPages() {
			return errForbidden.with(
				"This page belongs to another site. Open the booking page itself, or send the request from a program.",
			)
		}
	}
	err := s.identify(c)
	if err != nil || !c.caller.trusted() && !safe(c.r.Method) {
		// A request with an invalid credential counts too, so that a caller cannot guess credentials.
		if limited := c.limited(s.writes, s.address(c.r)); limited != nil {
			return limited
		}
	}
	if err != nil {
		return err
	}
	return s.authorize(c)
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// requestID returns a random id that is short, and unique enough to find a request in a log. The id is not a secret.
func requestID() string { return strconv.FormatUint(rand.Uint64(), 36) }

// names returns the id and the trace of a request. It uses those that the caller or its proxy sent, if they are safe to
// log; otherwise it returns a new id and an empty trace. They help to find related log lines and give no access.
func names(h http.Header) (id, trace string) {
	if id = h.Get("X-Request-Id"); !fitForLog(id) {
		id = requestID()
	}
	if trace = h.Get("Traceparent"); !isTraceparent(trace) {
		trace = ""
	}
	return id, trace
}

// fitForLog reports whether s is 1 to 64 characters long and contains none that are special to a terminal, a log or a
// spreadsheet.
func fitForLog(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '.', c == '-' && i > 0:
		default:
			return false
		}
	}
	return true
}

// isTraceparent reports whether s is a traceparent of version 00 of W3C Trace Context, such as
// 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.
func isTraceparent(s string) bool {
	if len(s) != 55 || s[:3] != "00-" || s[35] != '-' || s[52] != '-' {
		return false
	}
	for i := 3; i < len(s); i++ {
		if c := s[i]; i != 35 && i != 52 && (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s[3:35] != strings.Repeat("0", 32) && s[36:52] != strings.Repeat("0", 16)
}

// param returns a parameter of the path.
func (c *call) param(name string) string { return c.params.ByName(name) }

// ctx returns the context of the request, which ends when the caller disconnects or the request reaches its route's
// time limit. A write that has started always completes. If the body has a mistake, ctx returns a trial context: the
// handler can find more mistakes but changes nothing.
func (c *call) ctx() context.Context {
	if c.bounded == nil {
		c.bounded, c.release = context.WithTimeout(store.WithSpent(c.r.Context(), &c.spent), c.patience(c.route))
	}
	if len(c.wrong) > 0 {
		return store.WithTrial(c.bounded)
	}
	return c.bounded
}

// renew restarts the time limit of the request once the body has been read, because the body has its own limit.
func (c *call) renew() {
	if c.release != nil {
		c.release()
		c.bounded, c.release = nil, nil
	}
}

// json sets the response to v as JSON. flush writes it.
func (c *call) json(status int, v any) error {
	b, err := json.Marshal(v)
	c.status, c.out = status, b
	return err
}

// empty sets a response without a body.
func (c *call) empty(status int) error {
	c.status, c.out = status, nil
	return nil
}

// flush writes the response that the handler has set. It keeps a Content-Type that the handler has set.
func (c *call) flush() {
	if c.status == 0 {
		return
	}
	c.leaveBody()
	c.revalidate()
	c.compress()
	h := c.rw.Header()
	if c.changes() {
		c.sayChange()
	}
	if len(c.out) > 0 {
		if h["Content-Type"] == nil && c.isFHIR() {
			h["Content-Type"] = fhirType
		} else if h["Content-Type"] == nil {
			h["Content-Type"] = jsonType
		}
		h["Content-Length"] = []string{strconv.Itoa(len(c.out))}
	}
	c.rw.WriteHeader(c.status)
	if c.r.Method != http.MethodHead && len(c.out) > 0 {
		_, _ = c.rw.Write(c.out) // an error means that the caller has disconnected
	}
	c.drainBody()
}

// revalidate changes the response to a GET or HEAD to a 304 without a body if its entity tag is one of those in
// If-None-Match.
func (c *call) revalidate() {
	tags := c.rw.Header()["Etag"]
	if c.status != http.StatusOK || len(tags) != 1 || c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return
	}
	if hasTag(c.r.Header["If-None-Match"], strings.TrimPrefix(tags[0], "W/")) {
		c.status, c.out = http.StatusNotModified, nil
	}
}

// statusGone is the logged status of a request whose caller disconnected before the response. It is never sent.
const statusGone = 499

// fail responds with the problem for err. If the caller has disconnected, it only sets the status for the log.
func (c *call) fail(err error) {
	if errors.Is(err, context.Canceled) && c.r.Context().Err() != nil {
		c.rw.status = statusGone
		return
	}
	p := problemOf(err, time.Now())
	if p.Status >= http.StatusInternalServerError {
		c.log.LogAttrs(c.ctx(), slog.LevelError, "request failed",
			slog.String("route", c.route.pattern), slog.String("code", p.Code), slog.String("request", c.id),
			slog.Any("error", err))
	}
	if c.rw.status != 0 {
		return // the response has begun, so it can only be cut short
	}
	c.problem(p)
}

func (c *call) problem(p problem) {
	base, _ := c.engine.Clinic.BaseURL()
	p.Type = base + "/docs/errors#" + p.Code
	if p.Status == http.StatusInternalServerError {
		p.Detail += " The request was " + c.id + "."
	}
	h := c.rw.Header()
	h["Content-Type"] = problemType
	if p.RetryAfterSeconds > 0 {
		h["Retry-After"] = []string{strconv.Itoa(p.RetryAfterSeconds)}
	}
	if p.Status == http.StatusUnauthorized {
		h["Www-Authenticate"] = c.challenge()
	}
	switch { // encoding strings and numbers cannot fail
	case c.forAgent():
		_ = c.agentProblem(p)
	case c.isFHIR():
		_ = c.outcome(p)
	default:
		_ = c.json(p.Status, p)
	}
	c.flush()
}

// method returns the request's method, or "other" if it is not a standard one.
func (c *call) method() string {
	switch m := c.r.Method; m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return m
	}
	return "other"
}

// end counts and logs the request, and turns a panic into a response.
func (c *call) end() {
	defer c.renew()
	if cause := recover(); cause != nil {
		if cause == http.ErrAbortHandler {
			panic(cause)
		}
		c.log.LogAttrs(c.ctx(), slog.LevelError, "handler panicked",
			slog.String("route", c.route.pattern), slog.String("request", c.id), slog.Any("panic", cause),
			slog.String("stack", string(debug.Stack())))
		if c.rw.status == 0 {
			c.problem(problemOf(errInternal, time.Now()))
		}
	}
	took := time.Since(c.started)
	c.counted.observe(c.rw.status, took)
	level := slog.LevelInfo
	if c.route.access == operator || c.route.pattern == "/livez" || c.route.pattern == "/readyz" {
		level = slog.LevelDebug
	}
	ctx := context.Background()
	if c.log.Enabled(ctx, level) {
		c.log.LogAttrs(ctx, level, "request", c.said(took)...)
	}
	if took >= slowRequest && !strings.HasSuffix(c.route.pattern, "/stream") {
		store := c.spent.Writing() + c.spent.Reading()
		c.log.LogAttrs(ctx, slog.LevelWarn, "request slow",
			append(c.said(took), slog.Int64("body_us", c.reading.Microseconds()),
				slog.Int64("write_us", c.spent.Writing().Microseconds()),
				slog.Int64("read_us", c.spent.Reading().Microseconds()),
				slog.Int64("other_us", max(0, took-c.reading-store).Microseconds()))...)
	}
}

// slowRequest is the minimum duration of a request for which the log shows where the time went: reading the body,
// database writes including the wait for them, database reads, or the rest. The rest can be the live state, another
// server, or a busy machine.
const slowRequest = time.Second

// said returns the log attributes of a request.
func (c *call) said(took time.Duration) []slog.Attr {
	all := []slog.Attr{slog.String("method", c.method()), slog.String("route", c.route.pattern),
		slog.Int("status", c.rw.status), slog.Int("bytes", c.rw.bytes), slog.Int64("us", took.Microseconds()),
		slog.String("request", c.id)}
	if c.trace != "" {
		all = append(all, slog.String("trace", c.trace[3:35]))
	}
	if c.options.LogClientAddress {
		all = append(all, slog.String("client", c.address(c.r).String()))
	}
	return all
}

// done responds to a change that has no result to return, or returns the error of the change.
func (c *call) done(err error) error {
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]bool{"ok": true})
}

// answerList responds with the JSON forms of a list under a name, or returns the error from reading the list.
func answerList[T, J any](c *call, name string, list []T, err error, convert func(*T) J) error {
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string][]J{name: each(list, convert)})
}

// each converts a list to its JSON form.
func each[T, J any](list []T, convert func(*T) J) []J {
	converted := make([]J, len(list))
	for i := range list {
		converted[i] = convert(&list[i])
	}
	return converted
}

// rendered returns the status and the JSON of a response, for a use case that commits the response together with its
// write.
func rendered(status int, v any) (int, []byte) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // impossible: all types of this package can be encoded as JSON
	}
	return status, b
}
