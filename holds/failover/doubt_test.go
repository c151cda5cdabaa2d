package failover

import (
	"context"
	"errors"
	"testing"

	"holdfast/holds"
)

// These tests cover the effects in the primary of calls that a process has since abandoned.

// doubtful is a primary that executes each call, but something happens before it responds.
type doubtful struct {
	*flaky
	asked    func() // a claim has arrived
	released func() // a release has been executed
	err      error  // the response to a release, if not its effect
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
	b := open(t, primary, nil)
	t.Cleanup(func() { _ = b.Close() })
	mode(t, b, primary.Mode())
	return b, primary
}

// TestReleaseIsFinal: a release is final even if its response was late or lost, and even if the fallback never had the
// hold.
func TestReleaseIsFinal(t *testing.T) {
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
				t.Errorf("releasing it again: got %v, %v, want false", ok, err)
			}
		})
	}
}

// TestLateClaimIsReleased: if the claim's client has since received and released another hold, the primary's hold is
// released too.
func TestLateClaimIsReleased(t *testing.T) {
	b, primary := openDoubtful(t)
	primary.asked = func() { // and is executed, but the response is lost
		primary.strike(true)
		mode(t, b, "fallback")
	}
	h := claim(t, b, wish("ada", amal))
	if ok, err := b.Release(t.Context(), h.ID, amal, holds.ReasonReleased); !ok || err != nil {
		t.Fatalf("releasing it: got %v, %v", ok, err)
	}
	if list, err := primary.Backend.List(t.Context()); err != nil || len(list) != 1 || list[0].ID == h.ID {
		t.Fatalf("in the primary: got %+v, %v, want the first claim", list, err)
	}
	primary.strike(false)
	mode(t, b, primary.Mode())
	if list, err := b.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("got %+v, %v, want no hold", list, err)
	}
}
