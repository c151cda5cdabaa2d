package stream

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/holds"
)

// TestStreamCountsSelections makes two visitors select a time and deselect it around each step of a stream's start:
// before the stream joins, between that and its snapshot (twice), after the snapshot, and once it is live. In each of
// those orders, the reader must count the selections correctly. It must not count a selection twice, and no selection
// may end before it has begun.
func TestStreamCountsSelections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, Options{})
		ctx := context.Background()
		ask := booking.SelectRequest{AppointmentTypeID: "checkup", SpecialistID: "ada", SlotStart: s.day}
		visitors := []holds.ClientID{ownClient, otherClient}
		acts := []func(){func() {}}
		for _, client := range visitors {
			acts = append(acts, func() {
				ask.Client = client
				if _, err := s.engine.Booking.Select(ctx, ask); err != nil {
					t.Fatal(err)
				}
			}, func() {
				if _, err := s.holds.Deselect(ctx, client.Owner()); err != nil {
					t.Fatal(err)
				}
			})
		}
		const steps = 5
		order := make([]int, steps)
		act := func(step int) {
			acts[order[step]]()
			synctest.Wait() // until the hub has appended the events
		}
		for n := range int(math.Pow(float64(len(acts)), steps)) {
			for step := range order {
				order[step] = n % len(acts)
				n /= len(acts)
			}
			conn := new(recorded)
			st := &subscriber{id: "one", lease: time.Minute, pinged: time.Now(), checked: time.Now(), conn: conn}
			act(0)
			if err := s.hub.join(st, "checkup"); err != nil {
				t.Fatal(err)
			}
			act(1)
			act(2)
			said, err := s.hub.snapshot(ctx, st, "checkup", nil)
			if err != nil {
				t.Fatal(err)
			}
			act(3)
			conn.Write(said)
			s.hub.start(st)
			s.hub.writers.Done()
			if order[0]%2 == 0 {
				time.Sleep(time.Millisecond) // later events are newer than the snapshot
			}
			act(4)
			count := 0
			for line := range strings.Lines(conn.String()) {
				switch {
				case strings.Contains(line, `"type":"select"`):
					count++
				case strings.Contains(line, `"type":"deselect"`):
					count--
				}
				if count < 0 || count > len(visitors) {
					t.Fatalf("in the order %v, the reader counts %d:\n%s", order, count, conn)
				}
			}
			looking, err := s.holds.Selected(ctx, s.day, s.day.Add(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			if count != len(looking) {
				t.Fatalf("in the order %v, the reader counts %d, but %d clients are looking:\n%s", order, count, len(looking),
					conn)
			}
			s.hub.drop(st, endUnknown)
			for _, client := range visitors {
				if _, err := s.holds.Deselect(ctx, client.Owner()); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Millisecond) // later events are newer
		}
	})
}

// recorded is a connection that accepts and records all writes.
type recorded struct{ bytes.Buffer }

func (r *recorded) tryWrite(b []byte) (int, error)        { return r.Write(b) }
func (r *recorded) write(b []byte, _ time.Duration) error { _, err := r.Write(b); return err }
func (r *recorded) isGone() bool                          { return false }
func (r *recorded) close()                                {}
