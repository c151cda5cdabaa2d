package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/holds"
	"holdfast/holds/memory"
)

// BenchmarkClaim claims holds from 32 goroutines in this process, and compares the speed with that of a local
// redis-server. In Redis, a claim is SET NX with a time to live, followed for each winner by SADD, PEXPIRE and PUBLISH
// in one pipeline. The two take turns. A turn begins without holds and makes a hundred claims for each of 200
// specialists.
func BenchmarkClaim(b *testing.B) {
	client := redisServer(b)
	live := memory.New(memory.Options{})
	b.Cleanup(func() {
		if err := live.Close(); err != nil {
			b.Error(err)
		}
	})
	ctx := context.Background()
	claims, keys := wishes()
	for b.Loop() {
		var ours, theirs time.Duration
		for range turns {
			theirs += together(callers, len(claims), func(i int) {
				took, err := client.SetNX(ctx, keys[i], "client", claims[i].TTL).Result()
				if err == nil && took {
					_, err = client.Pipelined(ctx, func(p redis.Pipeliner) error {
						p.SAdd(ctx, "client:holds", keys[i])
						p.PExpire(ctx, "client:holds", claims[i].TTL)
						p.Publish(ctx, "holds:events:checkup", keys[i])
						return nil
					})
				}
				if err != nil || !took {
					b.Error(took, err)
				}
			})
			if err := client.FlushDB(ctx).Err(); err != nil {
				b.Fatal(err)
			}
			taken := make([]holds.Hold, len(claims))
			ours += together(callers, callers, func(g int) {
				for i := g; i < len(claims); i += callers {
					h, err := live.Claim(ctx, claims[i])
					if err != nil {
						b.Error(err)
					}
					taken[i] = h
				}
			})
			for _, h := range taken {
				if ok, err := live.Release(ctx, h.ID, h.Owner, holds.ReasonReleased); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		}
		n := float64(turns * len(claims))
		b.ReportMetric(n/ours.Seconds(), "holdfast/s")
		b.ReportMetric(n/theirs.Seconds(), "redis/s")
		b.ReportMetric(theirs.Seconds()/ours.Seconds(), "ratio")
		b.ReportMetric(0, "ns/op")
	}
}

const callers, turns = 32, 5

// wishes returns the claims of a turn, back to back in each specialist's day, and their keys in Redis.
func wishes() (claims []holds.Claim, keys []string) {
	const specialists, each = 200, 100
	day := time.Now().UTC().Truncate(24 * time.Hour).Add(48 * time.Hour)
	for n := range each {
		start := day.Add(time.Duration(n) * 15 * time.Minute)
		end := start.Add(15 * time.Minute)
		for s := range specialists {
			id := fmt.Sprintf("s%03d", s)
			keys = append(keys, fmt.Sprintf("hold:checkup:%d:%s", start.Unix(), id))
			claims = append(claims, holds.Claim{
				Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: id, SlotStart: start, SlotEnd: end,
					BusyStart: start, BusyEnd: end},
				Owner: holds.ClientID(fmt.Sprintf("client-%016d", len(claims))).Owner(), Seats: []int{0},
				TTL: 30 * time.Second, MaxLife: 15 * time.Minute,
			})
		}
	}
	return claims, keys
}
