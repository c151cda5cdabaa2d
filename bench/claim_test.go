package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/holds"
	"holdfast/holds/memory"
)

// BenchmarkClaim takes holds from 32 goroutines in process, and the same from a redis-server beside it: SET NX with a
// time to live, SADD, PEXPIRE and PUBLISH in one pipeline, turn by turn.
func BenchmarkClaim(b *testing.B) {
	client := redisServer(b)
	live := memory.New(memory.Options{})
	b.Cleanup(func() {
		if err := live.Close(); err != nil {
			b.Error(err)
		}
	})
	ctx := context.Background()
	day := time.Now().UTC().Truncate(24 * time.Hour).Add(48 * time.Hour)
	var used atomic.Int64
	for b.Loop() {
		var ours, theirs time.Duration
		const redisCalls, ourCalls = 20_000, 200_000
		for range 3 {
			theirs += together(32, redisCalls, func(int) {
				n := used.Add(1)
				key := fmt.Sprintf("hold:checkup:%d:s%02d", n, n%specialists)
				_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
					p.SetNX(ctx, key, "client", 30*time.Second)
					p.SAdd(ctx, "specialist:holds", key)
					p.PExpire(ctx, "specialist:holds", 30*time.Second)
					p.Publish(ctx, "holds:events:checkup", key)
					return nil
				})
				if err != nil {
					b.Error(err)
				}
			})
			began := time.Now()
			first := used.Add(ourCalls) - ourCalls
			together(32, 32, func(g int) {
				for i := range int64(ourCalls / 32) {
					n := first + int64(g)*(ourCalls/32) + i
					start := day.Add(time.Duration(n/int64(len(names))) * time.Minute)
					_, err := live.Claim(ctx, holds.Claim{
						Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: names[n%int64(len(names))], SlotStart: start, SlotEnd: start.Add(time.Minute),
							BusyStart: start, BusyEnd: start.Add(time.Minute)},
						Client: clients[n%int64(len(clients))], Seats: seatZero, TTL: time.Second, MaxLife: 15 * time.Minute,
					})
					if err != nil {
						b.Error(err)
					}
				}
			})
			ours += time.Since(began)
		}
		perOurs, perTheirs := ours.Seconds()/(3*ourCalls), theirs.Seconds()/(3*redisCalls)
		b.ReportMetric(1/perOurs, "holdfast/s")
		b.ReportMetric(1/perTheirs, "redis/s")
		b.ReportMetric(perTheirs/perOurs, "ratio")
		b.ReportMetric(0, "ns/op")
	}
}

var (
	seatZero = []int{0}
	names    = func() (list [2000]string) {
		for i := range list {
			list[i] = fmt.Sprintf("s%04d", i)
		}
		return list
	}()
	clients = func() (list [200_000]holds.ClientID) {
		for i := range list {
			list[i] = holds.ClientID(fmt.Sprintf("client-%016d", i))
		}
		return list
	}()
)
