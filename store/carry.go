package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
)

// Row is one row of a table that is being copied. For each requested column, in order, it contains nil, an int64 (a
// boolean is 0 or 1), a string or a []byte.
type Row []any

// CarriedTable is a table of the durable record, by the name that it has in every backend. Its rows are ordered by its
// key.
type CarriedTable struct {
	Name  string
	Key   string // columns, separated by commas
	Begun bool   // an empty database already has rows in this table, which the copied rows replace
}

// Carried lists all tables of a clinic, each table after those that it references. Everything else belongs to the
// backend: the versions of its schema, its log of changes, the queue, which is rebuilt from the outbox, and the index
// of people, which is rebuilt from the appointments.
var Carried = []CarriedTable{
	{Name: "meta", Key: "key", Begun: true},
	{Name: "clinic", Key: "id"},
	{Name: "specialists", Key: "id"},
	{Name: "appointment_types", Key: "id"},
	{Name: "assignments", Key: "appointment_type_id, specialist_id"},
	{Name: "weekly_hours", Key: "specialist_id, weekday, start_minute"},
	{Name: "overrides", Key: "id"},
	{Name: "override_windows", Key: "override_id, start_minute"},
	{Name: "blocks", Key: "id"},
	{Name: "closures", Key: "id"},
	{Name: "busy_calendars", Key: "specialist_id"},
	{Name: "specialist_pictures", Key: "specialist_id"},
	{Name: "appointments", Key: "id"},
	{Name: "undo_states", Key: "appointment_id, version"},
	{Name: "idempotency_records", Key: "scope, key"},
	{Name: "outbox", Key: "id"},
	{Name: "audit_entries", Key: "at, id"},
	{Name: "audit_erasures", Key: "position"},
	{Name: "audit_head", Key: "id", Begun: true},
	{Name: "deliveries", Key: "operation_id"},
	{Name: "nonce_uses", Key: "nonce"},
	{Name: "agent_sessions", Key: "name"},
	{Name: "booking_requests", Key: "id"},
	{Name: "waitlist_entries", Key: "id"},
	{Name: "waitlist_offers", Key: "id"},
	{Name: "tallies", Key: "key, at"},
	{Name: "person_notes", Key: "id"},
	{Name: "person_links", Key: "id"},
	{Name: "api_keys", Key: "id"},
	{Name: "users", Key: "id"},
	{Name: "sign_ins", Key: "id"},
	{Name: "setup_token", Key: "id"},
	{Name: "sessions", Key: "id"},
	{Name: "presence", Key: "specialist_id"},
	{Name: "presence_log", Key: "seq"},
}

// Carrier is a database during the move of a clinic: no other program reads or writes it until Close. Inserted rows
// form a clinic only after Commit has returned. Before that, the database is empty, or contains the part of a clinic
// that Keep made durable.
type Carrier interface {
	// ID returns the database's own id, which moves with the clinic.
	ID(ctx context.Context) (string, error)

	// Columns lists the columns of a table. "row_number" is the insertion order of the rows, in tables that have it.
	Columns(ctx context.Context, table string) ([]string, error)

	// Rows passes all rows of a table to each, in the order of its key. Keys are compared byte by byte. If each returns
	// an error, Rows stops and returns it.
	Rows(ctx context.Context, table CarriedTable, columns []string, each func(Row) error) error

	// Insert adds rows to a table. If the table is Begun, they replace its existing rows. A row must follow the
	// rows that it references. Insert checks the guarantee.
	Insert(ctx context.Context, table CarriedTable, columns []string, rows []Row) error

	// Raise sets a numeric column of the row with this id.
	Raise(ctx context.Context, table, id, column string, to int64) error

	// LastChange returns the number of the last change. SetLastChange sets it, so that the next change gets a later
	// number.
	LastChange(ctx context.Context) (int64, error)
	SetLastChange(ctx context.Context, number int64) error

	// Keep makes the rows inserted so far durable, as a part of the clinic with this id. No server opens such a
	// database before Commit. Unfinished returns that id, or "" if there is no such part.
	Keep(ctx context.Context, id string) error
	Unfinished(ctx context.Context) (id string, err error)

	// Clear removes the part of a clinic that Keep made durable.
	Clear(ctx context.Context) error

	// Commit makes all inserted rows durable, as a complete clinic.
	Commit(ctx context.Context) error

	// Close releases the database and undoes everything that is not committed.
	Close() error
}

// carriedAtOnce is the maximum number of rows that one Insert adds.
const carriedAtOnce = 500

// Carry copies a clinic into an empty database and compares every row of both before it commits. If an earlier Carry of
// the same clinic was interrupted, Carry compares the rows that already exist and does not write them again. Carry
// writes the rows of a table in the order of their key and calls Keep after each batch, so a partly copied table
// contains its first rows. Carry calls told for every table, with the number of its rows and how many of them the
// target already contained.
//
// If the target contains a part of another clinic, or an outdated part of this one, Carry first removes that part. This
// is safe, because no server has opened it.
//
// It returns ErrDuplicate if the target is neither empty nor a part of a clinic. It returns ErrInvalid if the target
// refuses a row, or if the two databases differ after the copy.
func Carry(ctx context.Context, from, to Carrier, told func(table string, rows, there int)) error {
	id, err := from.ID(ctx)
	if err != nil {
		return err
	}
	there, err := partOf(ctx, id, from, to)
	if err != nil {
		return err
	}
	for _, table := range Carried {
		rows, err := carryTable(ctx, from, to, table, id, there[table.Name])
		if err != nil {
			return err
		}
		told(table.Name, rows, there[table.Name])
	}
	if err := lowerCapacities(ctx, from, to); err != nil {
		return err
	}
	last, err := from.LastChange(ctx)
	if err != nil {
		return err
	}
	if err := to.SetLastChange(ctx, last); err != nil {
		return err
	}
	if err := Compare(ctx, from, to); err != nil {
		return err
	}
	return to.Commit(ctx)
}

// partOf counts, by table, the rows of the clinic with this id that the target already contains, and compares them with
// the source. If they differ, it removes them. It does not count the rows of tables that are Begun, because Carry
// writes those rows again.
func partOf(ctx context.Context, id string, from, to Carrier) (map[string]int, error) {
	part, err := to.Unfinished(ctx)
	if err != nil {
		return nil, err
	}
	there := make(map[string]int, len(Carried))
	same := part == id
	for _, table := range Carried {
		if table.Begun {
			continue
		}
		rows, err := Counted(ctx, to, table)
		if err != nil {
			return nil, err
		}
		if rows > 0 && part == "" {
			return nil, fmt.Errorf("%w: the target already has %d rows in %s", ErrDuplicate, rows, table.Name)
		}
		if there[table.Name] = rows; rows > 0 && same {
			err := compareTable(ctx, from, to, table, true)
			if same = err == nil; err != nil && !errors.Is(err, ErrInvalid) {
				return nil, err
			}
		}
	}
	if same || part == "" {
		return there, nil
	}
	return map[string]int{}, to.Clear(ctx)
}

// Counted returns the number of rows in a table.
func Counted(ctx context.Context, c Carrier, table CarriedTable) (rows int, err error) {
	err = c.Rows(ctx, table, []string{firstOf(table.Key)}, func(Row) error { rows++; return nil })
	return rows, err
}

func firstOf(key string) string {
	first, _, _ := strings.Cut(key, ",")
	return first
}

// columnsOf returns the columns of a table, which must be the same in both databases.
func columnsOf(ctx context.Context, from, to Carrier, table string) ([]string, error) {
	columns, err := from.Columns(ctx, table)
	if err != nil {
		return nil, err
	}
	others, err := to.Columns(ctx, table)
	if err != nil {
		return nil, err
	}
	slices.Sort(columns)
	slices.Sort(others)
	if !slices.Equal(columns, others) {
		return nil, fmt.Errorf("%w: the columns of %s differ: %v and %v", ErrInvalid, table, columns, others)
	}
	return columns, nil
}

// carryTable inserts the rows of a table, except the first `there` rows, which the target already contains. It calls
// Keep after each batch.
func carryTable(ctx context.Context, from, to Carrier, table CarriedTable, id string, there int) (rows int, err error) {
	columns, err := columnsOf(ctx, from, to, table.Name)
	if err != nil {
		return 0, err
	}
	insert := func(batch []Row) error {
		if err := to.Insert(ctx, table, columns, batch); err != nil {
			return err
		}
		return to.Keep(ctx, id)
	}
	var read atomic.Int64
	BeginStep(ctx, "copying "+table.Name, func() (int64, int64) { return read.Load(), 0 })
	var batch []Row
	err = from.Rows(ctx, table, columns, func(r Row) error {
		read.Add(1)
		if rows++; rows <= there {
			return nil
		}
		raiseCapacity(table, columns, r)
		if batch = append(batch, r); len(batch) < carriedAtOnce {
			return nil
		}
		full := batch
		batch = nil
		return insert(full)
	})
	if err == nil && len(batch) > 0 {
		err = insert(batch)
	}
	if err != nil {
		return rows, fmt.Errorf("copying %s: %w", table.Name, err)
	}
	return rows, nil
}

// raiseCapacity sets the capacity in a row of appointment_types to the largest capacity that the type has ever had. A
// seat that was booked before the capacity was lowered is valid in the source, but an insert would refuse it.
// lowerCapacities restores the current capacity.
func raiseCapacity(table CarriedTable, columns []string, r Row) {
	if table.Name == "appointment_types" {
		r[slices.Index(columns, "capacity")] = r[slices.Index(columns, "largest_capacity")]
	}
}

func lowerCapacities(ctx context.Context, from, to Carrier) error {
	types := Carried[slices.IndexFunc(Carried, func(t CarriedTable) bool { return t.Name == "appointment_types" })]
	return from.Rows(ctx, types, []string{"id", "capacity", "largest_capacity"}, func(r Row) error {
		if r[1] == r[2] {
			return nil
		}
		return to.Raise(ctx, types.Name, r[0].(string), "capacity", r[1].(int64))
	})
}

// Compare compares two clinics row by row. It returns an error that wraps ErrInvalid, names the first table that
// differs and describes the difference.
func Compare(ctx context.Context, from, to Carrier) error {
	for _, table := range Carried {
		if err := compareTable(ctx, from, to, table, false); err != nil {
			return err
		}
	}
	a, err := from.LastChange(ctx)
	if err != nil {
		return err
	}
	b, err := to.LastChange(ctx)
	if err == nil && a != b {
		err = fmt.Errorf("%w: the last changes have the numbers %d and %d", ErrInvalid, a, b)
	}
	return err
}

// compareTable compares all rows of a table. If part is true, it compares only the rows that the target has.
func compareTable(ctx context.Context, from, to Carrier, table CarriedTable, part bool) error {
	columns, err := columnsOf(ctx, from, to, table.Name)
	if err != nil {
		return err
	}
	var unread error
	other, stop := iter.Pull(func(yield func(Row) bool) {
		unread = to.Rows(ctx, table, columns, func(r Row) error {
			if !yield(r) {
				return errEnough
			}
			return nil
		})
	})
	defer stop()
	var read atomic.Int64
	BeginStep(ctx, "comparing "+table.Name, func() (int64, int64) { return read.Load(), 0 })
	rows := 0
	err = from.Rows(ctx, table, columns, func(r Row) error {
		rows++
		read.Add(1)
		o, ok := other()
		if !ok && (part || unread != nil) {
			return errEnough // the target has no more rows, or reading it failed
		}
		if part {
			raiseCapacity(table, columns, r)
		}
		if !ok {
			return fmt.Errorf("%w: %s has fewer rows in the target", ErrInvalid, table.Name)
		}
		for i := range r {
			if !sameCell(r[i], o[i]) {
				return fmt.Errorf("%w: row %d of %s differs in %s", ErrInvalid, rows, table.Name, columns[i])
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return unread
	}
	if err != nil {
		return err
	}
	if _, more := other(); more {
		return fmt.Errorf("%w: %s has more rows in the target", ErrInvalid, table.Name)
	}
	return unread
}

// errEnough stops Rows when the caller needs no further row.
var errEnough = fmt.Errorf("enough rows")

func sameCell(a, b any) bool {
	x, isBytes := a.([]byte)
	y, other := b.([]byte)
	if isBytes || other {
		return isBytes == other && bytes.Equal(x, y)
	}
	return a == b
}
