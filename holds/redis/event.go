package redis

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/holds"
	"holdfast/holds/node"
)

const eventsChannel = "holds:events:"

// Epoch implements holds.Table. Each node has its own epoch, which changes when events may have been lost.
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
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	return b.translate(b.client.Publish(ctx, eventsChannel+e.AppointmentTypeID+b.record, message).Err())
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
	earRetry = 100 * time.Millisecond // between two attempts to subscribe
	earQuiet = time.Second            // without a message, before a ping on the subscription
)

// hear maintains a subscription to all events until Close. Events during an interruption are lost, and every watch
// ends with holds.ErrSlow.
func (b *Backend) hear() {
	hears := true // so that only the first failure of an outage is logged
	for b.done.Err() == nil {
		err := b.subscribed(func(p *redis.PubSub) error {
			b.ear.Set(true)
			b.logger.Info("Redis event subscription started")
			hears = true
			defer func() {
				b.ear.Set(false)
				b.log.Break()
			}()
			return b.relay(p)
		})
		if b.done.Err() == nil {
			if hears {
				b.logger.Warn("Redis event subscription interrupted; restarting watchers", "error", err)
			}
			hears = false
			select {
			case <-time.After(earRetry):
			case <-b.done.Done():
			}
		}
	}
}

// subscribed runs do once Redis has confirmed the subscription.
func (b *Backend) subscribed(do func(*redis.PubSub) error) error {
	ctx, cancel := context.WithTimeout(b.done, b.timeout)
	defer cancel()
	p := b.client.PSubscribe(ctx, eventsChannel+"*"+b.record)
	defer p.Close()
	if _, err := p.ReceiveTimeout(ctx, b.timeout); err != nil {
		return err
	}
	return do(p)
}

// relay publishes events from Redis to this node's watchers until Redis becomes unreachable.
func (b *Backend) relay(p *redis.PubSub) error {
	asked := false
	for {
		message, err := p.ReceiveTimeout(b.done, earQuiet)
		var late net.Error
		switch {
		case b.done.Err() != nil:
			return holds.ErrClosed
		case errors.As(err, &late) && late.Timeout() && !asked:
			asked = true
			if err := p.Ping(b.done); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		asked = false
		m, ok := message.(*redis.Message)
		if !ok {
			continue
		}
		e, err := node.ReadEvent(m.Payload)
		if err != nil { // another program's message
			b.logger.Warn("event unreadable", "channel", m.Channel, "error", err)
			continue
		}
		b.sweeper.Expect(&e)
		b.log.Publish(&e)
	}
}
