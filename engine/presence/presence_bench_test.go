package presence_test

import (
	"fmt"
	"testing"

	"holdfast/engine/enginetest"
)

// BenchmarkAvailable measures listing the specialists who can take a session now, out of many who are online. The
// target is at most 1 ms for 10,000.
func BenchmarkAvailable(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := enginetest.NewClinic(b, map[string]int{"ada": 1})
			for i := range n {
				if _, err := c.Holds.Online(b.Context(), fmt.Sprintf("s%05d", i), 3); err != nil {
					b.Fatal(err)
				}
				if _, err := c.Holds.Load(b.Context(), fmt.Sprintf("s%05d", i), i%4); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				list, err := c.Presence.Available(b.Context(), 0)
				if err != nil || len(list) != n*3/4 {
					b.Fatalf("got %d of %d, %v", len(list), n, err)
				}
			}
		})
	}
}
