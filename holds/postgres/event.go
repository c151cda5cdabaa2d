package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/holds"
	"holdfast/holds/node"
)

const eventsChannel = "holdfast_holds"

// Epoch implements holds.Table. Each node has its own epoch, which changes when events, or the whole live state, may
// have been lost.
func (b *Backend) Epoch() string { return b.log.Epoch() }

// Publish implements holds.Table. If At is zero, the event gets the time of the call.
func (b *Backend) Publish(ctx context.Context, e holds.Event) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	if e.At.IsZero() {
		e.At = time.Now()
	}
	if e.Kind.FromFeed() {
		b.log.Publish(&e)
		return nil
	}
	message, err := node.WriteEvent(&e)
	if err != nil {
		return err
	}
	return b.call(ctx, `SELECT pg_notify($1, $2) IS NULL`, []any{eventsChannel, string(message)}, new(bool))
}

// Watch implements holds.Table. While no events are being received, it returns holds.ErrUnavailable.
func (b *Backend) Watch(ctx context.Context, specialistIDs ...string) (holds.Watch, error) {
	if b.closed.Load() {
		return nil, holds.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	if err := b.ear.Wait(ctx, b.done); err != nil {
		return nil, err
	}
	return b.log.Watch(specialistIDs...)
}

const (
	earRetry = 100 * time.Millisecond // between two attempts to listen
	earQuiet = time.Second            // without a notification, before a ping to the server
)

// hear listens for all events until Close. Events during an interruption are lost, and every watch ends with
// holds.ErrSlow.
func (b *Backend) hear() {
	for quiet := false; b.done.Err() == nil; {
		heard, err := b.listen()
		if b.done.Err() == nil {
			if heard || !quiet { // once for each outage
				b.logger.Warn("PostgreSQL event subscription interrupted; restarting watchers", "error", b.translate(err))
			}
			quiet = true
			select {
			case <-time.After(earRetry):
			case <-b.done.Done():
			}
		}
	}
}

// listen relays events until the connection breaks, and reports whether it had started to listen.
func (b *Backend) listen() (heard bool, err error) {
	ctx, cancel := context.WithTimeout(b.done, b.timeout)
	defer cancel()
	at := b.server.Copy()
	if err := makeTables(ctx, at); err != nil {
		return false, err
	}
	var told []*pgconn.Notification
	at.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { told = append(told, n) }
	c, err := pgconn.ConnectConfig(ctx, at)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.Close(ctx)
	}()
	if _, err := c.Exec(ctx, `LISTEN `+eventsChannel+`; LISTEN `+homeChannel).ReadAll(); err != nil {
		return false, err
	}
	b.ear.Set(true)
	b.sweeper.NotLater(time.Now()) // the event of a hold that expires soon may have been missed
	b.hasDecided()                 // a decision may have been made before the connection listened
	b.logger.Info("PostgreSQL event subscription started")
	defer func() {
		b.ear.Set(false)
		b.log.Break()
	}()
	for {
		if err := b.relay(c, &told); err != nil {
			return true, err
		}
	}
}

// relay publishes the received events to this node's watchers and waits for more. After earQuiet without an event it
// pings the server.
func (b *Backend) relay(c *pgconn.PgConn, told *[]*pgconn.Notification) error {
	for _, n := range *told {
		b.tell(n)
	}
	*told = nil
	ctx, cancel := context.WithTimeout(b.done, earQuiet)
	defer cancel()
	err := c.WaitForNotification(ctx)
	switch {
	case b.done.Err() != nil:
		return holds.ErrClosed
	case errors.Is(err, context.DeadlineExceeded):
		ctx, cancel := context.WithTimeout(b.done, b.timeout)
		defer cancel()
		return c.Ping(ctx)
	}
	return err
}

// tell publishes an event to this node's watchers.
func (b *Backend) tell(n *pgconn.Notification) {
	if n.Channel == homeChannel {
		b.hasDecided()
		return
	}
	e, err := node.ReadEvent(n.Payload)
	if err != nil { // another program's notification
		b.logger.Warn("event unreadable", "channel", n.Channel, "error", err)
		return
	}
	b.sweeper.Expect(&e)
	b.log.Publish(&e)
}
