package stream

import (
	"context"
	"errors"
	"time"
)

// ErrRevoked means that the credential that a stream was opened with has ended.
var ErrRevoked = errors.New("the credential of the stream has ended")

// Guard is the credential that a stream was opened with. The stream ends with it.
type Guard struct {
	// Name is the same for all streams of one credential. It is no secret.
	Name string
	// Stands returns when the credential expires if nothing else ends it; zero means never. It returns ErrRevoked if
	// the credential has ended. After any other error the hub asks again.
	Stands func(context.Context) (until time.Time, err error)
}

// Recheck makes the hub check all guards now. It does not wait for the result.
func (h *Hub) Recheck() {
	select {
	case h.recheck <- struct{}{}:
	default: // is about to be
	}
}

// guardBound limits how long all guards together can take.
const guardBound = 5 * time.Second

// watchGuards ends the streams whose credential has ended. It checks each guard after its stream was opened (the
// credential may have ended in the meantime), when the credential expires, and at every Recheck.
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

// askGuards asks the guards of the streams that are due, each once.
func (h *Hub) askGuards(ctx context.Context, due func(*subscriber) bool) {
	byName := make(map[string][]*subscriber)
	for _, s := range h.guardedStreams() {
		if due(s) {
			byName[s.guard.Name] = append(byName[s.guard.Name], s)
		}
	}
	if len(byName) == 0 {
		return // at nearly every sweep
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
