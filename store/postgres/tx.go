package postgres

import "holdfast/store"

// tx is one request's view of the open transaction. Its questions are answered by reads, its changes are in the files of their
// nouns.
type tx struct {
	reads
	batch   *batch
	over    bool // its function has returned
	changes []store.Change
	read    store.Appointment // the last one that was read, which is nearly always the one that is changed next
}

var _ store.Tx = (*tx)(nil)

func newTx(b *batch) *tx {
	t := &tx{batch: b}
	t.reads.tx = t
	return t
}

func (t *tx) ask(all ...*statement) error {
	if t.over {
		return errTxOver
	}
	return t.batch.ask(all...)
}

// exec runs one statement and says how many rows it changed.
func (t *tx) exec(text string, args ...any) (int64, error) {
	if t.over {
		return 0, errTxOver
	}
	s := stmt(text, args...)
	err := t.batch.change(s)
	return s.changed, err
}

// changed notes what the request changes. Nobody hears of it unless it is committed.
func (t *tx) changed(c store.Change) { t.changes = append(t.changes, c) }

// mustChange is exec for a statement that names one row: none is ErrNotFound.
func (t *tx) mustChange(text string, args ...any) error {
	n, err := t.exec(text, args...)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return err
}

// run is exec for a statement whose count does not matter.
func (t *tx) run(text string, args ...any) error {
	_, err := t.exec(text, args...)
	return err
}

// later is run for a statement that nobody waits for: it goes out with the next one that is. If it is refused the whole
// request is, and the error is that of the next call, or of Write.
func (t *tx) later(text string, args ...any) error {
	if t.over {
		return errTxOver
	}
	return t.batch.later(stmt(text, args...))
}
