package web

import (
	"sync"
	"sync/atomic"
	"time"

	"holdfast/holds"
)

// stream is one subscriber: a connection, a position in a ring, and the few frames that are for it alone.
type stream struct {
	id              string // connection id
	client          holds.ClientID
	lease           time.Duration
	leaseEnds       time.Time
	pinged, checked time.Time // touched by the keeper alone once the stream has joined
	conn            streamConn
	topic           *topic

	busy  atomic.Bool // whoever set it owns the fields below
	again atomic.Bool // somebody wanted to flush meanwhile

	at       uint64              // position in the ring
	known    map[string]struct{} // holds and looks that it was told of, until events are later than its snapshot
	knownEnd time.Time

	mu      sync.Mutex
	own     []byte  // frames for this stream alone, after what is in the ring
	patches []patch // its own form of frames in the ring, by position
	end     endReason
	endSent bool
}

// patch replaces one frame of the ring for the client whose event it is.
type patch struct {
	at    uint64
	frame []byte
}

// add queues a frame for this stream alone.
func (s *stream) add(frame []byte) {
	s.mu.Lock()
	if s.end == "" {
		s.own = append(s.own, frame...)
	}
	s.mu.Unlock()
}

// patch gives the stream its own form of the frame that is about to be added to its ring at a position.
func (s *stream) patch(at uint64, frame []byte) {
	s.mu.Lock()
	s.patches = append(s.patches, patch{at, frame})
	s.mu.Unlock()
}

// setEnd decides how the stream ends. The first reason counts.
func (s *stream) setEnd(reason endReason) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != "" {
		return false
	}
	s.end = reason
	return true
}

// ending returns the reason, and whether the end frame was handed out.
func (s *stream) ending() (reason endReason, told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end, s.endSent
}

// next returns the next bytes to write and moves past them: what is behind in the ring, then the stream's own frames,
// then its end; nothing if there is nothing. They are valid until the call after. A stream that has fallen off its ring is
// told its end instead. Only the owner of busy may call it.
func (s *stream) next() []byte {
	if _, told := s.ending(); told {
		return nil
	}
	until := s.topic.ring.tail() // patches of all that is before it are in place
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
	if s.end != "" {
		b = appendEnd(b, s.end, s.id)
		s.endSent = true
	}
	return b
}

// nextOfRing returns what is left of the current chunk before a position: the shared bytes as they are in nearly every
// case. It is empty where every frame there was left out.
func (s *stream) nextOfRing(until uint64) ([]byte, error) {
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

// takePatch returns the stream's own form of the frame at a position, or the frame itself.
func (s *stream) takePatch(at uint64, frame []byte) []byte {
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

// isKnown reports whether a frame says what the snapshot already did: it announces a hold that was there, once in its
// life, or the beginning or end of a look that the snapshot already has or already has not. The empty name stands for
// frames about neither. Once events are later than the snapshot all are told.
func (s *stream) isKnown(mark frameMark) bool {
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
