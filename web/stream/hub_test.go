package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/holds"
)

// These tests check that the live stream sends every event exactly once, and that no reader has to wait for a slow one.
// They use the real hub over the real engine. The connections are net.Pipes in the virtual time of a synctest bubble.

// TestStreamIsCompleteAndUnique opens streams during a storm of claims and releases. Each stream must receive every
// hold exactly once, either in its snapshot or live. At the end, it must contain exactly the holds in the table.
func TestStreamIsCompleteAndUnique(t *testing.T) {
	synctest.Test(t, stormWithVisitors)
}

func stormWithVisitors(t *testing.T) {
	s := newStreams(t, Options{})
	ctx := context.Background()
	var storm, readers sync.WaitGroup
	stop := make(chan struct{})
	for n := range 4 {
		storm.Go(func() {
			client := holds.ClientID(fmt.Sprintf("storm-%016d", n))
			var kept []string
			for i := 0; ; i++ {
				if i%20 == 19 {
					time.Sleep(time.Millisecond) // virtual time: until all readers have caught up
				}
				if i%40 == 0 { // stay below the quota
					for _, id := range kept {
						if _, err := s.engine.Booking.ReleaseHold(ctx, id, client); err != nil {
							t.Error(err)
						}
					}
					kept = nil
				}
				select {
				case <-stop:
					return
				default:
				}
				h, err := s.engine.Booking.Hold(ctx, booking.HoldRequest{
					AppointmentTypeID: "checkup", SpecialistID: []string{"ada", "bea"}[i%2],
					SlotStart: s.day.Add(time.Duration(n*40+i%40) * 30 * time.Minute), Client: client,
				})
				switch {
				case err == nil && i%40 < 38:
					_, err = s.engine.Booking.ReleaseHold(ctx, h.ID, client)
				case err == nil:
					kept = append(kept, h.ID)
				}
				if err != nil && !errors.Is(err, holds.ErrQuota) {
					var held *holds.HeldError
					if !errors.As(err, &held) {
						t.Error(err)
					}
				}
			}
		})
	}
	visitors := 24
	if text := os.Getenv("HOLDFAST_READERS"); text != "" {
		var err error
		if visitors, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	last := make([]map[string]bool, visitors)
	var connected sync.WaitGroup
	connected.Add(visitors)
	for i := range visitors {
		r := s.listen("checkup", holds.ClientID(fmt.Sprintf("visitor-%016d", i)), 0)
		readers.Go(func() {
			live, told, seq := map[string]bool{}, map[string]bool{}, map[string]bool{}
			for {
				f, err := r.next()
				if err != nil {
					t.Errorf("visitor %d: %v", i, err)
					return
				}
				if f.id != "" && seq[f.id] {
					t.Errorf("visitor %d: event %s arrived twice", i, f.id)
				}
				seq[f.id] = f.id != ""
				switch f.Type {
				case "connected":
					connected.Done()
				case "hold":
					if told[f.HoldID] {
						t.Errorf("visitor %d: hold %s arrived twice", i, f.HoldID)
					}
					live[f.HoldID], told[f.HoldID] = true, true
				case "release":
					delete(live, f.HoldID)
				case "availability": // published after the storm
					last[i] = live
					return
				case "end":
					t.Errorf("the stream of visitor %d ended: %s", i, f.Reason)
					return
				}
			}
		})
	}
	connected.Wait()
	time.Sleep(5 * time.Millisecond) // the storm continues
	close(stop)
	storm.Wait()
	if err := s.holds.Publish(ctx, holds.Event{Kind: holds.EventAvailability,
		Span: holds.Span{SpecialistID: "ada"}}); err != nil {
		t.Fatal(err)
	}
	readers.Wait()
	held, err := s.holds.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, live := range last {
		if len(live) != len(held) {
			t.Errorf("visitor %d has %d holds, the table has %d", i, len(live), len(held))
		}
		for _, h := range held {
			if !live[h.ID] {
				t.Errorf("visitor %d did not receive hold %s", i, h.ID)
			}
		}
	}
	t.Logf("%d readers", visitors)
}

// TestStreamClientsAreSecret: only the client itself receives its client id in an event.
func TestStreamClientsAreSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, Options{})
		own, other := s.listen("checkup", ownClient, 0), s.listen("checkup", otherClient, 0)
		own.upTo("connected")
		other.upTo("connected")
		s.claim("hygiene", "ada", 0, ownClient)
		if f := own.upTo("hold"); !f.IsOwnHold || f.ClientID != string(ownClient) {
			t.Errorf("the owner's frame is %s", f.text)
		}
		if f := other.upTo("hold"); f.IsOwnHold || strings.Contains(f.text, string(ownClient)) ||
			strings.Contains(f.text, "clientId") {
			t.Errorf("another client's frame is %s", f.text)
		}
	})
}

// TestOwnHoldElsewhereChangesNoFrame: a client holds a time of a type that its stream does not show. The frames of its
// stream stay as they are, also the one with the same place in the other type's stream.
func TestOwnHoldElsewhereChangesNoFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, Options{})
		own, other := s.listen("hygiene", ownClient, 0), s.listen("other", otherClient, 0)
		own.upTo("connected")
		other.upTo("connected")
		s.claim("other", "bea", 0, ownClient)
		other.upTo("hold")
		h := s.claim("hygiene", "ada", 0, otherClient)
		if f := own.upTo("hold"); f.HoldID != h.ID || f.IsOwnHold {
			t.Errorf("the frame of another client's hold is %s", f.text)
		}
	})
}

// TestSlowReaderIsCutOff: readers that never read are cut off within the write timeout, while a healthy reader gets
// every event.
func TestSlowReaderIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, Options{})
		healthy := s.listen("checkup", "", 0)
		healthy.upTo("connected")
		var slow []*reader
		for range 50 {
			r := s.listen("checkup", "", 0)
			r.upTo("connected") // and reads no further
			slow = append(slow, r)
		}
		began := time.Now()
		for n := range 10 {
			h := s.claim("checkup", "ada", n, otherClient)
			if f := healthy.upTo("hold"); f.HoldID != h.ID {
				t.Fatalf("the healthy reader received hold %s, want %s", f.HoldID, h.ID)
			}
			if waited := time.Since(began); waited > 0 {
				t.Fatalf("the healthy reader waited %s for the slow readers", waited)
			}
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := len(s.hub.subscribers()); n != 1 {
			t.Errorf("%d streams remain 5 s after the first event, want the healthy one", n)
		}
		for _, r := range slow {
			if _, err := io.ReadAll(r.in); err != nil && !errors.Is(err, io.ErrClosedPipe) {
				t.Error(err)
			}
		}
	})
}

// TestReaderBehindRingIsEnded: the last frame for a reader that has fallen off the ring is an end frame with the reason
// send-failed.
func TestReaderBehindRingIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, Options{WriteTimeout: time.Hour})
		r := s.listen("checkup", "", 0)
		r.upTo("connected")
		for range (ringChunks + 2) * chunkBytes / 200 {
			h := s.claim("checkup", "ada", 0, otherClient)
			s.engine.Booking.ReleaseHold(context.Background(), h.ID, otherClient)
		}
		synctest.Wait()
		var last frame
		for {
			f, err := r.next()
			if err != nil {
				break
			}
			last = f
		}
		if last.Type != "end" || last.Reason != string(endSendFailed) {
			t.Errorf("the last frame is %q, want end with send-failed", last.text)
		}
	})
}
