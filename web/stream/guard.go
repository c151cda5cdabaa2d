package stream

import (
	"context"
	"errors"
	"time"
)

// ErrRevoked means that the credential that opened a stream is no longer valid.
var ErrRevoked = errors.New("the credential of the stream has ended")

// Guard represents the credential that opened a stream. The stream ends when the credential is no longer valid.
type Guard struct {
	// Name is the same for all streams that one credential opened. It is not secret.
	Name string
	// Stands returns when the credential expires, unless it is revoked earlier. Zero means that it never expires.
	// Stands returns ErrRevoked if the credential is no longer valid. After any other error, the hub calls Stands
	// again.
	Stands func(context.Context) (until time.Time, err error)
}

// Recheck makes the hub check all guards now. It does not wait for the result.
func (h *Hub) Recheck() {
	select {
	case h.recheck <- struct{}{}:
	default: // a check is already pending
	}
}

// guardBound limits how long all guards together can take.
const guardBound = 5 * time.Second

// watchGuards ends the streams whose credential is no longer valid. It checks each guard after its stream was opened
// (the credential may have been revoked in the meantime), when the credential expires, and at every Recheck.
func (h *Hub) watchGuards(ctx context.Context) {
	tick := time.NewTicker(h.options.Sweep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.recheck:
			h.askGuards(ctx, func(*subscriber) bool { return true })
		case now := <-tick.C:
			h.askGuards(ctx, func(s *subscriber) bool { return !s.stands || !s.until.IsZero() && !now.Before(s.until) })
		}
	}
}

// askGuards checks the guards of the streams that are due. It checks each guard only once, even if several streams
// share it.
func (h *Hub) askGuards(ctx context.Context, due func(*subscriber) bool) {
	byName := make(map[string][]*subscriber)
	for _, s := range h.guardedStreams() {
		if due(s) {
			byName[s.guard.Name] = append(byName[s.guard.Name], s)
		}
	}
	if len(byName) == 0 {
		return // the usual case
	}
	ctx, cancel := context.WithTimeout(ctx, guardBound)
	defer cancel()
	for name, streams := range byName {
		until, err := streams[0].guard.Stands(ctx)
		for _, s := range streams {
			switch {
			case err == nil:
				s.stands, s.until = true, until
			case errors.Is(err, ErrRevoked):
				h.end(s, endUnknown)
			default:
				s.stands = false // checked again at the next tick
			}
		}
		if err != nil && !errors.Is(err, ErrRevoked) && ctx.Err() == nil {
			h.log.Warn("failed to check the credential of a live stream; retrying", "credential", name, "error", err)
		}
	}
}

func (h *Hub) guardedStreams() []*subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*subscriber, 0, len(h.guarded))
	for s := range h.guarded {
		list = append(list, s)
	}
	return list
}
