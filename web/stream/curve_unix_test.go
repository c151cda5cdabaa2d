//go:build unix

package stream

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"
)

var mostSubscribers = flag.Int("subscribers", 100,
	"how many subscribers BenchmarkCurveOfSubscribers goes up to: 100, 1000, 3000, 9000, 20000")

// BenchmarkCurveOfSubscribers publishes a hundred events a second to an increasing number of subscribers of one type.
// It reports how late the events arrive, the processor time per event and subscriber, including the clients, and the
// memory of one more open stream. Both ends of each connection are open files of this process.
func BenchmarkCurveOfSubscribers(b *testing.B) {
	for _, n := range []int{100, 1000, 3000, 9000, 20_000} {
		if n > max(*mostSubscribers, 100) {
			break
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var files syscall.Rlimit
			if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
				b.Fatal(err)
			}
			if files.Cur < uint64(2*n+100) {
				b.Skipf("%d subscribers need %d open files, and the limit is %d: ulimit -n", n, 2*n+100,
					files.Cur)
			}
			for b.Loop() {
				s := newStreams(b, Options{})
				<-s.hub.ready
				server := httptest.NewServer(http.HandlerFunc(s.hubHandler))
				const rate, length = 100, 3 * time.Second
				before, began := processor(b), time.Now()
				s.offer(b, server, n, rate, length)
				spent := processor(b) - before
				b.ReportMetric(100*spent.Seconds()/time.Since(began).Seconds(), "processor-%")
				b.ReportMetric(float64(spent.Microseconds())/float64(n*rate*int(length/time.Second)),
					"µs/event-and-subscriber")
				server.Close()
				b.ReportMetric((hubMemory(b, n)-bareMemory(b, n))/1024, "KB/stream-over-a-bare-connection")
			}
		})
	}
}

// processor returns the processor time that this process has used.
func processor(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
