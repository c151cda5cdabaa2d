package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"holdfast/store"
)

// Carrier is a database file that is opened to move a clinic. See store.Carrier.
type Carrier struct {
	conn  *conn
	begun bool
}

var _ store.Carrier = (*Carrier)(nil)

// numbered lists the tables whose rows SQLite itself numbers in the order of insertion.
var numbered = map[string]bool{"appointments": true, "idempotency_records": true, "audit_entries": true}

// ownMeta lists the keys of the rows of meta that belong to this file only.
const ownMeta = `('` + lastChange + `', '` + scrubDue + `', '` + unfinished + `')`

// unfinished is the key in meta whose value is the id of a partly copied clinic.
const unfinished = "carried_from"

// refuseUnfinished returns an error if the file contains only a part of a clinic.
func refuseUnfinished(ctx context.Context, c *conn) error {
	part := false
	err := c.query(ctx, func(*row) { part = true }, `SELECT 1 FROM meta WHERE key = '`+unfinished+`'`)
	if err == nil && part {
		err = fmt.Errorf(
			"%w: the move of a clinic into this database was interrupted; run holdfast migrate again to resume the "+
				"move",
			store.ErrUnavailable,
		)
	}
	return err
}

// OpenCarrier opens the file at path and migrates its schema. It creates the file if it is missing. No server may have
// the file open. Like Open, it takes one snapshot before the migrations.
func OpenCarrier(ctx context.Context, path, snapshots string, log *slog.Logger) (_ *Carrier, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	if err := ownerOnly(path); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	c, err := openConn(dsn(path))
	if err != nil {
		return nil, opening(path, err)
	}
	err = durable(ctx, c)
	if err == nil {
		err = migrate(ctx, c, migrations, snapshots, log)
	}
	if err != nil {
		return nil, errors.Join(opening(path, err), c.close())
	}
	return &Carrier{conn: c}, nil
}

// Columns implements store.Carrier.
func (x *Carrier) Columns(ctx context.Context, table string) (all []string, err error) {
	err = x.conn.query(ctx, func(r *row) { all = append(all, r.Text()) },
		`SELECT name FROM pragma_table_info(?) ORDER BY cid`, table)
	if numbered[table] {
		all = append(all, "row_number")
	}
	return all, err
}

// selected returns columns of a table under their SQLite names.
func selected(table string, columns []string) string {
	names := make([]string, len(columns))
	for i, name := range columns {
		if names[i] = name; name == "row_number" && numbered[table] {
			names[i] = "rowid"
		}
	}
	return strings.Join(names, ", ")
}

// ours returns a condition that excludes the rows of meta that belong to this file only (ownMeta).
func ours(table store.CarriedTable) string {
	if table.Name == "meta" {
		return " WHERE key NOT IN " + ownMeta
	}
	return ""
}

// Rows implements store.Carrier.
func (x *Carrier) Rows(ctx context.Context, table store.CarriedTable, columns []string,
	each func(store.Row) error) error {
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var failed error
	err := x.conn.query(reading, func(r *row) {
		if failed != nil {
			return
		}
		values := make(store.Row, len(columns))
		for i := range columns {
			if b, ok := r.values[i].([]byte); ok {
				values[i] = append([]byte{}, b...)
			} else {
				values[i] = r.values[i]
			}
		}
		if failed = each(values); failed != nil {
			stop(failed)
		}
	}, "SELECT "+selected(table.Name, columns)+" FROM "+table.Name+ours(table)+" ORDER BY "+table.Key)
	if failed != nil {
		return failed
	}
	return err
}

func (x *Carrier) begin() error {
	if x.begun {
		return nil
	}
	x.begun = true
	_, err := x.conn.exec(`BEGIN IMMEDIATE`)
	return err
}

// Insert implements store.Carrier.
func (x *Carrier) Insert(_ context.Context, table store.CarriedTable, columns []string, rows []store.Row) error {
	if err := x.begin(); err != nil {
		return err
	}
	if table.Begun {
		if _, err := x.conn.exec("DELETE FROM " + table.Name + ours(table)); err != nil {
			return err
		}
	}
	text := "INSERT INTO " + table.Name + " (" + selected(table.Name, columns) + ") VALUES (?" +
		strings.Repeat(", ?", len(columns)-1) + ")"
	for _, r := range rows {
		if _, err := x.conn.exec(text, r...); err != nil {
			return err
		}
	}
	return nil
}

// Raise implements store.Carrier.
func (x *Carrier) Raise(_ context.Context, table, id, column string, to int64) error {
	if err := x.begin(); err != nil {
		return err
	}
	_, err := x.conn.exec("UPDATE "+table+" SET "+column+" = ? WHERE id = ?", to, id)
	return err
}

// LastChange implements store.Carrier.
func (x *Carrier) LastChange(ctx context.Context) (int64, error) { return readLastChange(ctx, x.conn) }

// SetLastChange implements store.Carrier.
func (x *Carrier) SetLastChange(_ context.Context, number int64) error {
	if err := x.begin(); err != nil {
		return err
	}
	_,
		err := x.conn.exec(
		`INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
		lastChange, strconv.FormatInt(number, 10),
	)
	return err
}

// ID returns the database's own id.
func (x *Carrier) ID(ctx context.Context) (string, error) { return databaseID(ctx, x.conn) }

// Keep implements store.Carrier.
func (x *Carrier) Keep(_ context.Context, id string) error {
	if err := x.begin(); err != nil {
		return err
	}
	_, err := x.conn.exec(`INSERT INTO meta (key, value) VALUES ('`+unfinished+
		`', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, id)
	if err != nil {
		return err
	}
	return x.commit()
}

// Unfinished implements store.Carrier.
func (x *Carrier) Unfinished(ctx context.Context) (id string, err error) {
	err = x.conn.query(ctx, func(r *row) { id = r.Text() }, `SELECT value FROM meta WHERE key = '`+unfinished+`'`)
	return id, err
}

// Clear implements store.Carrier.
func (x *Carrier) Clear(context.Context) error {
	if err := x.begin(); err != nil {
		return err
	}
	for _, table := range slices.Backward(store.Carried) {
		if table.Begun {
			continue
		}
		if _, err := x.conn.exec("DELETE FROM " + table.Name); err != nil {
			return err
		}
	}
	return nil
}

// Commit implements store.Carrier.
func (x *Carrier) Commit(context.Context) error {
	if !x.begun {
		return nil
	}
	if _, err := x.conn.exec(`DELETE FROM meta WHERE key = '` + unfinished + `'`); err != nil {
		return err
	}
	return x.commit()
}

func (x *Carrier) commit() error {
	x.begun = false
	_, err := x.conn.exec(`COMMIT`)
	return err
}

// Close implements store.Carrier. SQLite copies the log into the file.
func (x *Carrier) Close() error { return x.conn.close() }
