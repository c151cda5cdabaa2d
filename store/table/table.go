// Package table contains the SQL statements for all nouns. Both databases use the same statements.
//
// # How a statement reaches a database
//
// The text of a statement has a ? for each argument, and a word in braces where the two databases differ, for example
// {instr}. When a connection prepares a statement, it translates the text with its Dialect. It stores the prepared
// statement under the original text, so a repeated call costs only the look-up.
//
// # How a field is stored
//
// A noun is a struct of package store. Each field is a column, whose name and kind follow from the field (see
// columnsOf). The list of columns, the scan, the INSERT, the upsert and the UPDATE all come from the struct. To add a
// field, add it to the struct, and add a migration to each backend. The move of a clinic between databases reads the
// columns from the databases themselves, so it needs no change.
//
// # What stays with a backend
//
// A backend implements Source and Writer: connections, transactions, batches, the feed, the chain of the audit log, and
// the search for taken time, whose indexes differ. It translates its own errors; this package returns them unchanged.
package table

import (
	"context"
	"errors"
	"time"

	"holdfast/store"
)

// ErrReference means that a row refers to a missing row. A backend wraps it together with store.ErrInvalid.
var ErrReference = errors.New("a reference to a missing row")

// Row reads one row of a result, column by column, in the order of the SELECT. It is valid until the next row.
type Row interface {
	Text() string
	Int() int
	Int64() int64
	Bool() bool
	Bytes() []byte   // nil for NULL
	Hash() [32]byte  // for a column of 32 bytes
	JSON() []byte    // nil for NULL
	Time() time.Time // UTC; the zero time for NULL
}

// Question is a SELECT and the function that receives its rows.
type Question struct {
	Each func(Row)
	Text string
	Args []any
}

// Querier runs a SELECT.
type Querier interface {
	// Query runs a SELECT and calls each for every row.
	Query(ctx context.Context, each func(Row), text string, args ...any) error

	// Find is Query for a SELECT that an index answers with a few rows. It need not stop if ctx ends while it runs.
	Find(ctx context.Context, each func(Row), text string, args ...any) error
}

// Source runs SELECTs. The Source of a Store sees committed rows. The Source of a transaction also sees its own
// changes.
type Source interface {
	Querier

	// Snapshot runs all questions, in order, against one snapshot of the database.
	Snapshot(ctx context.Context, all ...Question) error

	// Moment calls fn with a Querier. All its queries see one snapshot of the database.
	Moment(ctx context.Context, fn func(Querier) error) error

	// Taken implements store.AppointmentReader: each database has its own search.
	Taken(ctx context.Context, specialistIDs []string, from, to time.Time) ([]store.Taken, error)

	// ChainLink implements store.ChainReader.
	ChainLink(ctx context.Context, position int64) (store.ChainHead, error)
}

// Writer changes rows inside one transaction of a backend.
type Writer interface {
	// Exec runs one statement and returns the number of rows that it changed. An argument may be a pointer, whose value
	// does not change until the transaction ends.
	Exec(text string, args ...any) (int64, error)

	// Later runs one statement whose result is not needed. A backend may send it together with the next statement. If
	// the database refuses it, the error then comes from the call for that next statement, or from Write.
	Later(text string, args ...any) error

	// Changed records a change for the feed. The followers receive it if the transaction commits.
	Changed(c store.Change)

	// LinkErasure adds the erasure of an audit entry's reason, before and after to the audit chain, unless the chain
	// already contains it. row is the entry's row number.
	LinkErasure(row int64) error
}

// Reads implements store.Reader on a Source.
type Reads struct {
	source Source
	tx     *Tx // nil outside a transaction
}

var _ store.Reader = Reads{}

// NewReads returns the Reads for a Source outside a transaction.
func NewReads(s Source) Reads { return Reads{source: s} }

// Tx implements store.Tx on a Source and a Writer, except AppendAudit, which the backend implements.
type Tx struct {
	Reads
	to   Writer
	read store.Appointment // the last appointment read; it is nearly always the next one changed
}

// Begin makes t the transaction of a backend. s sees the changes of w.
func (t *Tx) Begin(s Source, w Writer) { t.Reads, t.to = Reads{s, t}, w }

// own returns t. This package uses it to get the Tx that a backend's transaction embeds.
func (t *Tx) own() *Tx { return t }

// run executes a statement and ignores the number of changed rows.
func (t *Tx) run(text string, args ...any) error {
	_, err := t.to.Exec(text, args...)
	return err
}

// count executes a statement and returns the number of rows that it changed.
func (t *Tx) count(text string, args ...any) (int, error) {
	n, err := t.to.Exec(text, args...)
	return int(n), err
}

// mustChange executes a statement that changes one row. It returns ErrNotFound if there is no such row.
func (t *Tx) mustChange(text string, args ...any) error {
	n, err := t.to.Exec(text, args...)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return err
}

// one returns the row that a SELECT finds, or ErrNotFound.
func one[T any](ctx context.Context, s Querier, scan func(Row) T, text string, args ...any) (found T, err error) {
	rows := 0
	err = s.Query(ctx, func(r Row) { found, rows = scan(r), rows+1 }, text, args...)
	if err == nil && rows == 0 {
		err = store.ErrNotFound
	}
	return found, err
}

// list returns all rows that a SELECT finds, or nil if there are none.
func list[T any](ctx context.Context, s Querier, scan func(Row) T, text string, args ...any) (all []T, err error) {
	err = s.Query(ctx, func(r Row) { all = append(all, scan(r)) }, text, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Limit returns the effective limit of a filter: 1 to 500, and 100 for 0. SQL texts use it as `LIMIT +?`. With a bare
// `LIMIT ?`, SQLite uses the value for its plan and compiles the statement again at every execution.
func Limit(n int) int {
	if n <= 0 {
		return 100
	}
	return min(n, 500)
}

// orNull returns nil, which is stored as NULL, for the zero time. Otherwise the zero time would be stored as an early
// date.
func orNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}
