package table

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	"holdfast/store"
)

// column is one field of a noun: text, instant, or value and scan.
type column[T any] struct {
	name    string
	text    func(*T) *string    // a text that is not NULL
	instant func(*T) *time.Time // in milliseconds
	null    bool                // the zero instant is NULL

	value func(*T) any  // the argument of an INSERT or UPDATE
	scan  func(*T, Row) // nil for a column that is written and not read
	merge string        // the value that an upsert sets; empty: the new value
}

// argument returns the argument of an INSERT or UPDATE. Texts and instants are pointers into v, which costs no
// allocation.
func (c *column[T]) argument(v *T) any {
	switch {
	case c.text != nil:
		return c.text(v)
	case c.instant == nil:
		return c.value(v)
	}
	at := c.instant(v)
	if c.null && at.IsZero() {
		return nil
	}
	return at
}

// isRead reports whether a SELECT reads the column.
func (c *column[T]) isRead() bool { return c.text != nil || c.instant != nil || c.scan != nil }

// into reads the column into v.
func (c *column[T]) into(v *T, r Row) {
	switch {
	case c.text != nil:
		*c.text(v) = r.Text()
	case c.instant != nil:
		*c.instant(v) = r.Time()
	default:
		c.scan(v, r)
	}
}

// derived is a column that is written from others and not read, such as the text that a search looks into.
func derived[T any](name string, value func(*T) any) column[T] {
	return column[T]{name: name, value: value}
}

// columnsOf returns one column for each field of a struct that begins at an offset of T. A column has the name of its
// field in snake case and the kind of its type. A tag of the field changes this:
//
//	column:"client_id"        another name
//	column:",null"            the zero instant or the empty text is NULL
//	column:"patient_,inline"  the fields of the struct are columns, whose names begin with that prefix
//	column:"-"                no column
func columnsOf[T any](t reflect.Type, offset uintptr, prefix string) (all []column[T]) {
	for f := range t.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("column"), ",")
		switch at := offset + f.Offset; {
		case name == "-":
		case f.Anonymous, option == "inline":
			all = append(all, columnsOf[T](f.Type, at, name)...)
		default:
			all = append(all, columnOf[T](cmp.Or(name, prefix+snake(f.Name)), f.Type, at, option == "null"))
		}
	}
	return all
}

// snake returns a name like AppointmentTypeID as appointment_type_id.
func snake(name string) string {
	var b strings.Builder
	isLower := func(i int) bool { return i < len(name) && 'a' <= name[i] && name[i] <= 'z' }
	for i := range len(name) {
		if i > 0 && !isLower(i) && (isLower(i-1) || isLower(i+1)) {
			b.WriteByte('_')
		}
		b.WriteByte(name[i])
	}
	return strings.ToLower(b.String())
}

// columnOf returns the column of the field at an offset of T.
func columnOf[T any](name string, t reflect.Type, offset uintptr, null bool) column[T] {
	c := column[T]{name: name, null: null}
	switch {
	case t.Kind() == reflect.String && !null:
		c.text = field[T, string](offset)
	case t.Kind() == reflect.String: // the id of another row: an empty id would refer to nothing
		stores(&c, offset, func(id string) any { return orNil(id != "", id) }, Row.Text)
	case t == reflect.TypeFor[time.Time]():
		c.instant = field[T, time.Time](offset)
	case t == reflect.TypeFor[json.RawMessage](): // an empty text is not JSON
		stores(&c, offset, func(b []byte) any { return orNil(len(b) > 0, string(b)) }, Row.JSON)
	case t == reflect.TypeFor[store.Intake](): // it has its own zero
		stores(&c, offset, func(i store.Intake) any { return i.Packed() }, func(r Row) store.Intake {
			return store.Unpacked[store.Intake](r.Text())
		})
	case t == reflect.TypeFor[[]byte](): // nil is NULL
		stores(&c, offset, asIs, Row.Bytes)
	case t == reflect.TypeFor[[32]byte]():
		stores(&c, offset, asIs, Row.Hash)
	case t.Kind() == reflect.Int:
		stores(&c, offset, asIs, Row.Int)
	case t.Kind() == reflect.Int64:
		stores(&c, offset, asIs, Row.Int64)
	case t.Kind() == reflect.Bool:
		stores(&c, offset, asIs, Row.Bool)
	default: // a struct or a list in one text; the zero value is the empty text
		at := field[T, byte](offset)
		c.value = func(v *T) any { return store.Packed(reflect.NewAt(t, unsafe.Pointer(at(v))).Elem().Interface()) }
		c.scan = func(v *T, r Row) {
			if text := r.Text(); text != "" {
				_ = json.Unmarshal([]byte(text), reflect.NewAt(t, unsafe.Pointer(at(v))).Interface())
			}
		}
	}
	return c
}

// field returns the function that finds the field at an offset of T. The field's type has the layout of F. A look-up
// by package reflect at each row would slow down every list.
func field[T, F any](offset uintptr) func(*T) *F {
	return func(v *T) *F { return (*F)(unsafe.Add(unsafe.Pointer(v), offset)) }
}

// stores sets how the field at an offset is written and read.
func stores[T, F any](c *column[T], offset uintptr, value func(F) any, scan func(Row) F) {
	at := field[T, F](offset)
	c.value = func(v *T) any { return value(*at(v)) }
	c.scan = func(v *T, r Row) { *at(v) = scan(r) }
}

func asIs[F any](v F) any { return v }

func orNil(isThere bool, v any) any {
	if !isThere {
		return nil
	}
	return v
}

// noun is a table of columns and the texts made from it.
type noun[T any] struct {
	name    string
	columns []column[T]
	read    []column[T] // the columns that are read

	names     string // the columns that are read
	qualified string // the same, with the table's name, for a join
	from      string // SELECT … FROM the table, for the rest of the text to follow
	insert    string
	put       string // INSERT that replaces the row with the same key
	update    string // of the row with an id and a version, which it moves on
}

// nounOf makes the columns of a struct and the texts of its table. keys are the names of the columns of its key. Each
// further column replaces the one with its name, or comes after all others; without a value, it removes that column.
func nounOf[T any](name, keys string, further ...column[T]) *noun[T] {
	n := &noun[T]{name: name, columns: columnsOf[T](reflect.TypeFor[T](), 0, "")}
	for _, c := range further {
		n.columns = slices.DeleteFunc(n.columns, func(x column[T]) bool { return x.name == c.name })
		if c.value != nil {
			n.columns = append(n.columns, c)
		}
	}
	var all, names, qualified, marks, sets, changes []string
	key := strings.Split(keys, ", ")
	for _, c := range n.columns {
		all, marks = append(all, c.name), append(marks, "?")
		if c.isRead() {
			n.read = append(n.read, c)
			names, qualified = append(names, c.name), append(qualified, name+"."+c.name)
		}
		if slices.Contains(key, c.name) {
			continue
		}
		changes = append(changes, c.name+" = ?")
		sets = append(sets, c.name+" = "+cmp.Or(c.merge, "excluded."+c.name))
	}
	n.names, n.qualified = strings.Join(names, ", "), strings.Join(qualified, ", ")
	n.from = "SELECT " + n.names + " FROM " + name + " "
	n.insert = "INSERT INTO " + name + " (" + strings.Join(all, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
	n.put = n.insert + " ON CONFLICT (" + keys + ") DO UPDATE SET " + strings.Join(sets, ", ")
	n.update = "UPDATE " + name + " SET " + strings.Join(changes, ", ") + " WHERE id = ? AND version = ?"
	return n
}

// values are the arguments of insert and put.
func (n *noun[T]) values(v *T) []any {
	args := make([]any, len(n.columns), len(n.columns)+2)
	for i := range n.columns {
		args[i] = n.columns[i].argument(v)
	}
	return args
}

// into reads a row into v.
func (n *noun[T]) into(v *T, r Row) {
	for i := range n.read {
		n.read[i].into(v, r)
	}
}

// scan reads a row.
func (n *noun[T]) scan(r Row) (v T) {
	n.into(&v, r)
	return v
}

// one returns the row that the rest of a SELECT finds, or ErrNotFound.
func (n *noun[T]) one(ctx context.Context, s Querier, rest string, args ...any) (found T, err error) {
	rows := 0
	err = s.Query(ctx, func(r Row) {
		n.into(&found, r)
		rows++
	}, n.from+rest, args...)
	if err == nil && rows == 0 {
		err = store.ErrNotFound
	}
	return found, err
}

// list returns all rows that the rest of a SELECT finds, nil if there are none.
func (n *noun[T]) list(ctx context.Context, s Querier, rest string, args ...any) (all []T, err error) {
	err = s.Query(ctx, func(r Row) {
		var none T
		all = append(all, none)
		n.into(&all[len(all)-1], r)
	}, n.from+rest, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}
