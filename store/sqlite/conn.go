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

// conn is one connection and the statements prepared on it. Only one goroutine may use it at a time.
//
// It calls the driver directly. database/sql would add locks, conversions and a goroutine to every statement of the
// group commit, and could run the next statement on another connection.
type conn struct {
	driver   driver.Conn
	prepared map[string]*statement // at most maxPrepared
	clock    uint64                // counts the uses of statements
	args     []driver.NamedValue   // reused from call to call
	executed int                   // the number of statements that may have written, for checkpoint.committed

	// fault is the first error that was not a refusal by a constraint. After a fault, the connection refuses every
	// statement until a rollback, because SQLite may have undone more than the failed statement.
	fault error
}

// maxPrepared is the maximum number of prepared statements of a connection. The program has fewer statements, including
// the usual combinations of filters. At the limit, a new statement replaces the least recently used one.
const maxPrepared = 128

type statement struct {
	driver.Stmt
	values []driver.Value
	used   uint64 // the connection's clock at the last use
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

// exec runs one statement and returns how many rows it changed. It cannot be cancelled: other callers may share its
// commit.
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

// query passes every row to each. If ctx is cancelled, query stops before the next row, even while SQLite is still
// computing the first row.
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

// script runs any number of statements without arguments. It does not keep them prepared.
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

// prepare returns the prepared statement of a query. At the limit it replaces the least recently used statement. That
// statement is not running, because a connection runs one statement at a time.
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

// bind converts Go values to the driver's. An instant becomes its Unix milliseconds, truncated.
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

// JSON returns nil for NULL.
func (r *row) JSON() []byte {
	if s := r.Text(); s != "" {
		return []byte(s)
	}
	return nil
}

// Time returns the zero time for NULL, and UTC otherwise.
func (r *row) Time() time.Time {
	if n, ok := r.next().(int64); ok {
		return time.UnixMilli(n).UTC()
	}
	return time.Time{}
}
