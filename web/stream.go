package web

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"holdfast/engine"
	"holdfast/web/stream"
)

// streamSource is the engine as the live streams know it.
func streamSource(e *engine.Engine) stream.Source {
	return stream.Source{
		Epoch: e.Epoch, Watch: e.Watch, Concerns: e.Concerns,
		Slots: func(ctx context.Context, appointmentTypeID string) (stream.Snapshot, error) {
			now, err := e.Snapshot(ctx, appointmentTypeID)
			return stream.Snapshot(now), err
		},
		Presence: func(ctx context.Context) (stream.Snapshot, error) {
			now, err := e.PresenceSnapshot(ctx)
			return stream.Snapshot(now), err
		},
	}
}

// streamOptions are the bounds of the streams. Those of one address count only with Options.RateLimit.
func streamOptions(o Options) stream.Options {
	limits := o.Limits.withDefaults()
	options := stream.Options{Streams: limits.Streams}
	if o.RateLimit {
		options.PerAddress = limits.StreamsPerAddress
	}
	return options
}

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
	return s.openStream(c, stream.Request{Topic: id, Client: client, Lease: lease})
}

// staffStream is `GET /v1/staff/stream`: the same over all specialists, and the changes of appointments.
func (s *Server) staffStream(c *call) error {
	q := c.query()
	client, lease := q.client(c), q.lease()
	if err := q.err(); err != nil {
		return err
	}
	return s.openStream(c, stream.Request{Topic: stream.AllTypes, Client: client, Lease: lease})
}

// lease reads leaseMs. A longer one than stream.MaxLease is shortened to that.
func (q *query) lease() time.Duration {
	ms := q.whole("leaseMs", int(stream.MinLease.Milliseconds()), math.MaxInt32, int(stream.DefaultLease.Milliseconds()))
	return min(time.Duration(ms)*time.Millisecond, stream.MaxLease)
}

// openStream applies the limits and hands the request to the hub. A browser that was told of its replacement and comes
// back by itself is answered 204, which ends its reconnecting.
func (s *Server) openStream(c *call, q stream.Request) error {
	if stream.WasReplaced(c.r) {
		return c.empty(http.StatusNoContent)
	}
	if c.r.Method == http.MethodHead {
		c.rw.Header()["Content-Type"] = []string{stream.ContentType}
		return c.empty(http.StatusOK)
	}
	address := s.address(c.r)
	if wait, ok := s.opens.allow(address, c.started); !ok {
		return tooMany(wait)
	}
	q.Address = network(address)
	switch err := s.hub.Open(&c.rw, c.r, q); {
	case errors.Is(err, stream.ErrStopping):
		return errOverloaded.with("The server is stopping. Open the stream again in a moment.")
	case errors.Is(err, stream.ErrFull):
		return errOverloaded.with("Too many live streams are open. Ask /timeslots meanwhile and open the stream again in a minute.")
	case errors.Is(err, stream.ErrAddressFull):
		return tooMany(time.Minute)
	default:
		return err
	}
}
