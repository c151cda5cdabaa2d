// Package failover stores the live state of a single node that uses Redis. Its holds.Backend consists of two backends:
// the primary, and a fallback in this process that serves while the primary is unavailable. Several nodes must store
// their live state in one location: see package home.
//
// # Which backend serves
//
// The primary serves until a call fails with holds.ErrUnavailable, its event stream breaks off, or it does not respond
// to the ping sent every second. The first of these switches all callers at once. The fallback then handles the failed
// call, so no caller waits longer than the time limit for one call to the primary. The fallback serves for at least
// 1250 ms, so that a caller that reads Mode once a second notices the switch. Then the backend pings the primary four
// times a second. The primary serves again once it has responded to two pings in a row.
//
// # Copied state
//
// A ledger contains every hold and selection that this process knows about: its own from the responses to its calls,
// and those of other processes from their events. When the fallback takes over, the live entries of the ledger are
// copied to it with their remaining time. When the primary is back, holds that were created or changed in this process
// are copied to it in the same way, and holds that ended here are ended there. If another client took the time of such
// a hold in the primary, the hold is lost, and its owner is notified (displaced). Each process copies only the holds
// that it created or changed. If a claim in the primary got no response, its client was given a different hold. So the
// hold that the claim may have created is released in the primary too, unless its client has renewed it since.
//
// Presence is always stored in this process as well, and served from here while the primary is unavailable. During that
// time, a node has only the heartbeats that it received itself. Both backends receive the booked time, whichever one
// is active.
//
// A hold keeps the id that its owner received, whatever its ids in the two backends are.
//
// # Events for watchers
//
// Watchers receive a single stream, which this package numbers and which a switch does not interrupt. After a switch,
// events that watchers have already received are left out, and events that they missed are published.
package failover

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"holdfast/holds"
	"holdfast/holds/broadcast"
)

// Options configures New. Primary and Fallback are required. The new backend owns them and closes them when it is
// closed.
type Options struct {
	Primary  holds.Backend // a holds.Restorer
	Fallback holds.Backend // a holds.Restorer in this process, empty

	// Booked reports whether a pinned hold whose end was missed during a switch was booked; see package memory.
	Booked func(holds.Hold) bool

	// WatchQueue is the number of events that a watcher can fall behind; 0 means 65,536.
	WatchQueue int

	// Probe is the time limit for the primary's response to a ping; 0 means 250 ms.
	Probe time.Duration

	// Logger logs every switch; nil disables logging.
	Logger *slog.Logger
}

const (
	pingEvery  = time.Second             // while the primary serves
	restTime   = 1250 * time.Millisecond // of the primary, before the next ping
	probeEvery = 250 * time.Millisecond  // while it does not serve
	probeTime  = 250 * time.Millisecond  // for the response to a ping, unless Options.Probe is set
	probesGood = 2                       // in a row, before the primary serves again
	hearEvery  = 100 * time.Millisecond  // while the fallback's event stream is interrupted
	carryTime  = 10 * time.Second        // to copy everything back to the primary
)

// errEvents is the reason for a switch after the primary's event stream broke off: the ledger cannot tell which events
// are missing.
var errEvents = errors.New("events of the primary interrupted")

// Backend combines a primary and its fallback. The zero value is not usable; see New.
type Backend struct {
	primary, fallback holds.Backend
	booked            func(holds.Hold) bool
	probe             time.Duration
	logger            *slog.Logger
	log               *broadcast.Log
	ledger            ledger

	// mu is held for reading while the fallback serves a call, and for writing during a switch. No code calls the
	// primary while holding it.
	mu         sync.RWMutex
	onFallback bool
	term       uint64             // counts the switches
	endTerm    context.CancelFunc // ends the goroutine that relays the events of the serving backend
	closed     bool

	switched chan struct{} // signals keep
	done     context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup
}

var _ holds.Backend = (*Backend)(nil)

// New starts a backend. If the primary is not usable at that time, the fallback serves first.
func New(ctx context.Context, o Options) *Backend {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Probe <= 0 {
		o.Probe = probeTime
	}
	b := &Backend{
		primary: o.Primary, fallback: o.Fallback, booked: o.Booked, probe: o.Probe, logger: o.Logger,
		log: broadcast.New(o.WatchQueue), switched: make(chan struct{}, 1), onFallback: true,
	}
	b.done, b.stop = context.WithCancel(context.Background())
	b.ledger.open(b)
	b.mu.Lock()
	b.takeOver()
	b.mu.Unlock()
	err := b.primary.Ping(ctx)
	if err == nil {
		err = b.comeBack(ctx)
	}
	if err != nil {
		b.logger.Warn("live state moved to the fallback: primary unusable", "error", err)
	}
	b.running.Go(b.keep)
	return b
}

// Alone reports whether this process serves from its own memory. Presence then contains only the data that reached this
// process.
func (b *Backend) Alone() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.onFallback
}

// Mode returns the primary's mode, or "fallback" while the fallback serves.
func (b *Backend) Mode() string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.onFallback {
		return "fallback"
	}
	return b.primary.Mode()
}

// Ping returns nil if the serving backend can be used.
func (b *Backend) Ping(ctx context.Context) error {
	return b.do(ctx, func(live holds.Backend, _ where) error { return live.Ping(ctx) }, nil)
}

// Stats implements holds.Backend. Watches counts the watches of this process.
func (b *Backend) Stats(ctx context.Context) (s holds.Stats, err error) {
	err = b.do(ctx, func(live holds.Backend, _ where) (err error) { s, err = live.Stats(ctx); return err }, nil)
	s.Watches = b.log.Watching()
	return s, err
}

// Server implements holds.Served with the primary's server. It returns holds.ErrUnavailable while the fallback
// serves.
func (b *Backend) Server(ctx context.Context) (holds.Server, error) {
	b.mu.RLock()
	away := b.onFallback
	b.mu.RUnlock()
	if of, ok := b.primary.(holds.Served); ok && !away {
		return of.Server(ctx)
	}
	return holds.Server{}, holds.ErrUnavailable
}

// Close implements holds.Backend. It also closes the primary and the fallback.
func (b *Backend) Close() error {
	b.mu.Lock()
	first := !b.closed
	b.closed = true
	b.mu.Unlock()
	if !first {
		return nil
	}
	b.log.Close()
	b.stop()
	b.endTerm()
	err := errors.Join(b.primary.Close(), b.fallback.Close())
	b.running.Wait()
	return err
}

// do runs a call on the serving backend and, if the call succeeds, calls note. If the primary serves and is
// unavailable, do switches and runs the call on the fallback. It does the same if this process switched to the fallback
// while the primary was running the call.
func (b *Backend) do(ctx context.Context, call func(live holds.Backend, at where) error, note func(at where)) error {
	for {
		b.mu.RLock()
		if b.closed {
			b.mu.RUnlock()
			return holds.ErrClosed
		}
		term := b.term
		if b.onFallback {
			defer b.mu.RUnlock()
			err := call(b.fallback, inFallback)
			if err == nil && note != nil {
				note(inFallback)
			}
			return err
		}
		b.mu.RUnlock()
		err := call(b.primary, inPrimary)
		if errors.Is(err, holds.ErrUnavailable) {
			if ctx.Err() != nil { // the caller gave up; that does not indicate an outage of the primary
				return err
			}
			b.giveUp(term, err)
			continue
		}
		b.mu.RLock()
		same := b.term == term
		if same && err == nil && note != nil {
			note(inPrimary)
		}
		if same = same || b.closed; same {
			b.mu.RUnlock()
			return err
		}
		b.mu.RUnlock()
	}
}

// giveUp switches to the fallback, unless the term is already over.
func (b *Backend) giveUp(term uint64, why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.term != term || b.onFallback || b.closed {
		return
	}
	b.endTerm()
	b.onFallback = true
	b.takeOver()
	b.logger.Warn("live state moved to the fallback", "error", why)
	select {
	case b.switched <- struct{}{}:
	default:
	}
}

// takeOver fills the fallback and follows its events. The caller holds the lock for writing.
func (b *Backend) takeOver() {
	b.term++
	ctx, end := context.WithCancel(b.done)
	b.endTerm = end
	// Watch before filling the fallback: the ledger already contains what the events from that step will report.
	w, err := b.fallback.Watch(ctx)
	if err != nil {
		b.logger.Error("not yet receiving events from the fallback", "error", err)
	}
	b.ledger.toFallback(ctx)
	term := b.term
	b.running.Go(func() {
		for ctx.Err() == nil {
			if w != nil {
				b.relay(ctx, w, inFallback, term)
			}
			w = b.hearAgain(ctx, term)
		}
	})
}

// hearAgain watches the fallback again after its event stream broke off, and repairs the ledger. It returns nil if the
// watch fails or ctx is done.
func (b *Backend) hearAgain(ctx context.Context, term uint64) holds.Watch {
	pause := time.NewTimer(hearEvery)
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-pause.C:
	}
	w, err := b.fallback.Watch(ctx)
	if err != nil {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.term == term {
		b.ledger.place(ctx)
	}
	return w
}

// relay passes the events of the serving backend to this process's watchers until the term ends.
func (b *Backend) relay(ctx context.Context, w holds.Watch, at where, term uint64) {
	defer w.Close()
	var events []holds.Event
	for {
		var err error
		if events, err = w.Next(ctx, events); err != nil {
			if ctx.Err() == nil && at == inPrimary {
				b.giveUp(term, errEvents) // an event was missed; comeBack finds out which
			}
			return
		}
		b.mu.RLock()
		if b.term == term {
			for i := range events {
				b.ledger.hear(&events[i], at)
			}
		}
		b.mu.RUnlock()
	}
}

// keep pings the primary and switches. It runs until Close.
func (b *Backend) keep() {
	good := 0
	timer := time.NewTimer(probeEvery)
	defer timer.Stop()
	for {
		select {
		case <-b.done.Done():
			return
		case <-b.switched:
			good = 0
			timer.Reset(restTime)
			continue
		case <-timer.C:
		}
		b.mu.RLock()
		term, away := b.term, b.onFallback
		b.mu.RUnlock()
		ctx, cancel := context.WithTimeout(b.done, b.probe)
		err := b.primary.Ping(ctx)
		cancel()
		switch {
		case err == nil && away:
			if good++; good >= probesGood {
				err = b.comeBack(b.done)
			}
		case err != nil && !away:
			b.giveUp(term, err)
		}
		if err != nil {
			good = 0
		}
		if away && err != nil || away && good < probesGood {
			timer.Reset(probeEvery)
		} else {
			timer.Reset(pingEvery)
		}
	}
}

// comeBack lets the primary serve again, after it has copied the changes of this process to it. The fallback serves
// during the copy, so no call waits for the primary. If a call changed something in the meantime, comeBack copies
// again. On an error the fallback continues to serve.
func (b *Backend) comeBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, carryTime)
	defer cancel()
	for {
		changes := b.ledger.changes.Load()
		if err := b.ledger.copy(ctx); err != nil {
			return err
		}
		w, err := b.primary.Watch(ctx) // after the copy, whose events are not new, and before the state is read
		if err != nil {
			return err
		}
		there, err := b.ledger.read(ctx)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			w.Close()
			return err
		}
		if done, err := b.serveFromPrimary(w, there, changes); done || err != nil {
			return err
		}
		w.Close()
	}
}

// serveFromPrimary switches to the primary, which now has the state and whose events arrive at w. It returns false and
// changes nothing if this process's state has changed since the ledger's change counter had the given value.
func (b *Backend) serveFromPrimary(w holds.Watch, there state, changes uint64) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		w.Close()
		return false, holds.ErrClosed
	case b.ledger.changes.Load() != changes:
		return false, nil
	}
	b.ledger.adopt(there)
	term, end := context.WithCancel(b.done)
	b.endTerm()
	b.term++
	b.onFallback, b.endTerm = false, end
	n := b.term
	b.running.Go(func() { b.relay(term, w, inPrimary, n) })
	b.ledger.drain(b.done)
	b.logger.Info("live state back on the primary")
	return true, nil
}
