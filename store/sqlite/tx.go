package sqlite

import "holdfast/store"

// tx is one request's view of the open transaction. Its questions are answered by reads, its changes are in the files
// of their nouns.
type tx struct {
	reads
	conn    *conn
	over    bool // its function has returned
	changes []store.Change
	end     *chainEnd         // of the audit's chain: the writer's
	read    store.Appointment // the last one that was read, which is nearly always the one that is changed next
}

var _ store.Tx = (*tx)(nil)

func newTx(c *conn, end *chainEnd) *tx {
	t := &tx{conn: c, end: end}
	t.reads.tx = t
	return t
}

// exec runs one statement and says how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	if t.over {
		return 0, errTxOver
	}
	return t.conn.exec(query, args...)
}

// changed notes what the request changes. Nobody hears of it unless it is committed.
func (t *tx) changed(c store.Change) { t.changes = append(t.changes, c) }

// mustChange is exec for a statement that names one row: none is ErrNotFound.
func (t *tx) mustChange(query string, args ...any) error {
	n, err := t.exec(query, args...)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return err
}

// run is exec for a statement whose count does not matter.
func (t *tx) run(query string, args ...any) error {
	_, err := t.exec(query, args...)
	return err
}
