package holds

import (
	"context"
	"errors"
	"slices"
	"time"
)

// ErrMoved means that, in the epoch of this call, live state is not stored in this backend. The call changed nothing.
var ErrMoved = errors.New("live state has moved")

// Decision records where the live state of all nodes is stored. That backend is called the home. Every change of home
// starts a new epoch, with a higher number.
type Decision struct {
	Epoch uint64
	Home  string // the Mode of its backend: "redis" or "postgres"
	Open  bool   // the state is there, and the home accepts changes
	// Before and Source are set while Open is false. They are the previous open epoch and its home.
	Before uint64
	Source string
}

// Member is one node as the other nodes see it.
type Member struct {
	Node    string
	Beat    int64  // counts the renewals of its lease
	Left    uint64 // it makes no more changes under epochs before this one
	Reaches bool   // it can use Redis
}

// Decisions stores the nodes' joint decision about where the live state is stored: one row in their database, and one
// row per node. Each call is one atomic step. It returns ErrUnavailable if the call's outcome is unknown.
type Decisions interface {
	// Lease renews the lease of a node, stores what the node reports about itself, and returns the decision. fresh
	// reports that the node had no lease before.
	Lease(ctx context.Context, m Member) (d Decision, fresh bool, err error)

	// Move decides on a new home, which is closed until it has the state. It has no effect if from is no longer the
	// current epoch. If PostgreSQL was the home, PostgreSQL refuses every change once Move has returned. The new epoch
	// is higher than both from and above. Move returns the decision that applies now.
	Move(ctx context.Context, from, above uint64, home string) (Decision, error)

	// Open opens a home once it has the state. It has no effect unless epoch is the current epoch.
	Open(ctx context.Context, epoch uint64) (Decision, error)

	// Members lists the nodes. Forget removes a node that has not renewed its lease since that beat.
	Members(ctx context.Context) ([]Member, error)
	Forget(ctx context.Context, node string, beat int64) error

	// Decided receives a value after a decision of any node. It can miss decisions, and it can receive a value without
	// one.
	Decided() <-chan struct{}
}

// Snapshot is all live state at one instant.
type Snapshot struct {
	At time.Time // by the clock of the server that stores the state
	// by this process's clock, before the request was sent, so that a slow response does not extend a hold
	Asked      time.Time
	Holds      []Remains
	Selections []Selection
	Present    []Present // all known specialists; here a Present may be Online and Deactivated
}

// Local returns the snapshot with its instants converted to this process's clock.
func (s Snapshot) Local() Snapshot {
	by := s.Asked.Sub(s.At)
	moved := func(t time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		return t.Add(by)
	}
	to := Snapshot{At: s.Asked, Asked: s.Asked, Holds: slices.Clone(s.Holds), Selections: slices.Clone(s.Selections),
		Present: slices.Clone(s.Present)}
	for i := range to.Holds {
		h := &to.Holds[i]
		h.ExpiresAt, h.MaxExpiresAt, h.LapsesAt = moved(h.ExpiresAt), moved(h.MaxExpiresAt), moved(h.LapsesAt)
	}
	for i := range to.Selections {
		to.Selections[i].ExpiresAt = moved(to.Selections[i].ExpiresAt)
	}
	for i := range to.Present {
		to.Present[i].HeartbeatAt = moved(to.Present[i].HeartbeatAt)
	}
	return to
}

// Origin is the source of the snapshot that fills a home.
type Origin int

const (
	// Sealed is the complete state, read after the previous home stopped accepting changes. It replaces the contents of
	// the new home.
	Sealed Origin = iota
	// Remembered is the state that one node remembers of a home that cannot be read. It is added to what other nodes
	// remember; for each specialist, the latest heartbeat counts. Once the home has a sealed snapshot, it refuses a
	// remembered one with ErrMoved.
	Remembered
)

// Homely is a Backend in which several nodes can store their live state.
type Homely interface {
	Backend

	// Whole reports whether the home still has everything that it has received since it was opened for this
	// epoch. It returns false for a server that was restarted, emptied or replaced by its replica.
	Whole(ctx context.Context, epoch uint64) (bool, error)

	// Enter makes this process perform every later change under an epoch. A change returns ErrMoved unless the home is
	// open under exactly that epoch, and whole. Before the first Enter there is no such check.
	Enter(epoch uint64)

	// Snapshot returns all live state.
	Snapshot(ctx context.Context) (Snapshot, error)

	// Fill copies a snapshot to the home of a new epoch that is not open yet. Each hold and selection keeps its
	// remaining time. Fill returns the outcome for each hold. It returns ErrMoved if the epoch is over, or already
	// open.
	Fill(ctx context.Context, epoch uint64, s Snapshot, from Origin) ([]Restored, error)
}

// Sealer is a home outside the database in which the nodes make their decisions.
type Sealer interface {
	Homely

	// LatestEpoch returns the latest epoch that this home has recorded, or 0 if there is none, and whether it accepts
	// changes under that epoch. After the database has been restored from a backup, this epoch is later than the
	// decision in the database.
	LatestEpoch(ctx context.Context) (epoch uint64, open bool, err error)

	// Seal makes the home refuse every change, from any process, under an epoch before this one. It reports whether the
	// home still has everything that it received under the previous epoch. It returns ErrMoved if the epoch is over.
	Seal(ctx context.Context, before, epoch uint64) (whole bool, err error)
}
