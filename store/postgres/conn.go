package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/store"
	"holdfast/store/table"
)

// conn is one connection and the statements prepared on it. Only one goroutine may use it at a time.
//
// It uses the wire protocol layer of pgx. One exchange sends several statements and prepares the new ones. Values come
// back as bytes, which are read in the order of the SELECT.
type conn struct {
	pg       *pgconn.PgConn
	prepared map[string]*pgconn.StatementDescription // by SQL text; at most maxPrepared
	bells    []int64                                 // the numbers in the notifications since the last read
	rows     int                                     // number of rows passed on
}

// maxPrepared is the maximum number of prepared statements of a connection. The program has fewer statements, including
// the usual combinations of filters. Beyond the limit, the server parses a statement each time it runs.
const maxPrepared = 256

// statement is one statement of an exchange.
type statement struct {
	text string
	args []any
	each func(*row) // receives every row; nil if none is expected

	changed int64 // number of rows that the statement changed, once it has run
}

func stmt(text string, args ...any) *statement { return &statement{text: text, args: args} }

func asks(each func(*row), text string, args ...any) *statement {
	return &statement{text: text, args: args, each: each}
}

// exchange sends all statements together and reads all results. It stops at the first failure and returns its error,
// untranslated, and the index of the failed statement.
func (c *conn) exchange(ctx context.Context, all ...*statement) (failed int, err error) {
	p := c.pg.StartPipeline(ctx)
	defer func() {
		if closing := p.Close(); err == nil {
			err = closing
		}
	}()
	added := map[string]bool{}
	for _, s := range all {
		values, formats, err := bind(s.args)
		if err != nil {
			return 0, err
		}
		known, name := c.prepared[s.text], ""
		switch {
		case known != nil:
			p.SendQueryStatement(known, values, formats, binary)
			continue
		case added[s.text]:
		case len(c.prepared)+len(added) >= maxPrepared:
			p.SendQueryParams(table.Postgres.Text(s.text), values, nil, formats, binary)
			continue
		default:
			added[s.text] = true
			p.SendPrepare(statementName(s.text), table.Postgres.Text(s.text), nil)
		}
		name = statementName(s.text)
		p.SendQueryPrepared(name, values, formats, binary)
	}
	if err := p.Sync(); err != nil {
		return 0, err
	}
	for i, s := range all {
		if err := c.answer(p, s); err != nil {
			return i, err
		}
	}
	return len(all), nil
}

// binary requests every column in its binary format.
var binary = []int16{1}

// answer reads the result of one statement. If the exchange prepared the statement, answer stores its description.
func (c *conn) answer(p *pgconn.Pipeline, s *statement) error {
	result, err := p.GetResults()
	if err != nil {
		return err
	}
	if made, ok := result.(*pgconn.StatementDescription); ok {
		made.Name, made.SQL = statementName(s.text), s.text
		c.prepared[s.text] = made
		if result, err = p.GetResults(); err != nil {
			return err
		}
	}
	rows, ok := result.(*pgconn.ResultReader)
	if !ok {
		return fmt.Errorf("postgres: the server sent an unexpected %T", result)
	}
	for rows.NextRow() {
		if c.rows++; s.each != nil {
			s.each(&row{values: rows.Values()})
		}
	}
	tag, err := rows.Close()
	s.changed = tag.RowsAffected()
	return err
}

// script runs any number of statements without arguments. It does not prepare them.
func (c *conn) script(ctx context.Context, text string) error {
	_, err := c.pg.Exec(ctx, text).ReadAll()
	return err
}

// close ends the connection and waits at most one second for the server.
func (c *conn) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.pg.Close(ctx)
}

// leave releases the connection's advisory locks and closes it. The server releases them at close too, but only once it
// notices that the connection is closed.
func (c *conn) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.script(ctx, `SELECT pg_advisory_unlock_all()`) // fails if the server is unreachable, which then releases them
	c.close()
}

// bind converts Go values for the wire protocol: bytes unchanged, everything else as text. An instant becomes its
// Unix milliseconds, truncated.
func bind(args []any) (values [][]byte, formats []int16, err error) {
	values, formats = make([][]byte, len(args)), make([]int16, len(args))
	for i, arg := range args {
		switch x := arg.(type) {
		case nil:
		case string:
			values[i] = []byte(store.Text(x))
		case *string:
			values[i] = []byte(store.Text(*x))
		case int64:
			values[i] = strconv.AppendInt(nil, x, 10)
		case int:
			values[i] = strconv.AppendInt(nil, int64(x), 10)
		case bool:
			values[i] = strconv.AppendBool(nil, x)
		case []byte:
			values[i], formats[i] = x, 1
		case [32]byte:
			values[i], formats[i] = x[:], 1
		case time.Time:
			values[i] = strconv.AppendInt(nil, x.UnixMilli(), 10)
		case *time.Time:
			values[i] = strconv.AppendInt(nil, x.UnixMilli(), 10)
		default:
			return nil, nil, fmt.Errorf("postgres: argument %d is a %T", i+1, arg)
		}
	}
	return values, formats, nil
}

// row is a table.Row. The connection reuses its values for the next row.
type row struct {
	values [][]byte
	column int
}

func (r *row) next() []byte {
	v := r.values[r.column]
	r.column++
	return v
}

func (r *row) Text() string { return string(r.next()) }

func (r *row) Int64() int64 {
	n, _ := integer(r.next())
	return n
}

// integer reads an int8 or int4 in wire format; ok is false for NULL.
func integer(b []byte) (n int64, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	n = int64(int8(b[0]))
	for _, next := range b[1:] {
		n = n<<8 | int64(next)
	}
	return n, true
}

func (r *row) Int() int { return int(r.Int64()) }

func (r *row) Bool() bool {
	b := r.next()
	return len(b) == 1 && b[0] != 0
}

// Bytes returns nil for NULL.
func (r *row) Bytes() []byte {
	b := r.next()
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

func (r *row) Hash() (h [32]byte) {
	copy(h[:], r.next())
	return h
}

// JSON returns nil for NULL.
func (r *row) JSON() []byte {
	b := r.next()
	if len(b) == 0 {
		return nil
	}
	return append([]byte{}, b...)
}

// Time returns the zero time for NULL, and UTC otherwise.
func (r *row) Time() time.Time {
	if n, ok := integer(r.next()); ok {
		return time.UnixMilli(n).UTC()
	}
	return time.Time{}
}

// oneOn reads one row. It returns ErrNotFound if there is none.
func oneOn[T any](ctx context.Context, c *conn, scan func(*row) T, text string, args ...any) (found T, err error) {
	rows := 0
	_, err = c.exchange(ctx, asks(func(r *row) { found, rows = scan(r), rows+1 }, text, args...))
	if err == nil && rows == 0 {
		err = store.ErrNotFound
	}
	return found, err
}

// statementName returns the name that a prepared statement with this text has on the server.
func statementName(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "holdfast_" + hex.EncodeToString(sum[:12])
}

// isCut reports whether the connection broke: err is neither an error from the server nor a timeout.
func isCut(err error) bool {
	var e *pgconn.PgError
	return err != nil && !pgconn.Timeout(err) && (!errors.As(err, &e) || e.Severity != "ERROR")
}

// isServers reports whether err is the server's response to a statement. The connection is then still usable.
func isServers(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Severity == "ERROR"
}
