package failover

import (
	"context"
	"errors"
	"testing"

	"holdfast/holds"
)

// What a primary did for a process that gave it up in the meantime.

// doubtful is a primary that does what it is asked, and something happens before it answers.
type doubtful struct {
	*flaky
	asked    func() // a claim has arrived
	released func() // a release is done
	err      error  // the answer to a release, if not what became of it
}

func (d *doubtful) Claim(ctx context.Context, c holds.Claim) (holds.Hold, error) {
	if d.asked != nil {
		d.asked()
	}
	return d.flaky.Backend.Claim(ctx, c)
}

func (d *doubtful) Release(ctx context.Context, id string, o holds.Owner, r holds.Reason) (bool, error) {
	ok, err := d.flaky.Release(ctx, id, o, r)
	if d.released != nil {
		d.released()
	}
	return ok, errors.Join(err, d.err)
}

func openDoubtful(t *testing.T) (*Backend, *doubtful) {
	t.Helper()
	primary := &doubtful{flaky: newFlaky(nil)}
	b := openShared(t, primary, database(t), nil)
	t.Cleanup(func() { _ = b.Close() })
	mode(t, b, primary.Mode())
	return b, primary
}

// TestAReleaseThatIsDoneIsDone although its answer came too late, or not at all, and the fallback has never had the hold.
func TestAReleaseThatIsDoneIsDone(t *testing.T) {
	for name, answer := range map[string]error{"late": nil, "lost": holds.ErrUnavailable} {
		t.Run(name, func(t *testing.T) {
			b, primary := openDoubtful(t)
			w := watch(t, b)
			h := claim(t, b, wish("ada", amal))
			w.next(holds.EventHold)
			primary.err = answer
			primary.released = func() {
				w.next(holds.EventRelease)
				b.mu.RLock()
				term := b.term
				b.mu.RUnlock()
				b.giveUp(term, holds.ErrUnavailable)
			}
			if ok, err := b.Release(t.Context(), h.ID, amal, holds.ReasonReleased); !ok || err != nil {
				t.Errorf("releasing it: got %v, %v", ok, err)
			}
			mode(t, b, "fallback")
			if ok, err := b.Release(t.Context(), h.ID, amal, holds.ReasonReleased); ok || err != nil {
				t.Errorf("releasing it again: got %v, %v, want that there is none", ok, err)
			}
		})
	}
}

// TestAClaimThatCameTooLateIsNobodysHold: its client was given another hold, and has let go of it.
func TestAClaimThatCameTooLateIsNobodysHold(t *testing.T) {
	b, primary := openDoubtful(t)
	primary.asked = func() { // and is done, but nobody hears of it
		primary.strike(true)
		mode(t, b, "fallback")
	}
	h := claim(t, b, wish("ada", amal))
	if ok, err := b.Release(t.Context(), h.ID, amal, holds.ReasonReleased); !ok || err != nil {
		t.Fatalf("releasing it: got %v, %v", ok, err)
	}
	if list, err := primary.Backend.List(t.Context()); err != nil || len(list) != 1 || list[0].ID == h.ID {
		t.Fatalf("in the primary: got %+v, %v, want what was claimed first", list, err)
	}
	primary.strike(false)
	mode(t, b, primary.Mode())
	if list, err := b.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("got %+v, %v, want that nothing is held", list, err)
	}
}

// TestAHoldIsNotReplacedByOneThatWasClaimedInVain: a process heard of the claim that another gave up waiting for.
func TestAHoldIsNotReplacedByOneThatWasClaimedInVain(t *testing.T) {
	url := database(t)
	one, two := newFlaky(nil), newFlaky(nil)
	a, b := openShared(t, one, url, nil), openShared(t, two, url, nil)
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	mode(t, b, two.Mode())
	w := watch(t, b)
	one.strike(true)
	mode(t, a, "fallback")
	vain := claim(t, b, wish("ada", amal)) // b hears of it, which has not made it
	w.next(holds.EventHold)
	b.ledger.mu.Lock()
	b.ledger.holds[vain.ID].own = false
	b.ledger.mu.Unlock()
	h := claim(t, a, wish("ada", amal))
	two.strike(true)
	mode(t, b, "fallback")
	for name, node := range map[string]*Backend{"the node that made it": a, "the other": b} {
		if got := claim(t, node, wish("ada", amal)); got.ID != h.ID {
			t.Errorf("%s: got %s, want %s (%s was claimed in vain)", name, got.ID, h.ID, vain.ID)
		}
	}
	if e := w.next(holds.EventRelease); e.HoldID != vain.ID {
		t.Errorf("got the end of %s, want %s", e.HoldID, vain.ID)
	}
	if e := w.next(holds.EventHold); e.HoldID != h.ID {
		t.Errorf("got the beginning of %s, want %s", e.HoldID, h.ID)
	}
	if ok, err := b.Release(t.Context(), h.ID, amal, holds.ReasonReleased); !ok || err != nil {
		t.Errorf("releasing it: got %v, %v", ok, err)
	}
}
