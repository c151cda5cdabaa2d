package home

import (
	"fmt"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/redis"
	"holdfast/holds/redis/redistest"
)

// BenchmarkChangeOfHome cuts one of two nodes off from Redis under live holds. It measures the time from the cut to the
// first hold that the node grants from PostgreSQL. It also measures that time with Redis unreachable for all nodes.
func BenchmarkChangeOfHome(b *testing.B) {
	for _, many := range []int{50, 500} {
		for _, gone := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d holds, %d of 2 nodes without Redis", many, gone), func(b *testing.B) {
				url, s := database(b), redistest.Start(b, redistest.Programs(b)[0])
				var nodes []*Backend
				var links []*redistest.Proxy
				for range 2 {
					link := s.Proxy(b)
					n := openWith(b, link.URL(), url, redis.Options{Timeout: 150 * time.Millisecond},
						Options{Rest: time.Millisecond})
					defer n.Close()
					nodes, links = append(nodes, n), append(links, link)
				}
				home := func(mode string) {
					for _, n := range nodes {
						awaitMode(b, n, mode)
					}
				}
				home("redis")
				for i := range many {
					c := wish(fmt.Sprintf("specialist-%d", i),
						holds.ClientID(fmt.Sprintf("a-client-with-number-%d", i)).Owner())
					if _, err := nodes[i%2].Claim(b.Context(), c); err != nil {
						b.Fatal(err)
					}
				}
				var total time.Duration
				for n := 0; b.Loop(); n++ {
					for _, link := range links[:gone] {
						link.Away(true)
					}
					began := time.Now()
					if _, err := nodes[0].Claim(b.Context(), wish(fmt.Sprintf("new-%d", n), amal)); err != nil {
						b.Fatal(err)
					}
					total += time.Since(began)
					home("fallback")
					for _, link := range links[:gone] {
						link.Away(false)
					}
					home("redis")
				}
				b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms/move")
			})
		}
	}
}
