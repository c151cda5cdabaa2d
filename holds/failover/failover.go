// Package failover is the live state of a single node that uses Redis: a holds.Backend made of two, the primary and a fallback in
// this process that serves while the primary is away. Several nodes need one home for all of them: see package home.
//
// # Which one serves
//
// The primary, until a call fails with holds.ErrUnavailable, its events break off, or it does not answer the ping that it is
// sent every second. The first of these switches, at once and for everybody: the call that failed is answered by the
// fallback, so no caller waits longer than one call of the primary may take. The fallback serves for a second and a quarter
// at least, so that whoever looks at Mode once a second notices; then the primary is asked four times a second, and serves
// again when it has answered twice in a row.
//
// # What is carried over
//
// A ledger has every hold and selection that this process knows of: those that were made here, by the answers of the calls,
// and those of other processes, by their events. When the fallback takes over, what is live in the ledger goes there with the
// time that it has left. When the primary is back, what was made or changed here goes up the same way, and what ended here
// ends there. A hold that somebody else took there meanwhile is lost: its owner is told (displaced). Of other processes'
// holds each process carries its own. What a claim made in the primary without being answered ends there too, since its client was
// given another hold; unless somebody has renewed it since.
//
// Presence is always kept in this process as well, and served from there while the primary is away: a node then knows its
// own heartbeats only. Both backends receive the booked time, whichever serves.
//
// A hold keeps the id that its owner was told, whichever backend has it under which id.
//
// # What watchers see
//
// One stream, numbered here, that a switch does not break: what the next backend would tell again is left out, and what
// was missed is told.
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

// Options of New. Primary and Fallback are required, belong to the backend from then on, and are closed with it.
type Options struct {
	Primary  holds.Backend // a holds.Restorer
	Fallback holds.Backend // a holds.Restorer in this process, empty

	// Booked answers for pinned holds whose end was missed in a switch, as in package memory.
	Booked func(holds.Hold) bool

	// WatchQueue is how many events a watcher can fall behind; 0 means 65,536.
	WatchQueue int

	// Probe is how long the primary has to answer when it is asked whether it is there; 0 means 250 ms.
	Probe time.Duration

	// Logger is told of every switch; nil means nobody.
	Logger *slog.Logger
}

const (
	pingEvery  = time.Second             // while the primary serves
	restTime   = 1250 * time.Millisecond // of the primary, before it is asked again
	probeEvery = 250 * time.Millisecond  // while it does not serve
	probeTime  = 250 * time.Millisecond  // for the answer to either, where Options.Probe says nothing else
	probesGood = 2                       // in a row, before the primary serves again
	hearEvery  = 100 * time.Millisecond  // while the events of the fallback are not heard
	carryTime  = 10 * time.Second        // to bring everything back to the primary
)

// errEvents is why the primary is given up where its events break off: which of them are missing is not known.
var errEvents = errors.New("events of the primary interrupted")

// Backend is a primary and its fallback. The zero value is not usable; see New.
type Backend struct {
	primary, fallback holds.Backend
	booked            func(holds.Hold) bool
	probe             time.Duration
	logger            *slog.Logger
	log               *broadcast.Log
	ledger            ledger

	mu         sync.RWMutex // held for reading while the fallback serves a call, for writing during a switch
	onFallback bool
	term       uint64             // counts the switches
	endTerm    context.CancelFunc // ends what relays the events of the serving backend
	closed     bool

	switched chan struct{} // tells the keeper
	done     context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup
}

var _ holds.Backend = (*Backend)(nil)

// New starts a backend. If the primary cannot be used now the fallback serves first.
func New(ctx context.Context, o Options) *Backend {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Probe <= 0 {
		o.Probe = probeTime
	}
	b := &Backend{
		primary: o.Primary, fallback: o.Fallback, booked: o.Booked, probe: o.Probe, logger: o.Logger, log: broadcast.New(o.WatchQueue),
		switched: make(chan struct{}, 1), onFallback: true,
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

// Alone reports whether this process serves from its own memory, where presence is only what reached this process.
func (b *Backend) Alone() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.onFallback
}

// Mode is the primary's, or "fallback" while that one serves.
func (b *Backend) Mode() string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.onFallback {
		return "fallback"
	}
	return b.primary.Mode()
}

// Ping answers nil if whichever serves can be used.
func (b *Backend) Ping(ctx context.Context) error {
	return b.do(ctx, func(live holds.Backend, _ where) error { return live.Ping(ctx) }, nil)
}

// Stats implements holds.Backend. Watches are this process's.
func (b *Backend) Stats(ctx context.Context) (s holds.Stats, err error) {
	err = b.do(ctx, func(live holds.Backend, _ where) (err error) { s, err = live.Stats(ctx); return err }, nil)
	s.Watches = b.log.Watching()
	return s, err
}

// Server implements holds.Served with the primary's. holds.ErrUnavailable while the fallback serves.
func (b *Backend) Server(ctx context.Context) (holds.Server, error) {
	b.mu.RLock()
	away := b.onFallback
	b.mu.RUnlock()
	if of, ok := b.primary.(holds.Served); ok && !away {
		return of.Server(ctx)
	}
	return holds.Server{}, holds.ErrUnavailable
}

// Close implements holds.Backend. It closes all that the backend is made of.
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

// do lets the serving backend do something, and on success notes it. If it is the primary and not there, the fallback
// does it; also if the primary did it for a process that has given it up meanwhile.
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
			if ctx.Err() != nil { // the caller has given up; that says nothing about the primary
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

// giveUp switches to the fallback, unless the term is over already.
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

// takeOver fills the fallback and follows its events. The lock is held for writing.
func (b *Backend) takeOver() {
	b.term++
	ctx, end := context.WithCancel(b.done)
	b.endTerm = end
	w, err := b.fallback.Watch(ctx) // before anything is put there: what it tells of that, the ledger knows
	if err != nil {
		b.logger.Error("events of the fallback not received yet", "error", err)
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

// hearAgain follows the events of the fallback anew after they broke off, and puts right what was missed. Nil: not yet.
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

// relay tells this process's watchers what the serving backend tells, until the term ends.
func (b *Backend) relay(ctx context.Context, w holds.Watch, at where, term uint64) {
	defer w.Close()
	var events []holds.Event
	for {
		var err error
		if events, err = w.Next(ctx, events); err != nil {
			if ctx.Err() == nil && at == inPrimary {
				b.giveUp(term, errEvents) // something was missed; coming back finds out what
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

// keep asks whether the primary is there, and switches. It runs until Close.
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

// comeBack lets the primary serve again, with everything that became of its holds here. On an error the fallback goes on.
func (b *Backend) comeBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, carryTime)
	defer cancel()
	// Most of it goes up while the fallback serves; the rest, which changed meanwhile, while nobody is served.
	if err := b.ledger.toPrimary(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return holds.ErrClosed
	}
	term, end := context.WithCancel(b.done)
	w, err := b.primary.Watch(ctx) // before it is listed: nothing falls between
	if err == nil {
		if err = b.ledger.back(ctx); err != nil {
			w.Close()
		}
	}
	if err != nil {
		end()
		return err
	}
	b.endTerm()
	b.term++
	b.onFallback, b.endTerm = false, end
	n := b.term
	b.running.Go(func() { b.relay(term, w, inPrimary, n) })
	b.ledger.drain(ctx)
	b.logger.Info("live state back on the primary")
	return nil
}
