package stream

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/holds"
)

// The lease of a stream: how long it lives before the server ends it and the browser reconnects.
const (
	DefaultLease = 15 * time.Minute
	MinLease     = 100 * time.Millisecond
	MaxLease     = time.Hour
)

// The topics other than appointment types. They contain spaces, so no id of an appointment type equals them.
const (
	AllTypes = "all types"   // every slot event, and the changes to appointments
	Presence = "who is here" // specialists who go online and offline, and sessions
)

// ContentType is the content type of every stream.
const ContentType = "text/event-stream; charset=utf-8"

// Errors of Open.
var (
	ErrStopping    = errors.New("the live streams are stopping")
	ErrInterrupted = errors.New("no events are received")
	ErrFull        = errors.New("the maximum number of live streams is open")
	ErrAddressFull = errors.New("the maximum number of live streams per address is open")
)

// Request is a checked request for a stream.
type Request struct {
	Topic   string         // an appointment type, AllTypes or Presence
	Client  holds.ClientID // the reader, empty if unknown; it receives its own events in the owner's form
	Lease   time.Duration  // default DefaultLease; more than MaxLease counts as MaxLease
	Guard   *Guard         // the credential of the stream; nil if it needs none
	Address netip.Addr     // the address to count the stream for, see Options.PerAddress
}

// WasReplaced reports whether a browser is reconnecting automatically after another stream of the same client has
// replaced its stream. The response 204 stops the browser from reconnecting.
func WasReplaced(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Last-Event-ID"), replacedID)
}

// admit counts a new stream from an address, or returns an error if a limit has been reached or the hub accepts no
// streams.
func (h *Hub) admit(address netip.Addr) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.stopping:
		return ErrStopping
	case h.interrupted.Load():
		return ErrInterrupted
	case h.admitted >= h.options.Streams:
		return ErrFull
	case h.byAddress[address] >= h.options.PerAddress:
		return ErrAddressFull
	}
	h.admitted++
	h.byAddress[address]++
	return nil
}

func (h *Hub) release(address netip.Addr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.admitted--
	if h.byAddress[address]--; h.byAddress[address] <= 0 {
		delete(h.byAddress, address)
	}
}

// takenHead is the head of the response on a connection that the hub has taken over: HTTP/1.1, not chunked. The
// response ends when the connection is closed.
const takenHead = "HTTP/1.1 200 OK\r\n" +
	"Content-Type: " + ContentType + "\r\n" +
	"Cache-Control: no-cache, no-transform\r\n" +
	"X-Accel-Buffering: no\r\n" +
	"X-Content-Type-Options: nosniff\r\n" +
	"Referrer-Policy: no-referrer\r\n" +
	"Connection: close\r\n"

// headOf returns takenHead with the CORS header, if the caller has set one, and with the empty line that ends a head.
func headOf(set http.Header) []byte {
	head := takenHead
	if origin := set.Get("Access-Control-Allow-Origin"); origin != "" {
		head += "Access-Control-Allow-Origin: " + origin + "\r\nVary: Origin\r\n"
	}
	return []byte(head + "\r\n")
}

// Open responds to a request with a live stream. If it can take over the connection, it returns after the snapshot, and
// the hub writes the rest of the stream. Otherwise, for example with HTTP/2, it returns when the stream has ended.
// Errors: ErrStopping, ErrInterrupted, ErrFull and ErrAddressFull. If the request is canceled before the hub runs, the
// error is that of the request's context. If Open returns an error, it has written nothing.
func (h *Hub) Open(w http.ResponseWriter, r *http.Request, q Request) error {
	if err := h.admit(q.Address); err != nil {
		return err
	}
	left := sync.OnceFunc(func() { h.release(q.Address) })
	select {
	case <-h.ready:
	case <-r.Context().Done():
		left()
		return r.Context().Err()
	}
	now := time.Now()
	s := &subscriber{
		id: rand.Text(), client: q.Client, owner: q.Client.Owner(), lease: min(cmp.Or(q.Lease, DefaultLease), MaxLease),
		pinged: now, checked: now, guard: q.Guard,
	}
	if r.ProtoMajor == 1 {
		if conn, buffered, err := http.NewResponseController(w).Hijack(); err == nil {
			s.conn = newTakenConn(conn, left)
			// The request's deadlines must not end the stream. Data that the client sends is ignored.
			_ = conn.SetDeadline(time.Time{})
			_, _ = io.CopyN(io.Discard, buffered.Reader, int64(buffered.Reader.Buffered()))
			if err := s.conn.write(headOf(w.Header()), h.options.WriteTimeout); err != nil {
				s.conn.close()
				return nil
			}
			h.begin(r, s, q.Topic)
			return nil
		}
	}
	flush := newFlushConn()
	s.conn = flush
	head := w.Header()
	head.Set("Content-Type", ContentType)
	head.Set("Cache-Control", "no-cache, no-transform")
	head.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	h.writers.Go(func() { h.begin(r, s, q.Topic) })
	flush.serve(w, r, h.options.WriteTimeout)
	h.drop(s, endClientCancel)
	left()
	return nil
}

// snapshotBound limits how long the snapshot of a new stream can take.
const snapshotBound = 10 * time.Second

// begin joins a subscriber to its topic, writes the current state, and starts the live events.
func (h *Hub) begin(r *http.Request, s *subscriber, topic string) {
	hello := append([]byte(retryFrame), appendInit(nil, s.id, s.lease, h.source.Epoch())...)
	if err := h.join(s, topic); err != nil {
		_ = s.conn.write(appendEnd(hello, endShutdown, s.id), h.options.WriteTimeout)
		s.conn.close()
		return
	}
	defer h.writers.Done()
	h.announce(r.Context(), s)
	ctx, cancel := context.WithTimeout(r.Context(), snapshotBound)
	defer cancel()
	hello, err := h.snapshot(ctx, s, topic, hello)
	if err != nil {
		h.log.Warn("failed to create the snapshot for a live stream", "error", err)
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

// snapshot appends the current state and the connected frame. The subscriber has already joined.
func (h *Hub) snapshot(ctx context.Context, s *subscriber, topic string, b []byte) ([]byte, error) {
	if topic == Presence {
		return h.presenceSnapshot(ctx, s, b)
	}
	id := topic
	if topic == AllTypes {
		id = ""
	}
	now, err := h.source.Slots(ctx, id)
	if err != nil {
		return b, err
	}
	s.known, s.knownEnd = make(map[string]struct{}, len(now.Holds)+len(now.Looking)), time.Now()
	for i := range now.Holds {
		s.known[now.Holds[i].ID] = struct{}{}
		b = appendHold(b, &now.Holds[i], s.tells(now.Holds[i].Owner))
	}
	b = appendConnected(b, now.Generation)
	// A reader discards all selections when it receives the connected frame, so the selections follow that frame.
	// Selections are only hints, so their number is limited.
	for i := range now.Looking[:min(len(now.Looking), maxLooks)] {
		x := &now.Looking[i]
		s.known[lookName(x.Owner, &x.Span)] = struct{}{}
		b = appendLook(b, x, s.tells(x.Owner))
	}
	return b, nil
}

// presenceSnapshot appends the snapshot of the topic Presence. The snapshot already reflects every earlier event, so
// the empty name in known makes the subscriber skip the frames of those events.
func (h *Hub) presenceSnapshot(ctx context.Context, s *subscriber, b []byte) ([]byte, error) {
	s.known, s.knownEnd = map[string]struct{}{"": {}}, time.Now().Add(-1)
	now, err := h.source.Presence(ctx)
	if err != nil {
		return b, err
	}
	for i := range now.Presence {
		b = appendData(b, &now.Presence[i], "")
	}
	return appendConnected(b, now.Generation), nil
}

// maxLooks limits the selections in a snapshot: 200 take 50 KB.
const maxLooks = 200

// lookName returns the name that represents in known one owner's selection of one slot.
func lookName(owner holds.Owner, s *holds.Span) string {
	return owner.String() + " " + s.SpecialistID + " " + strconv.FormatInt(s.SlotStart.Unix(), 36)
}
