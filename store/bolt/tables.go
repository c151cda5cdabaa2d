package bolt

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"holdfast/store"
)

// The buckets of the file. The indexes contain keys without values. They are derived from the operations, so that no
// read needs a scan.
const (
	dueIndex         = "due"          // kind → bucket of (NextAttemptAt, id); pending operations only
	statusIndex      = "status"       // status → bucket of id
	appointmentIndex = "appointments" // (appointment id, 0, id)
	finishedIndex    = "finished"     // (FinishedAt, id) of completed operations

	operationTable = "operations" // id → the sealed record
	activityTable  = "activity"   // (id, 0, sequence) → the sealed line
	removedTable   = "removed"    // (removal, id) of removed operations whose activity remains
	countTable     = "counts"     // status, status and kind ("failed/email"), or table → how many, big-endian
	metaTable      = "meta"       // format → 1; witness → the sealed Marker; unfilled → 1 until the first Add
)

var (
	indexNames = [...]string{dueIndex, statusIndex, appointmentIndex, finishedIndex}
	tableNames = [...]string{dueIndex, statusIndex, appointmentIndex, finishedIndex, operationTable, activityTable,
		removedTable, countTable, metaTable}
	// counted lists the counts that verify compares with the entries. So verify detects that a damaged page has lost
	// entries.
	counted = [...]string{string(store.OperationPending), string(store.OperationProcessing),
		string(store.OperationCompleted), string(store.OperationFailed), activityTable, removedTable}
)

// tables is one transaction on the queue's buckets. insert, store and remove change operations, and also update the
// indexes and counts.
type tables struct {
	tx      *bbolt.Tx
	buckets map[[2]string]*bbolt.Bucket
	delta   map[string]int64 // changes to the counts, written once by flush
	changed bool             // something was written
}

func view(tx *bbolt.Tx) *tables {
	return &tables{tx: tx, buckets: map[[2]string]*bbolt.Bucket{}, delta: map[string]int64{}}
}

// bucket returns a table, or the bucket called name inside the table. It returns nil if there is none.
func (t *tables) bucket(table, name string) *bbolt.Bucket {
	k := [2]string{table, name}
	if b := t.buckets[k]; b != nil {
		return b
	}
	b := t.tx.Bucket([]byte(table))
	if b != nil && name != "" {
		b = b.Bucket([]byte(name))
	}
	if b != nil {
		b.FillPercent = fill
		t.buckets[k] = b
	}
	return b
}

// fill is the fraction of a page that stays filled after a split. Ids and instants are mostly ascending, so a page in
// the middle rarely grows. With bbolt's default of one half, the file would be twice as large.
const fill = 0.9

// operation reads one operation. Errors: ErrNotFound.
func (t *tables) operation(id string) (stored, error) {
	sealed := t.bucket(operationTable, "").Get([]byte(id))
	if sealed == nil {
		return stored{}, fmt.Errorf("operation %s: %w", id, store.ErrNotFound)
	}
	op, err := decode(sealed)
	if err != nil {
		return stored{}, fmt.Errorf("operation %s: %w", id, err)
	}
	return op, nil
}

// insert adds a new operation. sealed is its record; the caller must not change it afterwards.
func (t *tables) insert(op store.Operation, sealed []byte) error {
	t.changed = true
	for _, e := range entries(op) {
		if err := t.put(e); err != nil {
			return err
		}
	}
	t.tally(op, 1)
	return t.bucket(operationTable, "").Put([]byte(op.ID), sealed)
}

// tally changes the counts for one operation that is added (1) or removed (-1).
func (t *tables) tally(op store.Operation, by int64) {
	t.delta[string(op.Status)] += by
	t.delta[kindCount(op.Status, op.Kind)] += by
}

// kindCount returns the name of the count of one status and kind.
func kindCount(status store.OperationStatus, kind store.OperationKind) string {
	return string(status) + "/" + string(kind)
}

// replace replaces old with op, which has the same id. An erased payload stays erased.
func (t *tables) replace(old stored, op store.Operation) error {
	if old.erased {
		op.Payload = nil
	}
	return t.store(old, stored{op, old.erased})
}

func (t *tables) store(old, op stored) error {
	sealed, err := op.encode()
	if err != nil {
		return err
	}
	t.changed = true
	before, after := entries(old.Operation), entries(op.Operation)
	for _, e := range before {
		if !slices.Contains(after, e) {
			if err := t.drop(e); err != nil {
				return err
			}
		}
	}
	for _, e := range after {
		if !slices.Contains(before, e) {
			if err := t.put(e); err != nil {
				return err
			}
		}
	}
	t.tally(old.Operation, -1)
	t.tally(op.Operation, 1)
	return t.bucket(operationTable, "").Put([]byte(op.ID), sealed)
}

// remove deletes an operation and its index entries. Its activity is kept.
func (t *tables) remove(old stored) error {
	t.changed = true
	for _, e := range entries(old.Operation) {
		if err := t.drop(e); err != nil {
			return err
		}
	}
	t.tally(old.Operation, -1)
	return t.bucket(operationTable, "").Delete([]byte(old.ID))
}

func (t *tables) put(e entry) error {
	t.changed = true
	b := t.bucket(e.index, e.name)
	if b == nil {
		var err error
		if b, err = t.bucket(e.index, "").CreateBucketIfNotExists([]byte(e.name)); err != nil {
			return err
		}
		t.buckets[[2]string{e.index, e.name}] = b
	}
	return b.Put([]byte(e.key), nil)
}

func (t *tables) drop(e entry) error {
	t.changed = true
	if b := t.bucket(e.index, e.name); b != nil {
		return b.Delete([]byte(e.key))
	}
	return nil
}

func (t *tables) count(name string) int64 {
	v := t.bucket(countTable, "").Get([]byte(name))
	if len(v) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(v))
}

// flush writes the counts. Call it last before a commit.
func (t *tables) flush() error {
	for name, d := range t.delta {
		if d == 0 {
			continue
		}
		n := t.count(name) + d
		if err := t.bucket(countTable, "").Put([]byte(name),
			binary.BigEndian.AppendUint64(nil, uint64(n))); err != nil {
			return err
		}
	}
	return nil
}

// recount counts the operations by status and kind again if the counts by kind do not add up. This happens if an older
// program, which does not count by kind, wrote the file.
func (t *tables) recount() error {
	sums := map[string]int64{}
	var stale []string
	c := t.bucket(countTable, "").Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if status, _, byKind := strings.Cut(string(k), "/"); byKind {
			sums[status] += t.count(string(k))
			stale = append(stale, string(k))
		}
	}
	right := true
	for _, status := range counted[:4] {
		right = right && sums[status] == t.count(status)
	}
	if right {
		return nil
	}
	for _, name := range stale {
		t.delta[name] = -t.count(name)
	}
	err := t.each(store.OperationFilter{}, func(id string) (bool, error) {
		op, err := t.operation(id)
		if err == nil {
			t.delta[kindCount(op.Status, op.Kind)]++
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	return t.flush()
}
