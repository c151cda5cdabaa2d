package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"holdfast/store"
)

// note adds one event to the history of an operation.
func (t *tables) note(id string, at time.Time, event, detail string) error {
	t.changed = true
	t.delta[activityTable]++
	b := t.bucket(activityTable, "")
	n, err := b.NextSequence()
	if err != nil {
		return err
	}
	sealed, err := seal(line{At: at.UnixMilli(), Event: event, Detail: detail})
	if err != nil {
		return err
	}
	return b.Put(binary.BigEndian.AppendUint64([]byte(id+"\x00"), n), sealed)
}

// story lists the activity of one operation, oldest first.
func (t *tables) story(id string) ([]store.Activity, error) {
	var list []store.Activity
	c := t.bucket(activityTable, "").Cursor()
	prefix := []byte(id + "\x00")
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
		var l line
		if err := unseal(v, &l); err != nil {
			return nil, fmt.Errorf("activity of %s: %w", id, err)
		}
		list = append(list, store.Activity{At: time.UnixMilli(l.At).UTC(), OperationID: id, Event: l.Event,
			Detail: l.Detail})
	}
	return list, nil
}

// forget deletes all activity of one operation.
func (t *tables) forget(id string) error {
	t.changed = true
	b := t.bucket(activityTable, "")
	prefix := []byte(id + "\x00")
	// After a deletion, the position of a cursor is undefined, so each round seeks again.
	for k, _ := b.Cursor().Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = b.Cursor().Seek(prefix) {
		if err := b.Delete(bytes.Clone(k)); err != nil {
			return err
		}
		t.delta[activityTable]--
	}
	return nil
}

// splitActivityKey returns the operation and the sequence number of an activity key. ok is false if k is not such a
// key.
func splitActivityKey(k []byte) (id string, sequence uint64, ok bool) {
	id, rest, ok := strings.Cut(string(k), "\x00")
	if !ok || len(rest) != 8 {
		return "", 0, false
	}
	return id, binary.BigEndian.Uint64([]byte(rest)), true
}
