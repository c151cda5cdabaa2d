package memory

import (
	"errors"
	"fmt"
	"testing"

	"holdfast/holds"
)

func TestQuotaIsPerClientAmongThousands(t *testing.T) {
	b := New(Options{})
	const n = 5000 // enough for some chains to grow, and to be long before they do
	claim := func(i, slot int) (holds.Hold, error) {
		c := wish(fmt.Sprintf("specialist-%d", i%50), i/50*2+slot, name(i))
		c.Quota = 1
		return b.Claim(ctx, c)
	}
	var ids []string
	for i := range n {
		h, err := claim(i, 0)
		if err != nil {
			t.Fatalf("client %d: got %v, want a hold", i, err)
		}
		ids = append(ids, h.ID)
	}
	for i := range n {
		if _, err := claim(i, 1); !errors.Is(err, holds.ErrQuota) {
			t.Fatalf("client %d, again: got %v, want ErrQuota", i, err)
		}
		if i%2 == 0 {
			continue
		}
		if ok, err := b.Release(ctx, ids[i], name(i), holds.ReasonReleased); !ok || err != nil {
			t.Fatalf("client %d: got released %v, %v, want true", i, ok, err)
		}
		if _, err := claim(i, 1); err != nil {
			t.Fatalf("client %d, after a release: got %v, want a hold", i, err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, b)
}
