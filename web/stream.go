package web

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"holdfast/engine"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/web/instant"
	"holdfast/web/stream"
)

// streamSource returns the functions that the live streams use to read the engine.
func streamSource(e *engine.Engine) stream.Source {
	source := stream.Source{
		Epoch: e.Booking.Epoch, Watch: e.Booking.Watch, Concerns: e.Clinic.Concerns, Affects: e.Clinic.Affects,
		Slots: func(ctx context.Context, appointmentTypeID string) (stream.Snapshot, error) {
			now, err := e.Booking.StreamStart(ctx, appointmentTypeID)
			return stream.Snapshot{Generation: now.Generation, Holds: now.Holds, Looking: now.Looking}, err
		},
		Presence: func(ctx context.Context) (stream.Snapshot, error) {
			generation := e.Clinic.Generation("") // must be read before the presence
			now, err := e.Presence.StreamStart(ctx)
			return stream.Snapshot{Generation: generation, Presence: now}, err
		},
	}
	if e.Shared() {
		source.Announce = e.Booking.AnnounceStream
	}
	return source
}

// streamOptions returns the limits of the streams. The limit per address applies only with Options.RateLimit.
func streamOptions(o Options) stream.Options {
	limits := o.Limits.withDefaults()
	options := stream.Options{Streams: limits.Streams, Ping: o.Ping, Sweep: o.sweep}
	if o.RateLimit {
		options.PerAddress = limits.StreamsPerAddress
	}
	return options
}

type ticketBody struct {
	clientBody
}

// streamTicket is `POST /v1/holds/stream-ticket`. An EventSource cannot set a header, so it opens a stream with this
// ticket in the URL. The ticket works once and for 30 s, so a URL in a log is useless. The response is not stored for a
// repeated request.
func (s *Server) streamTicket(c *call, _ *ticketBody) error {
	if !validClient(string(c.client)) {
		return fieldError("clientId",
			"must be 16 to 128 printable characters without spaces, here or in the header Holdfast-Client")
	}
	c.once = nil
	ticket, expiresAt, err := s.engine.Account.StreamTicket(c.client)
	if err != nil {
		return err
	}
	return c.json(http.StatusCreated, map[string]string{"ticket": ticket,
		"expiresAt": string(instant.AppendMilli(nil, expiresAt))})
}

// reader returns the client of a stream, from the ticket or from the query. It uses up the ticket, so it must be the
// last check before the stream is opened.
func (s *Server) reader(c *call, q *query) (holds.ClientID, error) {
	ticket, client := q.text("ticket"), q.client(c)
	if ticket != "" && q.text("clientId") != "" {
		q.add("ticket", "cannot be combined with clientId")
	}
	if err := q.err(); err != nil || ticket == "" || c.r.Method == http.MethodHead || stream.WasReplaced(c.r) {
		return client, err
	}
	client, err := s.engine.Account.UseStreamTicket(ticket)
	if errors.Is(err, record.ErrUnauthorized) {
		err = errUnauthorized.with(
			"This ticket has already been used, or is older than 30 seconds. Get a new one with POST " +
				"/v1/holds/stream-ticket.",
		)
	}
	return client, err
}

// holdStream is `GET /v1/holds/stream?appointmentTypeId=&ticket=&clientId=&leaseMs=`. It sends all events that concern
// the time of the specialists who offer one type.
func (s *Server) holdStream(c *call) error {
	q := c.query()
	id := q.id("appointmentTypeId")
	if q.text("appointmentTypeId") == "" {
		q.add("appointmentTypeId", "add an appointment type, such as ?appointmentTypeId=checkup")
	}
	lease := q.lease()
	if err := q.err(); err != nil {
		return err
	}
	if _, err := s.engine.Clinic.AppointmentType(id); err != nil {
		return err
	}
	if err := s.visible(c, id); err != nil {
		return err
	}
	client, err := s.reader(c, q)
	if err != nil {
		return err
	}
	return s.openStream(c, stream.Request{Topic: id, Client: client, Lease: lease})
}

// staffStream is `GET /v1/staff/stream`. It sends the events that concern the time of all specialists, and the changes
// to appointments.
func (s *Server) staffStream(c *call) error {
	q := c.query()
	lease := q.lease()
	client, err := s.reader(c, q)
	if err != nil {
		return err
	}
	return s.openStream(c, stream.Request{Topic: stream.AllTypes, Client: client, Lease: lease})
}

// lease reads the parameter leaseMs. It caps the lease at stream.MaxLease.
func (q *query) lease() time.Duration {
	ms := q.whole("leaseMs", int(stream.MinLease.Milliseconds()), math.MaxInt32,
		int(stream.DefaultLease.Milliseconds()))
	return min(time.Duration(ms)*time.Millisecond, stream.MaxLease)
}

// openStream applies the limits and passes the request to the hub. If a browser reconnects after its stream was
// replaced, the response is 204, which stops the reconnection.
func (s *Server) openStream(c *call, q stream.Request) error {
	if stream.WasReplaced(c.r) {
		return c.empty(http.StatusNoContent)
	}
	if c.r.Method == http.MethodHead {
		c.rw.Header()["Content-Type"] = []string{stream.ContentType}
		return c.empty(http.StatusOK)
	}
	address := s.address(c.r)
	if err := c.limited(s.opens, address); err != nil {
		return err
	}
	q.Address, q.Guard = network(address), s.guard(&c.caller)
	switch err := s.hub.Open(&c.rw, c.r, q); {
	case errors.Is(err, stream.ErrStopping):
		return errOverloaded.with("The server is stopping. Open the stream again in a few seconds.")
	case errors.Is(err, stream.ErrInterrupted):
		return errOverloaded.with(
			"Live updates are interrupted. Until they resume, poll /timeslots, and open the stream again in a few " +
				"seconds.",
		)
	case errors.Is(err, stream.ErrFull):
		return errOverloaded.again(time.Minute).with(
			"Too many live streams are open. Poll /timeslots and open the stream again in a minute.",
		)
	case errors.Is(err, stream.ErrAddressFull):
		return tooMany(time.Minute).with(
			"Too many live streams from this network are open. Close one, or poll /timeslots and open the stream " +
				"again in a minute.",
		)
	default:
		return err
	}
}

// guard returns the guard of a stream, which ends the stream when the caller's sign-in or API key ends. It returns nil
// for a caller that has neither.
func (s *Server) guard(c *caller) *stream.Guard {
	var name string
	var stands func(context.Context) (time.Time, error)
	switch keyID, staff := c.keyID, c.staff; {
	case staff != nil:
		name = "sign-in:" + staff.SignIn.ID
		stands = func(ctx context.Context) (time.Time, error) { return s.engine.Account.SignInStands(ctx, staff) }
	case keyID != "":
		name = "key:" + keyID
		stands = func(ctx context.Context) (time.Time, error) {
			return time.Time{}, s.engine.Account.KeyStands(ctx, keyID)
		}
	default:
		return nil
	}
	return &stream.Guard{Name: name, Stands: func(ctx context.Context) (time.Time, error) {
		until, err := stands(ctx)
		if errors.Is(err, record.ErrUnauthorized) {
			err = stream.ErrRevoked
		}
		return until, err
	}}
}
