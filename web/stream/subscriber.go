package stream

import (
	"sync"
	"sync/atomic"
	"time"

	"holdfast/holds"
)

// subscriber is one open stream: a connection, a position in the ring of its topic, and the few frames that only this
// subscriber receives.
type subscriber struct {
	id              string         // connection id
	client          holds.ClientID // the client's secret, sent only to that client
	owner           holds.Owner
	lease           time.Duration
	leaseEnds       time.Time
	pinged, checked time.Time // used only by Hub.maintain once the subscriber has joined
	conn            conn
	guard           *Guard    // if nil, the stream is public
	stands          bool      // the guard has confirmed the credential; this and until are used only by Hub.watchGuards
	until           time.Time // when the guard is checked again; zero means only at a Recheck
	topic           *topic
	announced       bool // this hub has received its own announcement; guarded by Hub.mu

	writing atomic.Bool // the goroutine that set it owns the writing side of conn, at, known and knownEnd
	asked   atomic.Bool // another goroutine requested a flush during a write

	at       uint64              // position in the ring
	known    map[string]struct{} // holds and selections in the snapshot; nil once events are later than it
	knownEnd time.Time           // when the snapshot was complete

	mu      sync.Mutex
	own     []byte  // frames for this subscriber only, sent after the frames of the ring
	patches []patch // its own form of frames in the ring, by position
	ending  endReason
	endSent bool
}

// tells returns the client id for an event of this owner: the subscriber's own id, or an empty one if the owner is
// another client.
func (s *subscriber) tells(owner holds.Owner) holds.ClientID {
	if owner.Is(s.owner) {
		return s.client
	}
	return ""
}

// patch replaces one frame of the ring for the client that owns the event.
type patch struct {
	at    uint64
	frame []byte
}

// add queues a frame that only this subscriber receives.
func (s *subscriber) add(frame []byte) {
	s.mu.Lock()
	if s.ending == "" {
		s.own = append(s.own, frame...)
	}
	s.mu.Unlock()
}

// patch stores the subscriber's own form of the frame that is about to be added to its ring at a position.
func (s *subscriber) patch(at uint64, frame []byte) {
	s.mu.Lock()
	s.patches = append(s.patches, patch{at, frame})
	s.mu.Unlock()
}

// setEnd sets the reason for the end of the stream and reports whether it did. Only the first reason counts.
func (s *subscriber) setEnd(reason endReason) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending != "" {
		return false
	}
	s.ending = reason
	return true
}

// ended returns the reason for the end of the stream and reports whether next has returned the end frame.
func (s *subscriber) ended() (reason endReason, sent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending, s.endSent
}

// next returns the next bytes to write and advances past them: new frames of the ring, then the subscriber's own
// frames, then the end frame. It returns nil if there are none. The bytes are valid until the next call. A subscriber
// that has fallen off its ring receives the end frame instead. Only the owner of writing may call next.
func (s *subscriber) next() []byte {
	if _, sent := s.ended(); sent {
		return nil
	}
	until := s.topic.ring.tail() // all patches of frames before it are in place
	for s.at < until {
		b, err := s.nextOfRing(until)
		if err != nil {
			s.setEnd(endSendFailed)
			s.at = until
		}
		if len(b) > 0 {
			return b
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.own
	s.own = nil
	if s.ending != "" {
		b = appendEnd(b, s.ending, s.id)
		s.endSent = true
	}
	return b
}

// nextOfRing returns the rest of the current chunk up to a position, in most cases the shared bytes themselves. The
// result is empty if every frame there was skipped.
func (s *subscriber) nextOfRing(until uint64) ([]byte, error) {
	s.mu.Lock()
	plain := s.known == nil && len(s.patches) == 0
	s.mu.Unlock()
	b, marks, err := s.topic.ring.read(s.at, until)
	if err != nil {
		return nil, err
	}
	if plain {
		s.at += uint64(len(b))
		return b, nil
	}
	var mine []byte
	for _, mark := range marks {
		frame := b[:mark.end-s.at]
		b = b[len(frame):]
		frame = s.takePatch(s.at, frame)
		if !s.isKnown(mark) {
			mine = append(mine, frame...)
		}
		s.at = mark.end
	}
	return mine, nil
}

// takePatch returns the subscriber's own form of the frame at a position, or the frame itself.
func (s *subscriber) takePatch(at uint64, frame []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.patches) > 0 && s.patches[0].at < at {
		s.patches = s.patches[1:]
	}
	if len(s.patches) > 0 && s.patches[0].at == at {
		frame = s.patches[0].frame
		s.patches = s.patches[1:]
	}
	if len(s.patches) == 0 {
		s.patches = nil
	}
	return frame
}

// isKnown reports whether the snapshot already accounts for a frame: the start of a hold or selection that is in the
// snapshot, or the end of a selection that is not. The empty name in known stands for all other frames. Once events are
// later than the snapshot, isKnown is always false.
func (s *subscriber) isKnown(mark frameMark) bool {
	if s.known == nil {
		return false
	}
	if mark.at.After(s.knownEnd) {
		s.known = nil
		return false
	}
	_, known := s.known[mark.of]
	switch {
	case mark.ended:
		delete(s.known, mark.of)
		return !known
	case !known && mark.of != "":
		s.known[mark.of] = struct{}{}
	}
	return known
}
