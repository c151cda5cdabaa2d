package sqlite

import (
	"holdfast/store"
	"holdfast/store/table"
)

// tx is one request's view of the open transaction. It is a table.Writer, and embeds table.Tx, which provides the
// methods of store.Tx.
type tx struct {
	table.Tx
	reads   reads
	conn    *conn
	over    bool // its function has returned
	wrote   bool // a statement has succeeded; a refused statement changes nothing
	changes []store.Change
	end     *chainEnd // head of the audit chain; the writer owns it
}

var (
	_ store.Tx     = (*tx)(nil)
	_ table.Writer = (*tx)(nil)
)

func newTx(c *conn, end *chainEnd) *tx {
	t := &tx{conn: c, end: end}
	t.reads.tx = t
	t.Begin(t.reads, t)
	return t
}

// Exec implements table.Writer.
func (t *tx) Exec(query string, args ...any) (int64, error) {
	if t.over {
		return 0, errTxOver
	}
	n, err := t.conn.exec(query, args...)
	t.wrote = t.wrote || err == nil
	return n, err
}

// Later implements table.Writer. A statement costs no round trip here, so Later runs it immediately.
func (t *tx) Later(query string, args ...any) error { return t.run(query, args...) }

// Changed implements table.Writer.
func (t *tx) Changed(c store.Change) { t.changes = append(t.changes, c) }

// run executes a statement and ignores the number of changed rows.
func (t *tx) run(query string, args ...any) error {
	_, err := t.Exec(query, args...)
	return err
}
