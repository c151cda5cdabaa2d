package holdstest

import (
	"errors"
	"fmt"
	"testing"

	"holdfast/holds"
)

// quota tests the maximum number of holds per client.
func (h Harness) quota(t *testing.T) {
	h.prove(t, "concurrent claims of one client never exceed the quota", func(p *proof) {
		for range 50 {
			var won []holds.Hold
			p.race(64, func(i int) func() {
				wish := p.wish(fmt.Sprintf("specialist-%d", i), "09:00", amal)
				wish.Quota = 3
				got, err := p.Claim(p.ctx, wish)
				return func() {
					if err == nil {
						won = append(won, got)
					} else if !errors.Is(err, holds.ErrQuota) {
						p.Errorf("got %v, want a hold or ErrQuota", err)
					}
				}
			})
			if len(won) != 3 {
				p.Fatalf("got %d holds, want 3", len(won))
			}
			for _, got := range won {
				p.released(got)
			}
		}
	})
	h.prove(t, "a released, confirmed, displaced or expired hold no longer counts against the quota", func(p *proof) {
		p.brief()
		wish := func(specialist string) holds.Claim {
			c := p.wish(specialist, "09:00", amal)
			c.Quota = 1
			return c
		}
		full := func(now string) {
			p.Helper()
			_, err := p.Claim(p.ctx, wish("zoe"))
			if !errors.Is(err, holds.ErrQuota) {
				p.Errorf("%s: got %v, want ErrQuota", now, err)
			}
		}
		got := p.claim(wish("ada"))
		full("one held")
		p.released(got)
		got = p.claim(wish("bob"))
		full("after a release")
		if ok, err := p.Confirm(p.ctx, got.ID, amal); !ok || err != nil {
			p.Errorf("confirm: got %v, %v", ok, err)
		}
		p.claim(wish("cora"))
		full("after a confirmation")
		staff := p.wish("cora", "09:00", bela)
		staff.Displace = true
		p.claim(staff)
		p.claim(wish("dan"))
		full("after a displacement")
		p.pass(p.seconds(10))
		p.claim(wish("eve"))
		full("after a lapse")
	})
	h.prove(t, "a repeat counts once and succeeds at the limit", func(p *proof) {
		wish := p.wish("ada", "09:00", amal)
		wish.Quota = 1
		if first, again := p.claim(wish), p.claim(wish); first.ID != again.ID {
			p.Errorf("got %s, want %s", again.ID, first.ID)
		}
	})
	h.prove(t, "a conflict is reported before the quota", func(p *proof) {
		p.claim(p.wish("ada", "09:00", amal))
		p.claim(p.wish("bob", "09:00", bela))
		wish := p.wish("bob", "09:00", amal)
		wish.Quota = 1
		p.refused(wish)
	})
}
