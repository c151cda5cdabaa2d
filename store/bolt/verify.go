package bolt

import (
	"errors"
	"fmt"
	"os"

	"go.etcd.io/bbolt"
)

// faultLimit is the maximum number of violations in an error. The first few are enough for a diagnosis.
const faultLimit = 10

// verify reads the whole file and checks everything that this package relies on: both meta pages, bbolt's own
// structure, each record's checksum, and that indexes and counts match the operations exactly. It may crash on a
// damaged file. It accepts a file without buckets, because such a file is new, and a file of another format.
func verify(db *bbolt.DB) error {
	f, err := os.Open(db.Path())
	if err != nil {
		return err
	}
	defer f.Close()
	if err := verifyMetaPages(f, db.Info().PageSize); err != nil {
		return err
	}
	return db.View(func(tx *bbolt.Tx) error {
		if err := verifyPages(tx, f, db.Info().PageSize); err != nil {
			return err
		}
		for err := range tx.Check() {
			return fmt.Errorf("bbolt: %w", err) // checking the rest of a broken tree is useless
		}
		if k, _ := tx.Cursor().First(); k == nil {
			return nil
		}
		if b := tx.Bucket([]byte(metaTable)); b != nil {
			if have := string(b.Get([]byte("format"))); have != "" && have != format {
				return nil
			}
		}
		for _, name := range tableNames {
			if tx.Bucket([]byte(name)) == nil {
				return fmt.Errorf("there is no bucket %q", name)
			}
		}
		if _, err := readMarker(tx.Bucket([]byte(metaTable))); err != nil {
			return fmt.Errorf("the database marker cannot be read: %w", err)
		}
		return verifyTables(view(tx))
	})
}

// verifyTables compares the operations with the data that is derived from them: the indexes and the counts.
func verifyTables(t *tables) error {
	var faults []error
	fault := func(text string, args ...any) bool {
		faults = append(faults, fmt.Errorf(text, args...))
		return len(faults) < faultLimit
	}
	want := map[string]int{} // the entries that each index must have
	counts := map[string]int64{}
	c := t.bucket(operationTable, "").Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		op, err := decode(v)
		if err == nil {
			err = op.Validate()
		}
		if err != nil || op.ID != string(k) {
			if !fault("operation %q cannot be read: %v", k, err) {
				break
			}
			continue
		}
		counts[string(op.Status)]++
		for _, e := range entries(op.Operation) {
			want[e.index]++
			if b := t.bucket(e.index, e.name); b == nil || b.Get([]byte(e.key)) == nil {
				fault("index %s does not have operation %s", e.index, op.ID)
			}
		}
		if len(faults) >= faultLimit {
			break
		}
	}
	for _, index := range indexNames {
		if have := keys(t.bucket(index, "")); have != want[index] {
			fault("index %s has %d entries instead of %d", index, have, want[index])
		}
	}
	counts[removedTable] = int64(keys(t.bucket(removedTable, "")))
	lines, err := verifyActivity(t)
	if err != nil {
		fault("%w", err)
	}
	counts[activityTable] = lines
	for _, name := range counted {
		if have := t.count(name); have != counts[name] {
			fault("%d rows are counted as %s instead of %d", have, name, counts[name])
		}
	}
	return errors.Join(faults...)
}

// keys counts the entries of an index, including those in the buckets inside it.
func keys(b *bbolt.Bucket) (n int) {
	c := b.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if inner := b.Bucket(k); inner != nil {
			n += keys(inner)
		} else {
			n++
		}
	}
	return n
}

// verifyActivity reads and counts every line of activity. The bucket's sequence must not be less than the number of any
// line, or new lines would replace old ones.
func verifyActivity(t *tables) (lines int64, err error) {
	b := t.bucket(activityTable, "")
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		id, sequence, ok := splitActivityKey(k)
		var l line
		switch err := unseal(v, &l); {
		case !ok:
			return 0, fmt.Errorf("an activity has the key %x", k)
		case err != nil:
			return 0, fmt.Errorf("an activity of %s cannot be read: %w", id, err)
		case sequence > b.Sequence():
			return 0, fmt.Errorf("an activity of %s has number %d, but the last assigned number is %d", id, sequence,
				b.Sequence())
		}
		lines++
	}
	return lines, nil
}
