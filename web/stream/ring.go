package stream

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"holdfast/holds"
)

// A ring is a log of the recent frames of one topic: bytes in chunks, numbered by their position since the ring began.
// Written bytes never change, so a subscriber needs only a position, and all subscribers receive the same bytes without
// a copy. A ring has at most ringChunks chunks. Before it adds another, it drops the oldest one, and a subscriber whose
// position is in that chunk has fallen off the ring.
//
// One goroutine appends, and any number of goroutines read. The zero ring is empty and has no chunk.
type ring struct {
	mu     sync.Mutex
	chunks []*chunk // oldest first
	end    uint64   // position after the last byte
}

const (
	chunkBytes = 64 << 10
	ringChunks = 24 // 1.5 MB: about 4,000 frames, which is several seconds of events of a very busy clinic
)

type chunk struct {
	base   uint64 // position of its first byte
	bytes  []byte // grows within its capacity, never moves
	frames []frameMark
}

// frameMark holds the end of one frame and the data that subscriber.isKnown needs.
type frameMark struct {
	end   uint64
	at    time.Time
	of    string // the hold that begins, or the selection that begins or ends; empty for other events
	ended bool   // the selection ends
}

// errFellOff means that the ring has dropped the bytes at this position.
var errFellOff = errors.New("overwritten in the ring buffer")

// append adds one frame.
func (r *ring) append(frame []byte, ev *holds.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.chunks) - 1
	if last < 0 || len(r.chunks[last].bytes)+len(frame) > cap(r.chunks[last].bytes) {
		if last+1 >= ringChunks {
			r.chunks = append(r.chunks[:0], r.chunks[1:]...)
		}
		r.chunks = append(r.chunks, &chunk{base: r.end, bytes: make([]byte, 0, max(chunkBytes, len(frame)))})
		last = len(r.chunks) - 1
	}
	c := r.chunks[last]
	c.bytes = append(c.bytes, frame...)
	r.end += uint64(len(frame))
	mark := frameMark{end: r.end, at: ev.At, ended: ev.Kind == holds.EventDeselect}
	switch ev.Kind {
	case holds.EventHold:
		mark.of = ev.HoldID
	case holds.EventSelect, holds.EventDeselect:
		mark.of = lookName(ev.Owner, &ev.Span)
	}
	c.frames = append(c.frames, mark)
}

// tail returns the position after the last frame.
func (r *ring) tail() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end
}

// read returns the bytes from one position to another, or to the end of the chunk if that comes first, and the marks of
// their frames. Both positions must be ends of frames. The caller must not change the results.
func (r *ring) read(at, until uint64) ([]byte, []frameMark, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := r.chunkAt(at)
	if err != nil {
		return nil, nil, err
	}
	end := min(until, c.base+uint64(len(c.bytes)))
	first, _ := slices.BinarySearchFunc(c.frames, at+1, frameMark.compare)
	last, _ := slices.BinarySearchFunc(c.frames, end+1, frameMark.compare)
	return c.bytes[at-c.base : end-c.base : end-c.base], c.frames[first:last:last], nil
}

func (m frameMark) compare(position uint64) int { return cmp.Compare(m.end, position) }

func (r *ring) chunkAt(at uint64) (*chunk, error) {
	if at < r.chunks[0].base {
		return nil, errFellOff
	}
	for i := len(r.chunks) - 1; ; i-- {
		if r.chunks[i].base <= at {
			return r.chunks[i], nil
		}
	}
}
