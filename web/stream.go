package web

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// The lease of a stream: how long it may live before the server ends it and the browser opens it anew.
const (
	defaultLease = 15 * time.Minute
	minLease     = 100 * time.Millisecond
	maxLease     = time.Hour
)

// holdStream is `GET /v1/holds/stream?appointmentTypeId=&clientId=&leaseMs=`: everything that happens to the time of the
// specialists who serve one type.
func (s *Server) holdStream(c *call) error {
	q := c.query()
	id := q.id("appointmentTypeId")
	if q.text("appointmentTypeId") == "" {
		q.add("appointmentTypeId", "say which appointment type to follow, such as ?appointmentTypeId=checkup")
	}
	client, lease := q.client(c), q.lease()
	if err := q.err(); err != nil {
		return err
	}
	if _, err := s.engine.AppointmentType(id); err != nil {
		return err
	}
	return s.openStream(c, streamRequest{topic: id, client: client, lease: lease})
}

// staffStream is `GET /v1/staff/stream`: the same over all specialists, and the changes of appointments.
func (s *Server) staffStream(c *call) error {
	q := c.query()
	client, lease := q.client(c), q.lease()
	if err := q.err(); err != nil {
		return err
	}
	return s.openStream(c, streamRequest{topic: staffTopic, client: client, lease: lease})
}

func (q *query) lease() time.Duration {
	ms := q.whole("leaseMs", int(minLease.Milliseconds()), int(maxLease.Milliseconds()), int(defaultLease.Milliseconds()))
	return time.Duration(ms) * time.Millisecond
}

// openStream applies the limits and hands the request to the hub. A browser that was told of its replacement and comes
// back by itself is answered 204, which ends its reconnecting.
func (s *Server) openStream(c *call, q streamRequest) error {
	if strings.HasPrefix(c.r.Header.Get("Last-Event-ID"), "replaced-") {
		return c.empty(http.StatusNoContent)
	}
	if c.r.Method == http.MethodHead {
		c.rw.Header()["Content-Type"] = []string{"text/event-stream; charset=utf-8"}
		return c.empty(http.StatusOK)
	}
	address := s.address(c.r)
	if wait, ok := s.opens.allow(address, c.started); !ok {
		return tooMany(wait)
	}
	if err := s.hub.admit(network(address), s.opens != nil); err != nil {
		return err
	}
	q.left = sync.OnceFunc(func() { s.hub.release(network(address)) })
	if err := s.hub.open(&c.rw, c.r, q); err != nil {
		q.left()
		return err
	}
	return nil
}

// admit counts a stream of an address, or refuses it.
func (h *hub) admit(address netip.Addr, limited bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closing:
		return errOverloaded.with("The server is stopping. Open the stream again in a moment.")
	case h.admitted >= h.options.Streams:
		return errOverloaded.with("Too many live streams are open. Ask /timeslots meanwhile and open the stream again in a minute.")
	case limited && h.byAddress[address] >= h.options.StreamsPerAddress:
		return tooMany(time.Minute)
	}
	h.admitted++
	h.byAddress[address]++
	return nil
}

func (h *hub) release(address netip.Addr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.admitted--
	if h.byAddress[address]--; h.byAddress[address] <= 0 {
		delete(h.byAddress, address)
	}
}

// streamHead is the answer's head of a connection taken over: HTTP/1.1, not chunked, ended by closing.
const streamHead = "HTTP/1.1 200 OK\r\n" +
	"Content-Type: text/event-stream; charset=utf-8\r\n" +
	"Cache-Control: no-cache, no-transform\r\n" +
	"X-Accel-Buffering: no\r\n" +
	"X-Content-Type-Options: nosniff\r\n" +
	"Referrer-Policy: no-referrer\r\n" +
	"Connection: close\r\n\r\n"

// Topics that are no appointment type; no id has a space in it.
const (
	staffTopic    = "all types"
	presenceTopic = "who is here"
)

// streamRequest is a checked request for a stream.
type streamRequest struct {
	topic  string // an appointment type, or one of the topics below
	client holds.ClientID
	lease  time.Duration
	left   func() // called once when the stream is over
}

// open answers a request with a live stream. Once the connection is taken over it returns at once and the hub has the
// stream; through the Flush path it returns when the stream ends. An error means that nothing was written.
func (h *hub) open(w http.ResponseWriter, r *http.Request, q streamRequest) error {
	select {
	case <-h.ready:
	case <-r.Context().Done():
		return r.Context().Err()
	}
	now := time.Now()
	s := &stream{
		id: rand.Text(), client: q.client, lease: q.lease, pinged: now, checked: now,
	}
	if r.ProtoMajor == 1 {
		if conn, buffered, err := http.NewResponseController(w).Hijack(); err == nil {
			s.conn = newTCPStream(conn, q.left)
			// Deadlines of the request must not end the stream; what the peer sent meanwhile is of no interest.
			_ = conn.SetDeadline(time.Time{})
			_, _ = io.CopyN(io.Discard, buffered.Reader, int64(buffered.Reader.Buffered()))
			if err := s.conn.write([]byte(streamHead), h.options.WriteTimeout); err != nil {
				s.conn.close()
				return nil
			}
			h.begin(r, s, q.topic)
			return nil
		}
	}
	flush := newFlushStream()
	s.conn = flush
	head := w.Header()
	head.Set("Content-Type", "text/event-stream; charset=utf-8")
	head.Set("Cache-Control", "no-cache, no-transform")
	head.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	h.writers.Go(func() { h.begin(r, s, q.topic) })
	flush.serve(w, r, h.options.WriteTimeout)
	h.drop(s, endClientCancel)
	q.left()
	return nil
}

// begin joins the hub, tells the stream what is so now, and lets it go live.
func (h *hub) begin(r *http.Request, s *stream, topic string) {
	hello := append([]byte(retryFrame), appendInit(nil, s.id, s.lease, h.engine.Epoch())...)
	if err := h.join(s, topic); err != nil {
		_ = s.conn.write(appendEnd(hello, endShutdown, s.id), h.options.WriteTimeout)
		s.conn.close()
		return
	}
	defer h.writers.Done()
	hello, err := h.snapshot(r.Context(), s, topic, hello)
	if err != nil {
		h.log.Warn("a stream could not take its snapshot", "error", err)
		_ = s.conn.write(appendEnd(hello, endInitFailed, s.id), h.options.WriteTimeout)
		h.drop(s, endInitFailed)
		return
	}
	if err := s.conn.write(hello, h.options.WriteTimeout); err != nil {
		h.drop(s, endClientAbort)
		return
	}
	h.start(s)
}

// snapshot appends what is so now, and the frame that ends it. The stream has joined already.
func (h *hub) snapshot(ctx context.Context, s *stream, topic string, b []byte) ([]byte, error) {
	switch topic {
	case presenceTopic:
		// What was published before the snapshot began is in it, and older than it: it must not be told again.
		s.known, s.knownEnd = map[string]struct{}{"": {}}, time.Now().Add(-1)
		return h.presenceSnapshot(ctx, b)
	case staffTopic:
		topic = ""
	}
	now, err := h.engine.Snapshot(ctx, topic)
	if err != nil {
		return b, err
	}
	s.known, s.knownEnd = make(map[string]struct{}, len(now.Holds)+len(now.Looking)), time.Now()
	for i := range now.Holds {
		s.known[now.Holds[i].ID] = struct{}{}
		b = appendSnapshot(b, &now.Holds[i], s.client != "" && now.Holds[i].Client == s.client)
	}
	b = appendConnected(b, now.Generation)
	// A reader forgets all looks when it connects, so these are news. They are a hint, and a crowd need not be told whole.
	for i := range now.Looking[:min(len(now.Looking), mostLooks)] {
		x := &now.Looking[i]
		s.known[look(x.Client, &x.Span)] = struct{}{}
		b = appendLook(b, x, s.client != "" && x.Client == s.client)
	}
	return b, nil
}

// mostLooks bounds what a new stream is told of looks: 200 are 50 KB.
const mostLooks = 200

// look names one client's look at one slot.
func look(client holds.ClientID, s *holds.Span) string {
	return string(client) + " " + s.SpecialistID + " " + strconv.FormatInt(s.SlotStart.Unix(), 36)
}

// presenceSnapshot tells who is online and which sessions are open.
func (h *hub) presenceSnapshot(ctx context.Context, b []byte) ([]byte, error) {
	online, err := h.engine.Online(ctx)
	if err != nil {
		return b, err
	}
	for i := range online {
		b = append(appendPresence(append(b, `data: {"type":"presence"`...), online[i].SpecialistID, "online"), "}\n\n"...)
	}
	open, err := h.engine.Sessions(ctx, store.SessionFilter{
		Statuses: []store.SessionStatus{store.SessionRequested, store.SessionActive, store.SessionPendingPayment}, Limit: 500,
	})
	if err != nil {
		return b, err
	}
	for i := range open {
		x := &open[i]
		b = append(appendSession(append(b, `data: {"type":"session"`...), x.ID, string(x.Status), x.SpecialistID, x.ExpiresAt), "}\n\n"...)
	}
	return appendConnected(b, h.engine.Generation("")), nil
}
