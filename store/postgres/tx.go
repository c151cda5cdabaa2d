package postgres

import (
	"holdfast/store"
	"holdfast/store/table"
)

// tx is one request's view of the open transaction. It is a table.Writer, and embeds table.Tx, which provides the
// methods of store.Tx.
type tx struct {
	table.Tx
	reads   reads
	batch   *batch
	over    bool // its function has returned
	changes []store.Change
}

var (
	_ store.Tx     = (*tx)(nil)
	_ table.Writer = (*tx)(nil)
)

func newTx(b *batch) *tx {
	t := &tx{batch: b}
	t.reads.tx = t
	t.Begin(t.reads, t)
	return t
}

func (t *tx) ask(all ...*statement) error {
	if t.over {
		return errTxOver
	}
	return t.batch.ask(all...)
}

// Exec implements table.Writer.
func (t *tx) Exec(text string, args ...any) (int64, error) {
	if t.over {
		return 0, errTxOver
	}
	s := stmt(text, args...)
	err := t.batch.change(s)
	return s.changed, err
}

// Later implements table.Writer. The statement is sent with the next one that needs a result. If the server refuses it,
// the whole request fails: the next call returns the error, or Write does.
func (t *tx) Later(text string, args ...any) error {
	if t.over {
		return errTxOver
	}
	return t.batch.later(stmt(text, args...))
}

// Changed implements table.Writer.
func (t *tx) Changed(c store.Change) { t.changes = append(t.changes, c) }

// run executes a statement and ignores the number of changed rows.
func (t *tx) run(text string, args ...any) error {
	_, err := t.Exec(text, args...)
	return err
}
