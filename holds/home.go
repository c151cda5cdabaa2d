package holds

import (
	"context"
	"errors"
	"slices"
	"time"
)

// ErrMoved: the backend is not the home of live state in the epoch of this call. Nothing was done.
var ErrMoved = errors.New("live state has moved")

// Decision says where the live state of all nodes is. Every change of home is a new epoch, with a higher number.
type Decision struct {
	Epoch uint64
	Home  string // the Mode of its backend: "redis" or "postgres"
	Open  bool   // the state is there, and the home accepts changes
	// Before and Source say under which epoch, and in which home, the state was last open, while Open is false.
	Before uint64
	Source string
}

// Member is one node, as the others know it.
type Member struct {
	Node    string
	Beat    int64  // counts the renewals of its lease
	Left    uint64 // it makes no change under an epoch before this one
	Reaches bool   // it can use Redis
}

// Decisions is where the nodes decide on the home of live state together: one row in their database, and one for each of them.
// Each call is one atomic step. ErrUnavailable: nothing is known of its outcome.
type Decisions interface {
	// Lease renews the lease of a node, with what it says of itself, and returns the decision. fresh: no lease of it was known.
	Lease(ctx context.Context, m Member) (d Decision, fresh bool, err error)

	// Move decides on a new home, closed until its state is there, unless from is not the present epoch any more. What has been
	// the home in PostgreSQL refuses every change once Move has returned. The new epoch is later than from and above. It returns the
	// decision that applies now.
	Move(ctx context.Context, from, above uint64, home string) (Decision, error)

	// Open opens a home whose state is there. An epoch that is not the present one stays as it is.
	Open(ctx context.Context, epoch uint64) (Decision, error)

	// Members lists the nodes. Forget removes one that has not renewed its lease since that beat.
	Members(ctx context.Context) ([]Member, error)
	Forget(ctx context.Context, node string, beat int64) error

	// Decided receives a value after a decision, also one of another node. It may miss some and receive too many.
	Decided() <-chan struct{}
}

// Snapshot is all live state at one instant.
type Snapshot struct {
	At         time.Time // on the clock of the server that has it
	Asked      time.Time // on this process's clock, when it was asked for: no hold lasts longer for the way of the answer
	Holds      []Remains
	Selections []Selection
	Present    []Present // everyone known; here a Present may be Online and Deactivated
}

// Local returns the snapshot with the instants of this process's clock.
func (s Snapshot) Local() Snapshot {
	by := s.Asked.Sub(s.At)
	moved := func(t time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		return t.Add(by)
	}
	to := Snapshot{At: s.Asked, Asked: s.Asked, Holds: slices.Clone(s.Holds), Selections: slices.Clone(s.Selections), Present: slices.Clone(s.Present)}
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

// Origin says where the snapshot that fills a home comes from.
type Origin int

const (
	// Sealed is all there was, read when the home before accepted no change any more. It replaces what is there.
	Sealed Origin = iota
	// Remembered is what one node knows of a home that cannot be read. It adds to what other nodes remember, and is refused with
	// ErrMoved once a sealed snapshot was there.
	Remembered
)

// Homely is a Backend that can be the home of live state for several nodes.
type Homely interface {
	Backend

	// Whole reports whether the home has all that it was given since it was opened for this epoch. A server that was restarted,
	// emptied or replaced by its replica does not.
	Whole(ctx context.Context, epoch uint64) (bool, error)

	// Enter has every later change of this process made under an epoch. A change answers ErrMoved unless the home is open under
	// exactly that epoch, and whole. Before the first Enter there is no such check.
	Enter(epoch uint64)

	// Snapshot returns all live state.
	Snapshot(ctx context.Context) (Snapshot, error)

	// Fill brings a snapshot to the home of a new epoch that is not open yet, with the time that each hold and selection has
	// left. It returns for each hold what became of it. ErrMoved: the epoch is over, or open.
	Fill(ctx context.Context, epoch uint64, s Snapshot, from Origin) ([]Restored, error)
}

// Sealer is a home outside the database that decides.
type Sealer interface {
	Homely

	// LatestEpoch returns the latest epoch that this home knows, 0 for none, and whether it accepts changes under it. It is later than
	// the decision of a database that was restored from a backup.
	LatestEpoch(ctx context.Context) (epoch uint64, open bool, err error)

	// Seal has the home refuse every change, of all processes, under the epochs before this one. It reports whether all is there
	// that was there under the epoch before. ErrMoved: the epoch is over.
	Seal(ctx context.Context, before, epoch uint64) (whole bool, err error)
}
