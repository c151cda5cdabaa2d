package postgres

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"holdfast/store"
)

// Carrier is a database opened to move a clinic: no node may use it. See store.Carrier.
type Carrier struct {
	conn    *conn
	begun   bool
	cursors int // number opened; each has its own name: the columns of a prepared FETCH must not change
}

var _ store.Carrier = (*Carrier)(nil)

// movedTo is the key in meta whose value names the database that the clinic was moved to.
const movedTo = "moved_to"

// ownMeta lists the keys of the rows of meta that belong to this database only.
const ownMeta = `('changes_pruned', '` + movedTo + `', '` + signsWith + `', '` + unfinished + `', '` + openTo + `')`

// unfinished is the key in meta whose value is the id of a partly copied clinic.
const unfinished = "carried_from"

// begun is the value of unfinished until the id of the clinic is known. It is never the id of a database.
const begun = "begun"

// MovedError means that the clinic of this database was moved to another database and is served from there. It wraps
// store.ErrUnavailable.
type MovedError struct{ To string }

func (e *MovedError) Error() string {
	return fmt.Sprintf("this clinic was moved to %s, and later bookings are there. To use this database anyway, "+
		"remove the row '%s' from its table meta", e.To, movedTo)
}

// Unwrap returns store.ErrUnavailable.
func (e *MovedError) Unwrap() error { return store.ErrUnavailable }

// refuseMoved returns a *MovedError if the clinic was moved to another database.
func refuseMoved(ctx context.Context, c *conn) error {
	where, err := oneOn(ctx, c, (*row).Text, `SELECT COALESCE((SELECT value FROM meta WHERE key = '`+movedTo+`'), '')`)
	if err == nil && where != "" {
		err = &MovedError{where}
	}
	return err
}

// refuseUnfinished returns store.ErrUnavailable if the database contains only a part of a clinic.
func refuseUnfinished(ctx context.Context, c *conn) error {
	id, err := oneOn(ctx, c, (*row).Text, `SELECT COALESCE((SELECT value FROM meta WHERE key = '`+unfinished+`'), '')`)
	if err == nil && id != "" {
		err = fmt.Errorf(
			"%w: the move of a clinic into this database was interrupted; run holdfast migrate again to resume the "+
				"move",
			store.ErrUnavailable,
		)
	}
	return err
}

// OpenCarrier connects, locks the database against all nodes and migrates its schema. Errors: ErrInUse, a *MovedError.
func OpenCarrier(ctx context.Context, url string, log *slog.Logger) (*Carrier, error) {
	return openCarrier(ctx, url, log, program)
}

// OpenTarget works like OpenCarrier, for the database into which a clinic is moved. If the database is empty, no server
// opens it before Commit.
func OpenTarget(ctx context.Context, url string, log *slog.Logger) (*Carrier, error) {
	of := program
	of.target = true
	return openCarrier(ctx, url, log, of)
}

func openCarrier(ctx context.Context, url string, log *slog.Logger, of schema) (_ *Carrier, err error) {
	o := Options{URL: url, Logger: log}
	if err := o.fill(); err != nil {
		return nil, err
	}
	at, err := newServer(o)
	if err != nil {
		return nil, err
	}
	c, err := at.connect(ctx)
	if err != nil {
		return nil, opening(err)
	}
	defer func() {
		if err != nil {
			c.close()
			err = opening(err)
		}
	}()
	if err := c.script(ctx,
		`SET idle_in_transaction_session_timeout = 0; SET client_min_messages = warning`); err != nil {
		return nil, err
	}
	if err := (&Store{server: at, alone: true}).takePlace(ctx, c); err != nil {
		return nil, err
	}
	if err := migrate(ctx, c, of, o.Logger, false); err != nil { // migrate also removes the time limit on statements
		return nil, err
	}
	if err := durable(ctx, c, o.Logger); err != nil {
		return nil, err
	}
	if err := refuseMoved(ctx, c); err != nil {
		return nil, err
	}
	return &Carrier{conn: c}, nil
}

// Columns implements store.Carrier.
func (x *Carrier) Columns(ctx context.Context, table string) (all []string, err error) {
	_, err = x.conn.exchange(ctx, asks(func(r *row) { all = append(all, r.Text()) }, `
		SELECT attname::text FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, table))
	return all, translate(err)
}

// kinds returns the type of each column of a table, by name.
func (x *Carrier) kinds(ctx context.Context, table string) (map[string]string, error) {
	kinds := map[string]string{}
	_, err := x.conn.exchange(ctx, asks(func(r *row) { kinds[r.Text()] = r.Text() }, `
		SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute
		WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped`, table))
	return kinds, translate(err)
}

// rowsAtOnce is the number of rows per FETCH.
const rowsAtOnce = 2000

// Rows implements store.Carrier. It reads batches of rows through a cursor, and calls each between two batches. So each
// may query on the same connection.
func (x *Carrier) Rows(ctx context.Context, table store.CarriedTable, columns []string,
	each func(store.Row) error) error {
	kinds, err := x.kinds(ctx, table.Name)
	if err != nil {
		return err
	}
	if err := x.begin(ctx); err != nil {
		return err
	}
	x.cursors++
	cursor := "carried_" + strconv.Itoa(x.cursors)
	if err := x.conn.script(ctx, "DECLARE "+cursor+" CURSOR FOR SELECT "+strings.Join(columns, ", ")+" FROM "+
		table.Name+ours(table)+" ORDER BY "+table.Key); err != nil {
		return translate(err)
	}
	for {
		var batch []store.Row
		_, err := x.conn.exchange(ctx, asks(func(r *row) { batch = append(batch, scanCells(r, columns, kinds)) },
			fmt.Sprintf("FETCH %d FROM %s", rowsAtOnce, cursor)))
		if err != nil {
			return translate(err)
		}
		for _, r := range batch {
			if err := each(r); err != nil {
				_ = x.conn.script(context.WithoutCancel(ctx), "CLOSE "+cursor) // closing the connection closes it too
				return err
			}
		}
		if len(batch) < rowsAtOnce {
			return translate(x.conn.script(ctx, "CLOSE "+cursor))
		}
	}
}

func scanCells(r *row, columns []string, kinds map[string]string) store.Row {
	cells := make(store.Row, len(columns))
	for i, name := range columns {
		value := r.next()
		switch {
		case value == nil:
		case kinds[name] == "bigint", kinds[name] == "integer":
			cells[i], _ = integer(value)
		case kinds[name] == "boolean":
			cells[i] = int64(value[0])
		case kinds[name] == "bytea":
			cells[i] = append([]byte{}, value...)
		default:
			cells[i] = string(value)
		}
	}
	return cells
}

// begin opens the transaction for all reads and writes, after taking orderLock.
func (x *Carrier) begin(ctx context.Context) error {
	if x.begun {
		return nil
	}
	x.begun = true
	_, err := x.conn.exchange(ctx, stmt(`BEGIN ISOLATION LEVEL READ COMMITTED`),
		stmt(`SELECT pg_advisory_xact_lock($1)`, int64(orderLock)))
	return translate(err)
}

// ours returns a condition that excludes the rows of meta that belong to this database only (ownMeta).
func ours(table store.CarriedTable) string {
	if table.Name == "meta" {
		return " WHERE key NOT IN " + ownMeta
	}
	return ""
}

// Insert implements store.Carrier.
func (x *Carrier) Insert(ctx context.Context, table store.CarriedTable, columns []string, rows []store.Row) error {
	if err := x.begin(ctx); err != nil {
		return err
	}
	kinds, err := x.kinds(ctx, table.Name)
	if err != nil {
		return err
	}
	if table.Begun {
		if err := x.conn.script(ctx, "DELETE FROM "+table.Name+ours(table)); err != nil {
			return translate(err)
		}
	}
	var text bytes.Buffer
	for _, r := range rows {
		for i, cell := range r {
			if i > 0 {
				text.WriteByte('\t')
			}
			if err := writeCell(&text, cell, kinds[columns[i]]); err != nil {
				return fmt.Errorf("%s of a row of %s: %w", columns[i], table.Name, err)
			}
		}
		text.WriteByte('\n')
	}
	_, err = x.conn.pg.CopyFrom(ctx, &text, "COPY "+table.Name+" ("+strings.Join(columns, ", ")+") FROM STDIN")
	return translate(err)
}

// forCopy escapes text for COPY.
var forCopy = strings.NewReplacer("\\", "\\\\", "\t", "\\t", "\n", "\\n", "\r", "\\r")

func writeCell(w *bytes.Buffer, cell any, kind string) error {
	switch v := cell.(type) {
	case nil:
		w.WriteString(`\N`)
	case int64:
		if kind == "boolean" {
			w.WriteString(strconv.FormatBool(v != 0))
		} else {
			w.WriteString(strconv.FormatInt(v, 10))
		}
	case []byte:
		w.WriteString(`\\x` + hex.EncodeToString(v))
	case string:
		if strings.ContainsRune(v, 0) {
			return fmt.Errorf("%w: a text with a zero byte, which PostgreSQL does not accept", store.ErrInvalid)
		}
		_, _ = forCopy.WriteString(w, v)
	default:
		return fmt.Errorf("%w: a %T", store.ErrInvalid, cell)
	}
	return nil
}

// Raise implements store.Carrier.
func (x *Carrier) Raise(ctx context.Context, table, id, column string, to int64) error {
	if err := x.begin(ctx); err != nil {
		return err
	}
	_, err := x.conn.exchange(ctx, stmt("UPDATE "+table+" SET "+column+" = $1 WHERE id = $2", to, id))
	return translate(err)
}

// LastChange implements store.Carrier.
func (x *Carrier) LastChange(ctx context.Context) (int64, error) {
	last, err := oneOn(ctx, x.conn, (*row).Int64, `SELECT COALESCE(max(number), 0) FROM changes`)
	return last, translate(err)
}

// SetLastChange implements store.Carrier. A follower that requests earlier changes gets store.ErrBehind.
func (x *Carrier) SetLastChange(ctx context.Context, number int64) error {
	if number == 0 {
		return nil
	}
	if err := x.begin(ctx); err != nil {
		return err
	}
	_, err := x.conn.exchange(ctx, stmt(`INSERT INTO changes (number, change) VALUES ($1, '{}')`, number),
		stmt(
			`INSERT INTO meta (key, value) VALUES ('changes_pruned', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
			strconv.FormatInt(number, 10),
		))
	return translate(err)
}

// ID returns the database's own id.
func (x *Carrier) ID(ctx context.Context) (string, error) {
	id, err := oneOn(ctx, x.conn, (*row).Text, `SELECT value FROM meta WHERE key = 'database_id'`)
	return id, translate(err)
}

// Keep implements store.Carrier.
func (x *Carrier) Keep(ctx context.Context, id string) error {
	if err := x.begin(ctx); err != nil {
		return err
	}
	x.begun = false
	_, err := x.conn.exchange(ctx, stmt(`INSERT INTO meta (key, value) VALUES ('`+unfinished+
		`', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, id), stmt(`COMMIT`))
	return translate(err)
}

// Unfinished implements store.Carrier.
func (x *Carrier) Unfinished(ctx context.Context) (string, error) {
	id, err := oneOn(ctx, x.conn, (*row).Text,
		`SELECT COALESCE((SELECT value FROM meta WHERE key = '`+unfinished+`'), '')`)
	return id, translate(err)
}

// Clear implements store.Carrier.
func (x *Carrier) Clear(ctx context.Context) error {
	if err := x.begin(ctx); err != nil {
		return err
	}
	var names []string
	for _, table := range store.Carried {
		if !table.Begun {
			names = append(names, table.Name)
		}
	}
	return translate(x.conn.script(ctx, "TRUNCATE appointment_resources, "+strings.Join(names, ", ")))
}

// Commit implements store.Carrier. It sets each of the counters to continue after the copied rows.
func (x *Carrier) Commit(ctx context.Context) error {
	if !x.begun {
		return nil
	}
	for _, counter := range counters {
		table, column, _ := strings.Cut(counter, ".")
		_, err := x.conn.exchange(ctx, asks(nil,
			fmt.Sprintf(
				`SELECT setval(pg_get_serial_sequence('%s', '%s'), COALESCE((SELECT max(%s) FROM %s), 0) + 1, false)`,
				table, column, column, table,
			)))
		if err != nil {
			return translate(err)
		}
	}
	x.begun = false
	return translate(x.conn.script(ctx, `DELETE FROM meta WHERE key = '`+unfinished+`'; COMMIT`))
}

// MarkMoved makes every node refuse this database, because its clinic is now served from another one.
func (x *Carrier) MarkMoved(ctx context.Context, where string) error {
	if err := x.begin(ctx); err != nil {
		return err
	}
	_, err := x.conn.exchange(ctx, stmt(`INSERT INTO meta (key, value) VALUES ('`+movedTo+
		`', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, where))
	if err != nil {
		return translate(err)
	}
	return x.Commit(ctx)
}

// Close implements store.Carrier. It makes the database available to nodes again.
func (x *Carrier) Close() error {
	x.conn.close()
	return nil
}
