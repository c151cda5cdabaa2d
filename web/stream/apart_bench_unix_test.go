//go:build unix

package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// forSubscribers is the environment variable that makes BenchmarkCurveOfSubscribersApart the process of the
// subscribers. It contains their number, the server's address, the number of the first event, and how many there are.
const forSubscribers = "HOLDFAST_BENCH_SUBSCRIBERS"

// BenchmarkCurveOfSubscribersApart is like BenchmarkCurveOfSubscribers, but the subscribers run in another process on
// the same machine. So each process needs only one open file for each of them, and the reported processor time is that
// of the server.
//
//	go test ./web/stream -run '^$' -bench Apart -benchtime 1x -subscribers 20000
func BenchmarkCurveOfSubscribersApart(b *testing.B) {
	if task := os.Getenv(forSubscribers); task != "" {
		if err := subscribe(task); err != nil {
			b.Fatal(err)
		}
		return
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{100, 1000, 3000, 9000, 20_000} {
		if n > max(*mostSubscribers, 100) {
			break
		}
		for _, rate := range []int{10, 100} {
			b.Run(fmt.Sprintf("%d/rate=%d", n, rate), func(b *testing.B) {
				subscribers := min(n, int(files.Cur)-100) // the server has other files too
				for b.Loop() {
					publish(b, subscribers, rate, 3*time.Second)
				}
				b.ReportMetric(float64(subscribers), "subscribers")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// received is the result of all subscribers: the number of events, and the time from publishing an event to reading it.
type received struct {
	Events   int
	P50, P99 time.Duration
}

// publish starts the process of the subscribers, publishes rate events a second for the given time, and reports what
// the subscribers received.
func publish(b *testing.B, subscribers, rate int, length time.Duration) {
	b.Helper()
	s := newStreams(b, Options{})
	<-s.hub.ready
	server := httptest.NewServer(http.HandlerFunc(s.hubHandler))
	defer server.Close()
	ctx, ev := context.Background(), s.benchEvent()
	watch, err := s.holds.Watch(ctx)
	if err != nil {
		b.Fatal(err)
	}
	if err := s.holds.Publish(ctx, ev); err != nil { // tells the number of the next event
		b.Fatal(err)
	}
	events, err := watch.Next(ctx, nil)
	watch.Close()
	if err != nil {
		b.Fatal(err)
	}
	total := rate * int(length/time.Second)
	process := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkCurveOfSubscribersApart$",
		"-test.benchtime=1x")
	process.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s %d %d", forSubscribers, subscribers,
		server.Listener.Addr(), events[0].Seq+1, total))
	process.Stderr = os.Stderr
	tell, err := process.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	answers, answer, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer answers.Close()
	process.ExtraFiles = []*os.File{answer}
	if err := process.Start(); err != nil {
		b.Fatal(err)
	}
	answer.Close()
	hear := json.NewDecoder(answers)
	var connected int
	if err := hear.Decode(&connected); err != nil {
		b.Fatalf("the subscribers are not connected: %v", err)
	}

	before, start := processor(b), time.Now()
	sent := make([]int64, 0, total) // when each event was published, in Unix ns
	for nth := range total {
		time.Sleep(time.Until(start.Add(time.Duration(nth) * time.Second / time.Duration(rate))))
		sent = append(sent, time.Now().UnixNano())
		if err := s.holds.Publish(ctx, ev); err != nil {
			b.Fatal(err)
		}
	}
	if err := json.NewEncoder(tell).Encode(sent); err != nil {
		b.Fatal(err)
	}
	var all received
	if err := hear.Decode(&all); err != nil {
		b.Fatal(err)
	}
	spent := processor(b) - before
	if err := process.Wait(); err != nil {
		b.Error(err)
	}
	b.ReportMetric(100*float64(all.Events)/float64(subscribers*total), "delivered-%")
	b.ReportMetric(float64(all.P50.Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(all.P99.Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(spent.Nanoseconds())/1000/float64(all.Events), "server-µs/event-and-subscriber")
}

// subscribe is the process of the subscribers. It opens their streams and writes their number to file 3. Then it reads
// the times of all events from its standard input, waits until each subscriber has read the last event, and writes the
// result to file 3.
func subscribe(task string) error {
	var subscribers, total int
	var first uint64
	var address string
	if _, err := fmt.Sscan(task, &subscribers, &address, &first, &total); err != nil {
		return fmt.Errorf("%s=%q: %w", forSubscribers, task, err)
	}
	type reading struct {
		nth int
		at  int64 // in Unix ns
	}
	readings := make([][]reading, subscribers)
	conns := make([]net.Conn, subscribers)
	var connected, done sync.WaitGroup
	connected.Add(subscribers)
	for i := range subscribers {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		defer conn.Close()
		conns[i], readings[i] = conn, make([]reading, 0, total)
		if _, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return err
		}
		done.Go(func() {
			follow(conn, connected.Done, func(seq uint64, at time.Time) bool {
				nth := int(seq - first)
				readings[i] = append(readings[i], reading{nth, at.UnixNano()})
				return nth != total-1
			})
		})
	}
	connected.Wait()
	tell := json.NewEncoder(os.NewFile(3, "result"))
	if err := tell.Encode(subscribers); err != nil {
		return err
	}
	var sent []int64
	if err := json.NewDecoder(os.Stdin).Decode(&sent); err != nil {
		return err
	}
	late := time.AfterFunc(time.Minute, func() {
		for _, c := range conns {
			c.Close()
		}
	})
	done.Wait()
	late.Stop()
	var all []time.Duration
	for _, list := range readings {
		for _, r := range list {
			all = append(all, time.Duration(r.at-sent[r.nth]))
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("no subscriber read an event")
	}
	slices.Sort(all)
	return tell.Encode(received{len(all), all[len(all)/2], all[len(all)*99/100]})
}
