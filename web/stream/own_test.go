package stream

import (
	"errors"
	"io"
	"net/netip"
	"testing"
	"testing/synctest"
)

// TestOwnFrameKeepsItsPlace: several frames wait for a slow reader. Only the frame of the reader's own hold has the
// owner's form.
func TestOwnFrameKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, Options{})
		own := s.listen("checkup", ownClient, 0)
		own.upTo("connected")
		isOwn := []bool{false, false, true, false, true, true, false} // by slot
		var want []string
		for slot := range isOwn {
			client := otherClient
			if isOwn[slot] {
				client = ownClient
			}
			want = append(want, s.claim("checkup", "ada", slot, client).ID)
			synctest.Wait() // from the first hold on, the writes wait for the reader
		}
		for slot, id := range want {
			if f := own.upTo("hold"); f.HoldID != id || f.IsOwnHold != isOwn[slot] ||
				(f.ClientID != "") != isOwn[slot] {
				t.Errorf("frame %d is %s, want hold %s, own: %t", slot, f.text, id, isOwn[slot])
			}
		}
		again := s.listen("checkup", ownClient, 0)
		for slot, id := range want {
			if f := again.upTo("hold"); f.HoldID != id || f.IsOwnHold != isOwn[slot] ||
				(f.ClientID != "") != isOwn[slot] {
				t.Errorf("frame %d of the snapshot is %s, want hold %s, own: %t", slot, f.text, id, isOwn[slot])
			}
		}
	})
}

// TestHubForgetsEndedStreams: streams that have ended leave nothing behind.
func TestHubForgetsEndedStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, Options{})
		addresses := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}
		for i, topic := range []string{"checkup", Presence, AllTypes} {
			r := s.open(Request{Topic: topic, Client: ownClient, Address: addresses[i%2]})
			r.upTo("connected")
			go func() { _, _ = io.Copy(io.Discard, r.conn) }() // until the end frame
		}
		s.hub.endAll(endUnknown)
		synctest.Wait()
		h := s.hub
		h.mu.Lock()
		defer h.mu.Unlock()
		if n := len(h.all) + len(h.guarded) + len(h.byOwner) + len(h.byAddress) + len(h.topics) + h.admitted; n != 0 {
			t.Errorf("the hub keeps %d streams, %d guarded, %d owners, %d addresses, %d topics, %d admitted",
				len(h.all), len(h.guarded), len(h.byOwner), len(h.byAddress), len(h.topics), h.admitted)
		}
	})
}

// TestStreamsAreLimited: the hub refuses a stream beyond its own limit or that of an address, until one ends.
func TestStreamsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newStreams(t, Options{Streams: 3, PerAddress: 2}).hub
		a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		admit := func(address netip.Addr, want error) {
			t.Helper()
			if err := h.admit(address); !errors.Is(err, want) {
				t.Errorf("a stream from %s: %v, want %v", address, err, want)
			}
		}
		admit(a, nil)
		admit(a, nil)
		admit(a, ErrAddressFull)
		admit(b, nil)
		admit(b, ErrFull)
		h.release(a)
		admit(b, nil)
		h.release(b)
		admit(a, nil)
	})
}

// TestFirstReasonEndsStream: a stream that is ending keeps its reason, and gets no further frames.
func TestFirstReasonEndsStream(t *testing.T) {
	t.Parallel()
	s := &subscriber{topic: &topic{}}
	if !s.setEnd(endReplaced) || s.setEnd(endUnknown) || s.ending != endReplaced {
		t.Errorf("the stream ends with %q, want %q", s.ending, endReplaced)
	}
	s.add([]byte(pingFrame))
	if len(s.own) != 0 {
		t.Errorf("an ending stream gets %q", s.own)
	}
}
