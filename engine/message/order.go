package message

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"holdfast/engine/outbound"
	"holdfast/store"
)

// Rests are the addresses that were not reached, and how long they are left alone.
type rests struct {
	mu sync.Mutex
	of map[string]*outbound.Rest
}

// maxRests bounds the memory for addresses that were changed since.
const maxRests = 1000

// left is how long the address still rests, and a moment more; nothing if it can be tried. The queue knows whole milliseconds: without
// the moment what waits would be due before the rest is over, and be taken out and put back as fast as the disk allows.
func (r *rests) left(address string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.of[address]; known != nil {
		if wait := known.Until().Sub(now); wait > 0 {
			return wait + time.Millisecond
		}
	}
	return 0
}

// rest leaves the address alone, longer each time until wake, and says how long.
func (r *rests) rest(address string, now time.Time, base time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil || len(r.of) >= maxRests {
		r.of = make(map[string]*outbound.Rest)
	}
	known := r.of[address]
	if known == nil {
		known = new(outbound.Rest)
		r.of[address] = known
	}
	known.Begin(now, base)
	return known.Until().Sub(now)
}

func (r *rests) wake(address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, address)
}

func (r *rests) wakeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of = nil
}

// Posting are the webhook addresses that a call is under way to, since when. One that takes its time delays what is for
// it, and leaves the other places of the lane to the others.
type posting struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// maxPostingWait bounds how long a webhook waits behind another before it looks again.
const maxPostingWait = 5 * time.Second

// begin takes the address, or says for how long to leave it alone: as long again as the call under way has taken, so that
// what waits for one that hangs is not taken out of the queue every moment. The time is real: the clinic's may be set.
func (p *posting) begin(address string) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if since, busy := p.since[address]; busy {
		return min(max(time.Since(since), 50*time.Millisecond), maxPostingWait)
	}
	if p.since == nil {
		p.since = make(map[string]time.Time)
	}
	p.since[address] = time.Now()
	return 0
}

func (p *posting) end(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.since, address)
}

// behindNotice says until when a mail or a webhook stands behind an earlier one of the same appointment to the same
// receiver: what was decided first is told first.
func (ms *Messages) behindNotice(ctx context.Context, op *store.Operation) (time.Time, bool) {
	if op.AppointmentID == "" {
		return time.Time{}, false
	}
	now, to := ms.outbound.Now(), receiverOf(op)
	list, pending, err := ms.outbound.Earlier(ctx, op, func(o *store.Operation) bool {
		return !o.Status.Final() && o.Kind == op.Kind && receiverOf(o) == to
	})
	switch {
	case err != nil:
		return now.Add(10 * time.Second), true
	case pending:
		return now.Add(time.Second), true
	}
	if len(list) > 0 {
		at := now.Add(time.Second)
		if o := &list[0]; o.Status == store.OperationPending && o.NextAttemptAt.After(now) {
			at = o.NextAttemptAt.Add(time.Second)
		}
		return at, true
	}
	return time.Time{}, false
}

// receiverOf is who is told by a notice, and of what: a reminder that waits for its day is in nobody's way, and the
// clinic's own mail and that to an old address are not the patient's.
func receiverOf(op *store.Operation) string {
	if op.Kind == store.Webhook {
		var p hookPayload
		_ = json.Unmarshal(op.Payload, &p) // one that cannot be read is refused when it is delivered
		return p.EndpointID
	}
	var p mailPayload
	_ = json.Unmarshal(op.Payload, &p)
	if p.Notice == mailReminder || toStaff(p.Notice) || p.Notice == mailOldAddress {
		return p.Notice + op.ID
	}
	return ""
}
