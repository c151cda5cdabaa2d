package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"modernc.org/sqlite"

	"holdfast/store"
	"holdfast/store/table"
)

// conn is one connection and the statements prepared on it. One goroutine uses it at a time.
//
// It speaks to the driver directly: database/sql would add its locks, conversions and one more goroutine to every
// statement of the group commit, and could hand the next statement to another connection.
type conn struct {
	driver   driver.Conn
	prepared map[string]*statement // at most maxPrepared
	clock    uint64                // counts the uses of statements
	args     []driver.NamedValue   // reused from call to call
	executed int                   // statements that may have written, for the checkpoint's estimate

	// fault is the first error that was not a refusal by a constraint. Once it is set the connection does nothing
	// more until it was rolled back: after such an error SQLite may have undone more than the one statement.
	fault error
}

// maxPrepared bounds the statements that a connection keeps. It is more than the program has, filters combined in the
// ways that people combine them included; a text beyond it costs its preparation again.
const maxPrepared = 128

type statement struct {
	driver.Stmt
	values []driver.Value
	used   uint64 // the connection's clock when it was last asked for
}

func openConn(dsn string) (*conn, error) {
	c, err := (&sqlite.Driver{}).Open(dsn)
	if err != nil {
		return nil, translate(err)
	}
	return &conn{driver: c, prepared: map[string]*statement{}}, nil
}

func (c *conn) close() error {
	for _, s := range c.prepared {
		s.Close()
	}
	c.prepared = nil
	if err := c.driver.Close(); err != nil {
		return translate(err)
	}
	return nil
}

// exec runs one statement and says how many rows it changed. It cannot be cancelled: others may share its commit.
func (c *conn) exec(query string, args ...any) (int64, error) {
	if c.fault != nil {
		return 0, c.fault
	}
	c.executed++
	s, err := c.prepare(query)
	if err != nil {
		return 0, c.failed(err)
	}
	result, err := s.Stmt.(driver.StmtExecContext).ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, c.failed(err)
	}
	return result.RowsAffected()
}

// query hands every row to each. A cancelled ctx ends it between rows, and inside SQLite before the first.
func (c *conn) query(ctx context.Context, each func(*row), query string, args ...any) error {
	if c.fault != nil {
		return c.fault
	}
	s, err := c.prepare(query)
	if err != nil {
		return c.failed(err)
	}
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, c.bind(args))
	if err != nil {
		return c.failed(err)
	}
	defer rows.Close()
	if s.values == nil {
		s.values = make([]driver.Value, len(rows.Columns()))
	}
	for {
		switch err := rows.Next(s.values); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return c.failed(err)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		each(&row{values: s.values})
	}
}

// script runs any number of statements without arguments and keeps none of them prepared.
func (c *conn) script(text string) error {
	if c.fault != nil {
		return c.fault
	}
	_, err := c.driver.(driver.ExecerContext).ExecContext(context.Background(), text, nil)
	if err != nil {
		return c.failed(err)
	}
	return nil
}

// prepare returns the statement of a text. In the place of one too many, the one that was asked for longest ago goes: it
// is not in use, because a connection runs one statement at a time.
func (c *conn) prepare(query string) (*statement, error) {
	c.clock++
	if s, ok := c.prepared[query]; ok {
		s.used = c.clock
		return s, nil
	}
	s, err := c.driver.Prepare(table.SQLite.Text(query))
	if err != nil {
		return nil, err
	}
	if len(c.prepared) >= maxPrepared {
		oldest := ""
		for text, kept := range c.prepared {
			if oldest == "" || kept.used < c.prepared[oldest].used {
				oldest = text
			}
		}
		c.prepared[oldest].Close()
		delete(c.prepared, oldest)
	}
	c.prepared[query] = &statement{Stmt: s, used: c.clock}
	return c.prepared[query], nil
}

func (c *conn) failed(err error) error {
	translated := translate(err)
	if !refusal(err) {
		c.fault = translated
	}
	return translated
}

// bind turns Go values into what the driver takes. An instant becomes its Unix milliseconds, truncated.
func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, arg := range args {
		v := driver.NamedValue{Ordinal: i + 1}
		switch x := arg.(type) {
		case nil, int64, bool, []byte:
			v.Value = x
		case string:
			v.Value = store.Text(x)
		case *string:
			v.Value = store.Text(*x)
		case int:
			v.Value = int64(x)
		case [32]byte:
			v.Value = x[:]
		case time.Time:
			v.Value = x.UnixMilli()
		case *time.Time:
			v.Value = x.UnixMilli()
		default:
			panic(fmt.Sprintf("sqlite: argument %d is a %T", i+1, arg))
		}
		c.args = append(c.args, v)
	}
	return c.args
}

// row is a table.Row.
type row struct {
	values []driver.Value
	column int
}

func (r *row) next() driver.Value {
	v := r.values[r.column]
	r.column++
	return v
}

func (r *row) Text() string {
	s, _ := r.next().(string)
	return s
}

func (r *row) Int64() int64 {
	n, _ := r.next().(int64)
	return n
}

func (r *row) Int() int   { return int(r.Int64()) }
func (r *row) Bool() bool { return r.Int64() != 0 }

func (r *row) Bytes() []byte {
	b, _ := r.next().([]byte)
	return b
}

func (r *row) Hash() (h [32]byte) {
	copy(h[:], r.Bytes())
	return h
}

// json is nil for NULL.
func (r *row) JSON() []byte {
	if s := r.Text(); s != "" {
		return []byte(s)
	}
	return nil
}

// time is the zero time for NULL, and UTC otherwise.
func (r *row) Time() time.Time {
	if n, ok := r.next().(int64); ok {
		return time.UnixMilli(n).UTC()
	}
	return time.Time{}
}
