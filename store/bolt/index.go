package bolt

import (
	"encoding/binary"
	"time"

	"holdfast/store"
)

// entry is one key of an index.
type entry struct {
	index, name string // name of the bucket inside the index; empty if it has none
	key         string
}

// entries lists all index entries of op. It is the only place that defines them.
func entries(op store.Operation) []entry {
	list := make([]entry, 0, 4)
	list = append(list, entry{statusIndex, string(op.Status), op.ID})
	if op.AppointmentID != "" {
		list = append(list, entry{appointmentIndex, "", op.AppointmentID + "\x00" + op.ID})
	}
	switch op.Status {
	case store.OperationPending:
		list = append(list, entry{dueIndex, string(op.Kind), timeKey(op.NextAttemptAt, op.ID)})
	case store.OperationCompleted:
		list = append(list, entry{finishedIndex, "", timeKey(op.FinishedAt, op.ID)})
	}
	return list
}

// timeKey returns a key that sorts by instant, then by id. It consists of eight bytes of big-endian Unix milliseconds
// and the id. The sign bit is inverted, so that instants before 1970 come first.
func timeKey(at time.Time, id string) string {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli())^(1<<63))
	return string(ms[:]) + id
}

// splitTimeKey is the reverse of timeKey. For a key of fewer than eight bytes it returns no id.
func splitTimeKey(k []byte) (at time.Time, id string) {
	if len(k) < 8 {
		return time.Time{}, ""
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(k) ^ (1 << 63))).UTC(), string(k[8:])
}

// earliest finds the pending operation of these kinds (all if none are given) that is due first. It reads one key of
// each kind.
func (t *tables) earliest(kinds []store.OperationKind) (at time.Time, id string, found bool) {
	first := ""
	look := func(kind string) {
		b := t.bucket(dueIndex, kind)
		if b == nil {
			return
		}
		if k, _ := b.Cursor().First(); k != nil && (first == "" || string(k) < first) {
			first = string(k)
		}
	}
	if len(kinds) == 0 {
		c := t.bucket(dueIndex, "").Cursor()
		for kind, _ := c.First(); kind != nil; kind, _ = c.Next() {
			look(string(kind))
		}
	}
	for _, kind := range kinds {
		look(string(kind))
	}
	if first == "" {
		return time.Time{}, "", false
	}
	at, id = splitTimeKey([]byte(first))
	return at, id, true
}
