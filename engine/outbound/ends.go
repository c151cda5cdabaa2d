package outbound

import (
	"slices"
	"sync/atomic"

	"holdfast/store"
)

// ends counts how attempts and operations have ended, by kind, since this process started.
type ends [7]struct{ delivered, missed, failed atomic.Uint64 }

// Ends contains the counts for one kind of operation since this process started.
type Ends struct {
	Kind      store.OperationKind
	Delivered uint64 // operations that took effect
	Missed    uint64 // attempts that failed or whose outcome is unknown; most are repeated
	Failed    uint64 // operations that failed permanently
}

// CountEnd counts an attempt that was made and recorded outside a lane.
func (out *Outbound) CountEnd(op *store.Operation, how Ending) { out.ends.count(op, how) }

// count counts how one attempt ended, and how its operation ended if it has ended.
func (e *ends) count(op *store.Operation, how Ending) {
	i := slices.Index(store.Kinds(), op.Kind)
	if i < 0 || i >= len(e) {
		return
	}
	switch how {
	case Delivered:
		e[i].delivered.Add(1)
	case NotNeeded, Deferred:
	default:
		e[i].missed.Add(1)
	}
	if op.Status == store.OperationFailed {
		e[i].failed.Add(1)
	}
}

// Ends returns the counts for every kind. If there is no queue, it returns none.
func (out *Outbound) Ends() []Ends {
	if out.Queue == nil {
		return nil
	}
	list := make([]Ends, 0, len(out.ends))
	for i, kind := range store.Kinds() {
		list = append(list, Ends{kind, out.ends[i].delivered.Load(), out.ends[i].missed.Load(),
			out.ends[i].failed.Load()})
	}
	return list
}
