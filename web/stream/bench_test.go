package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/holds"
	"holdfast/holds/memory"
)

// These benchmarks measure the live stream. The server, the publisher and the subscribers share this process and its
// processors, so only the ratio of two fan-outs measured in one run is meaningful.
//
//	go test ./web/stream -run '^$' -bench 'Stream|Frames' -benchtime 1x
//
// HOLDFAST_BENCH_FULL=1 runs the benchmarks at full size, such as 1,000 subscribers. Without it, they use a tenth of
// the size.

func full() bool { return os.Getenv("HOLDFAST_BENCH_FULL") != "" }

func sized(n int) int {
	if full() {
		return n
	}
	return max(n/10, 1)
}

// BenchmarkClaimReleaseFrames claims and releases a hold, and encodes a frame for each of the two events.
func BenchmarkClaimReleaseFrames(b *testing.B) {
	live := memory.New(memory.Options{})
	defer live.Close()
	ctx := context.Background()
	start := enginetest.Noon(time.UTC, 2)
	claim := holds.Claim{
		Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: "ada", SlotStart: start,
			SlotEnd: start.Add(30 * time.Minute), BusyStart: start, BusyEnd: start.Add(30 * time.Minute)},
		Owner: ownClient.Owner(), Seats: []int{0}, TTL: 30 * time.Second, MaxLife: 15 * time.Minute, Quota: 3,
	}
	epoch := live.Epoch()
	frame := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		h, err := live.Claim(ctx, claim)
		if err != nil {
			b.Fatal(err)
		}
		held := holds.Event{Kind: holds.EventHold, Seq: 1, HoldID: h.ID, Span: h.Span, ExpiresAt: h.ExpiresAt,
			Owner: h.Owner}
		frame = appendEvent(frame[:0], epoch, &held, "")
		if _, err := live.Release(ctx, h.ID, h.Owner, holds.ReasonReleased); err != nil {
			b.Fatal(err)
		}
		held.Kind, held.Reason = holds.EventRelease, holds.ReasonReleased
		frame = appendEvent(frame[:0], epoch, &held, "")
	}
}

// BenchmarkStream publishes events at a fixed rate to subscribers of one type, and reports how many were delivered
// and how late. It does so once for the hub and once for the usual handler, which has a channel of 64 frames for each
// subscriber and calls Flush.
func BenchmarkStream(b *testing.B) {
	for _, load := range []struct{ subscribers, rate int }{{1000, 100}, {1000, 1000}} {
		for _, kind := range []string{"hub", "idiomatic"} {
			b.Run(fmt.Sprintf("%dx%d/%s", load.subscribers, load.rate, kind), func(b *testing.B) {
				s := newStreams(b, Options{})
				<-s.hub.ready
				var handler http.Handler = http.HandlerFunc(s.hubHandler)
				if kind == "idiomatic" {
					handler = s.idiomaticHandler()
				}
				server := httptest.NewServer(handler)
				defer server.Close()
				for b.Loop() {
					s.offer(b, server, sized(load.subscribers), load.rate, 3*time.Second)
				}
			})
		}
	}
}

func (s *streams) hubHandler(w http.ResponseWriter, r *http.Request) {
	if err := s.hub.Open(w, r, Request{Topic: "checkup"}); err != nil {
		s.t.Error(err)
	}
}

// idiomaticHandler sends events as most servers do: through a buffered channel for each subscriber.
func (s *streams) idiomaticHandler() http.HandlerFunc {
	var mu sync.Mutex
	subscribers := make(map[chan []byte]struct{})
	watch, err := s.holds.Watch(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	s.t.Cleanup(func() {
		stop()
		<-ended
		watch.Close()
	})
	go func() {
		defer close(ended)
		var events []holds.Event
		for {
			if events, err = watch.Next(ctx, events); err != nil {
				return
			}
			for i := range events {
				ev := &events[i]
				data, _ := json.Marshal(map[string]any{
					"type": ev.Kind, "holdId": ev.HoldID, "appointmentTypeId": ev.AppointmentTypeID,
					"specialistId": ev.SpecialistID, "slotStartDate": ev.SlotStart, "slotEndDate": ev.SlotEnd,
					"busyStartDate": ev.BusyStart, "busyEndDate": ev.BusyEnd, "seat": ev.Seat, "isOwnHold": false,
				})
				frame := fmt.Appendf(nil, "id: %s-%d\ndata: %s\n\n", s.holds.Epoch(), ev.Seq, data)
				mu.Lock()
				for c := range subscribers {
					select {
					case c <- frame:
					default:
					}
				}
				mu.Unlock()
			}
		}
	}()
	return func(w http.ResponseWriter, r *http.Request) {
		c := make(chan []byte, 64)
		mu.Lock()
		subscribers[c] = struct{}{}
		mu.Unlock()
		defer func() {
			mu.Lock()
			delete(subscribers, c)
			mu.Unlock()
		}()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"type\":\"connected\"}\n\n")
		w.(http.Flusher).Flush()
		for {
			select {
			case frame := <-c:
				if _, err := w.Write(frame); err != nil {
					return
				}
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
}

// readBuffer is the size of the buffer into which a subscriber reads.
const readBuffer = 32 << 10

// benchEvent returns the event that the benchmarks publish.
func (s *streams) benchEvent() holds.Event {
	return holds.Event{Kind: holds.EventHold, HoldID: "01a1fb89-f7d7-7ddc-9937-efe30000020f", Span: holds.Span{
		AppointmentTypeID: "checkup", SpecialistID: "ada", SlotStart: s.day, SlotEnd: s.day.Add(time.Hour),
		BusyStart: s.day, BusyEnd: s.day.Add(time.Hour)}, ExpiresAt: s.day}
}

// follow reads a stream until it ends or seen returns false. It calls connected once, and seen for each event, with its
// number and the time when it was read.
func follow(conn net.Conn, connected func(), seen func(seq uint64, at time.Time) bool) {
	waiting := true
	buf := make([]byte, readBuffer)
	kept := 0
	for {
		n, err := conn.Read(buf[kept:])
		if err != nil {
			return
		}
		at := time.Now()
		text := buf[:kept+n]
		if waiting && bytes.Contains(text, []byte(`"connected"`)) {
			waiting = false
			connected()
		}
		for {
			id := bytes.Index(text, []byte("id: "))
			end := bytes.IndexByte(text[max(id, 0):], '\n')
			if id < 0 || end < 0 {
				break
			}
			line := string(text[id : id+end])
			text = text[id+end:]
			seq, _ := strconv.ParseUint(line[strings.LastIndexByte(line, '-')+1:], 10, 64)
			if !seen(seq, at) {
				return
			}
		}
		kept = copy(buf, text[max(0, len(text)-64):]) // the start of an id whose rest has not been read yet
	}
}

// offer connects subscribers, publishes at the given rate for the given time, and reports the results.
func (s *streams) offer(b *testing.B, server *httptest.Server, subscribers, rate int, length time.Duration) {
	total := rate * int(length/time.Second)
	sent := make([]atomic.Int64, total+1) // when the nth event was published, in ns
	began := time.Now()
	var firstSeq atomic.Uint64
	var connected, done sync.WaitGroup
	connected.Add(subscribers)
	late := make([][]time.Duration, subscribers)
	conns := make([]net.Conn, subscribers)
	for i := range subscribers {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		conns[i] = conn
		late[i] = make([]time.Duration, 0, total)
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		done.Go(func() {
			follow(conn, connected.Done, func(seq uint64, at time.Time) bool {
				nth := int(seq - firstSeq.Load())
				if nth >= 0 && nth <= total {
					late[i] = append(late[i], at.Sub(began)-time.Duration(sent[nth].Load()))
				}
				return nth != total
			})
		})
	}
	connected.Wait()
	ctx := context.Background()
	ev := s.benchEvent()
	probe, err := s.holds.Watch(ctx)
	if err != nil {
		b.Fatal(err)
	}
	publish := func(nth int) {
		if nth <= total {
			sent[nth].Store(int64(time.Since(began)))
		}
		if err := s.holds.Publish(ctx, ev); err != nil {
			b.Fatal(err)
		}
	}
	firstSeq.Store(1 << 62)
	publish(total + 1)
	events, err := probe.Next(ctx, nil)
	if err != nil {
		b.Fatal(err)
	}
	probe.Close()
	firstSeq.Store(events[0].Seq + 1)
	start := time.Now()
	for nth := range total {
		if wait := time.Until(start.Add(time.Duration(nth) * time.Second / time.Duration(rate))); wait > 0 {
			time.Sleep(wait)
		}
		publish(nth)
	}
	took := time.Since(start)
	last := time.AfterFunc(5*time.Second, func() { // an idiomatic handler may have dropped the last one
		for _, c := range conns {
			c.Close()
		}
	})
	publish(total)
	done.Wait()
	last.Stop()
	for _, c := range conns {
		c.Close()
	}
	all := slices.Concat(late...)
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(len(all))/took.Seconds(), "delivered/s")
	b.ReportMetric(100*float64(len(all))/float64(subscribers*(total+1)), "delivered-%")
	b.ReportMetric(0, "ns/op")
}
