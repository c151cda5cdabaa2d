package web

import (
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"time"

	"holdfast/holds"
)

// The lease of a stream: how long it may live before the server ends it and the browser opens it anew.
const (
	defaultLease = 15 * time.Minute
	minLease     = 100 * time.Millisecond
	maxLease     = time.Hour
)

// streamHead is the answer's head of a connection taken over: HTTP/1.1, not chunked, ended by closing.
const streamHead = "HTTP/1.1 200 OK\r\n" +
	"Content-Type: text/event-stream; charset=utf-8\r\n" +
	"Cache-Control: no-cache, no-transform\r\n" +
	"X-Accel-Buffering: no\r\n" +
	"X-Content-Type-Options: nosniff\r\n" +
	"Referrer-Policy: no-referrer\r\n" +
	"Connection: close\r\n\r\n"

// streamRequest is a checked request for a stream.
type streamRequest struct {
	appointmentTypeID string // empty: staff, every type
	client            holds.ClientID
	lease             time.Duration
	left              func() // called once when the stream is over
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
		id: rand.Text(), client: q.client, appointmentTypeID: q.appointmentTypeID, lease: q.lease, pinged: now, checked: now,
	}
	if r.ProtoMajor == 1 {
		if conn, buffered, err := http.NewResponseController(w).Hijack(); err == nil {
			s.conn = newTCPStream(conn, q.left)
			// Deadlines of the request must not end the stream; what the peer sent meanwhile is of no interest.
			_ = conn.SetDeadline(time.Time{})
			_, _ = io.CopyN(io.Discard, buffered.Reader, int64(buffered.Reader.Buffered()))
			if _, err := io.WriteString(deadlined{conn, h.options.WriteTimeout}, streamHead); err != nil {
				s.conn.close()
				return nil
			}
			h.begin(r, s)
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
	h.writers.Go(func() { h.begin(r, s) })
	flush.serve(w, r, h.options.WriteTimeout)
	h.drop(s, endClientCancel)
	q.left()
	return nil
}

// begin joins the hub, tells the stream what is so now, and lets it go live.
func (h *hub) begin(r *http.Request, s *stream) {
	hello := append([]byte(retryFrame), appendInit(nil, s.id, s.lease, h.engine.Epoch())...)
	if err := h.join(s); err != nil {
		_ = s.conn.write(appendEnd(hello, endShutdown, s.id), h.options.WriteTimeout)
		s.conn.close()
		return
	}
	held, generation, err := h.snapshot(r, s)
	if err != nil {
		h.log.Warn("a stream could not take its snapshot", "error", err)
		_ = s.conn.write(appendEnd(hello, endInitFailed, s.id), h.options.WriteTimeout)
		h.drop(s, endInitFailed)
		return
	}
	for i := range held {
		hello = appendSnapshot(hello, &held[i], s.client != "" && held[i].Client == s.client)
	}
	if len(held) > 0 {
		s.known = make(map[string]struct{}, len(held))
		for i := range held {
			s.known[held[i].ID] = struct{}{}
		}
		s.knownEnd = time.Now()
	}
	if err := s.conn.write(appendConnected(hello, generation), h.options.WriteTimeout); err != nil {
		h.drop(s, endClientAbort)
		return
	}
	h.start(s)
}

func (h *hub) snapshot(r *http.Request, s *stream) ([]holds.Hold, uint64, error) {
	if s.appointmentTypeID != "" {
		return h.engine.Snapshot(r.Context(), s.appointmentTypeID)
	}
	held, err := h.engine.Holds(r.Context())
	return held, h.engine.Generation(""), err
}

// deadlined is a connection whose every write must be done in time.
type deadlined struct {
	net.Conn
	within time.Duration
}

func (d deadlined) Write(b []byte) (int, error) {
	if err := d.SetWriteDeadline(time.Now().Add(d.within)); err != nil {
		return 0, err
	}
	return d.Conn.Write(b)
}
