package stream

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// TestRingIsFreedWithLastSubscriber checks that a ring is freed when its last subscriber leaves. A ring takes up to 1.5
// MB, and a clinic can have one for each appointment type.
func TestRingIsFreedWithLastSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, Options{})
		leaves, stays, desk := s.listen("checkup", "", 0), s.listen("checkup", "", 0), s.listen(AllTypes, "", 0)
		readers := []*reader{leaves, stays, desk}
		event := func(slot int, readers ...*reader) {
			t.Helper()
			h := s.claim("checkup", "ada", slot, otherClient)
			for _, r := range readers {
				if f := r.upTo("hold"); f.HoldID != h.ID {
					t.Errorf("a reader received hold %s, want %s", f.HoldID, h.ID)
				}
			}
			synctest.Wait()
		}
		for _, r := range readers {
			r.upTo("connected")
		}
		event(0, readers...)
		var chunks []weak.Pointer[chunk]
		for _, name := range []string{"checkup", AllTypes} {
			chunks = append(chunks, weak.Make(s.hub.topics[name].ring.chunks[0]))
		}

		if open := s.hub.Topics(); len(open) != 2 || open["checkup"] != 2 || open[AllTypes] != 1 {
			t.Errorf("got %v, want two streams of a type and one of all types", open)
		}
		leaves.conn.Close()
		event(1, stays, desk) // the next write fails for readers that have disconnected
		runtime.GC()
		if n := s.hub.Count(); n != 2 || chunks[0].Value() == nil {
			t.Errorf("%d streams are open and the ring exists: %t; want 2 and their ring", n,
				chunks[0].Value() != nil)
		}
		stays.conn.Close()
		desk.conn.Close()
		event(2)
		event(3) // no subscriber receives it any longer
		runtime.GC()
		for i := range chunks {
			if chunks[i].Value() != nil {
				t.Errorf("ring %d exists without subscribers", i)
			}
		}
		gone := uint64(0)
		for _, n := range s.hub.Ended() {
			gone += n
		}
		if gone != 3 || len(s.hub.Ended()) != len(endReasons) || len(s.hub.Topics()) != 0 {
			t.Errorf("got %v ended and %v open, want three and none", s.hub.Ended(), s.hub.Topics())
		}
		if len(s.hub.topics) != 0 {
			t.Errorf("%d topics exist without subscribers", len(s.hub.topics))
		}

		again := s.listen("checkup", "", 0)
		told := 0
		for f := again.must(); f.Type != "connected"; f = again.must() {
			if f.Type == "hold" {
				told++
			}
		}
		if told != 4 {
			t.Errorf("a stream that reconnects receives %d holds, want 4", told)
		}
		time.Sleep(time.Millisecond)
		event(4, again)
	})
}
