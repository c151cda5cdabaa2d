package referee

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Reader judges one live stream, which it reads as a page does. The frames must be in order, none may arrive twice, and
// together they must result in the existing holds.
type Reader struct {
	Holds     map[string]bool // the ids of the holds that exist according to the stream
	Connected bool
	Ended     string // the reason, once it has ended

	id    string // of the current frame
	epoch string
	seq   uint64
}

// NewReader returns a reader that expects the first frame.
func NewReader() *Reader { return &Reader{Holds: map[string]bool{}} }

type frame struct {
	Type, HoldID, Reason string
}

// Line processes one line of the stream.
func (r *Reader) Line(line string) error {
	if id, ok := strings.CutPrefix(line, "id:"); ok {
		r.id = strings.TrimSpace(id)
		return nil
	}
	data, ok := strings.CutPrefix(line, "data:")
	if !ok {
		return nil
	}
	var f frame
	if err := json.Unmarshal([]byte(data), &f); err != nil {
		return fmt.Errorf("a frame that is not JSON: %q", line)
	}
	id := r.id
	r.id = ""
	if r.Ended != "" {
		return fmt.Errorf("a frame %s after the end", f.Type)
	}
	if err := r.order(f.Type, id); err != nil {
		return err
	}
	switch f.Type {
	case "hold", "heartbeat":
		r.Holds[f.HoldID] = true
	case "release", "confirm":
		delete(r.Holds, f.HoldID)
	case "connected":
		if r.Connected {
			return errors.New("connected twice")
		}
		r.Connected = true
	case "end":
		r.Ended = f.Reason
	}
	return nil
}

// order checks that the number of a live event is greater than every earlier number.
func (r *Reader) order(kind, id string) error {
	if id == "" || kind == "end" {
		return nil
	}
	epoch, number, _ := strings.Cut(id, "-")
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return fmt.Errorf("the id %q of a frame %s is not an epoch and a number", id, kind)
	}
	if r.epoch != "" && epoch != r.epoch {
		return fmt.Errorf("the epoch changed within a stream: %s, then %s", r.epoch, epoch)
	}
	if seq <= r.seq && r.epoch != "" {
		return fmt.Errorf("event %s arrived after %s-%d", id, r.epoch, r.seq)
	}
	r.epoch, r.seq = epoch, seq
	return nil
}

// Agrees compares the holds of the stream with the existing holds of the specialists that the stream covers.
func (r *Reader) Agrees(list []Hold, all map[string]*Hold, specialists map[string]int, now time.Time) error {
	if !r.Connected || r.Ended != "" {
		return nil
	}
	there := map[string]bool{}
	for _, h := range list {
		if _, reaches := specialists[h.Specialist]; !reaches {
			continue
		}
		there[h.ID] = true
		if !r.Holds[h.ID] && h.Until.Sub(now) > About {
			return fmt.Errorf("the stream never sent the hold of %s", h.Span)
		}
	}
	for id := range r.Holds {
		h := all[id]
		if !there[id] && (h == nil || now.Sub(h.Until) > About || h.Until.Sub(now) > About) {
			return fmt.Errorf("the stream never sent the end of the hold %s", id)
		}
	}
	return nil
}
