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

// column is one column of a noun's table. It is a string, an instant, or any other type with value and scan. These
// functions receive a pointer to the struct.
type column struct {
	name    string
	offset  uintptr // offset of the field; only for a string or an instant
	text    bool    // a string that is not NULL
	instant bool    // stored in milliseconds
	null    bool    // the zero instant is NULL

	value func(unsafe.Pointer) any  // the argument of an INSERT or UPDATE
	scan  func(unsafe.Pointer, Row) // nil for a column that is written but not read
	merge string                    // the value that an upsert sets; empty means the new value
}

// argument returns the argument of an INSERT or UPDATE. For a string or an instant, it returns a pointer into v, which
// needs no allocation.
func (c *column) argument(v unsafe.Pointer) any {
	switch {
	case c.text:
		return (*string)(unsafe.Add(v, c.offset))
	case !c.instant:
		return c.value(v)
	}
	at := (*time.Time)(unsafe.Add(v, c.offset))
	if c.null && at.IsZero() {
		return nil
	}
	return at
}

// isRead reports whether a SELECT reads the column.
func (c *column) isRead() bool { return c.text || c.instant || c.scan != nil }

// into reads the column into v.
func (c *column) into(v unsafe.Pointer, r Row) {
	switch {
	case c.text:
		*(*string)(unsafe.Add(v, c.offset)) = r.Text()
	case c.instant:
		*(*time.Time)(unsafe.Add(v, c.offset)) = r.Time()
	default:
		c.scan(v, r)
	}
}

// derived returns a column that is computed from the fields of the struct. It is written but not read into the struct.
// An example is the text for searches.
func derived[T any](name string, value func(*T) any) column {
	return column{name: name, value: func(v unsafe.Pointer) any { return value((*T)(v)) }}
}

// merged returns a derived column. An upsert of an existing row sets it to the expression merge.
func merged[T any](name string, value func(*T) any, merge string) column {
	c := derived(name, value)
	c.merge = merge
	return c
}

// columnsOf returns one column for each field of a struct that begins at an offset. The name of a column is the name of
// its field in snake case. The type of the field determines how the column is stored. A tag of the field changes this:
//
//	column:"client_id"        another name
//	column:",null"            the zero instant or the empty text is NULL
//	column:"patient_,inline"  the fields of the struct are columns, whose names begin with that prefix
//	column:"-"                no column
func columnsOf(t reflect.Type, offset uintptr, prefix string) (all []column) {
	for f := range t.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("column"), ",")
		switch at := offset + f.Offset; {
		case name == "-":
		case f.Anonymous, option == "inline":
			all = append(all, columnsOf(f.Type, at, name)...)
		default:
			all = append(all, columnOf(cmp.Or(name, prefix+snake(f.Name)), f.Type, at, option == "null"))
		}
	}
	return all
}

// snake converts a name to snake case: AppointmentTypeID becomes appointment_type_id.
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

// columnOf returns the column of the field at an offset.
func columnOf(name string, t reflect.Type, offset uintptr, null bool) column {
	c := column{name: name, offset: offset, null: null}
	switch {
	case t.Kind() == reflect.String && !null:
		c.text = true
	case t.Kind() == reflect.String: // the id of another row: an empty id would refer to no row
		stores(&c, func(id string) any { return orNil(id != "", id) }, Row.Text)
	case t == reflect.TypeFor[time.Time]():
		c.instant = true
	case t == reflect.TypeFor[json.RawMessage](): // an empty string is not JSON
		stores(&c, func(b []byte) any { return orNil(len(b) > 0, string(b)) }, Row.JSON)
	case t == reflect.TypeFor[store.Intake](): // its zero value is not the zero value of JSON
		stores(&c, func(i store.Intake) any { return i.Packed() }, func(r Row) store.Intake {
			return store.Unpacked[store.Intake](r.Text())
		})
	case t == reflect.TypeFor[[]byte](): // nil is NULL
		stores(&c, asIs, Row.Bytes)
	case t == reflect.TypeFor[[32]byte]():
		stores(&c, asIs, Row.Hash)
	case t.Kind() == reflect.Int:
		stores(&c, asIs, Row.Int)
	case t.Kind() == reflect.Int64:
		stores(&c, asIs, Row.Int64)
	case t.Kind() == reflect.Bool:
		stores(&c, asIs, Row.Bool)
	default: // a struct or a list, stored as one string; the zero value is the empty string
		field := func(v unsafe.Pointer) reflect.Value { return reflect.NewAt(t, unsafe.Add(v, offset)) }
		c.value = func(v unsafe.Pointer) any { return store.Packed(field(v).Elem().Interface()) }
		c.scan = func(v unsafe.Pointer, r Row) {
			if text := r.Text(); text != "" {
				_ = json.Unmarshal([]byte(text), field(v).Interface())
			}
		}
	}
	return c
}

// stores sets how the field at the column's offset is written and read. The field's type must have the memory layout of
// F. It uses the offset, because package reflect would slow down every list.
func stores[F any](c *column, value func(F) any, scan func(Row) F) {
	offset := c.offset
	c.value = func(v unsafe.Pointer) any { return value(*(*F)(unsafe.Add(v, offset))) }
	c.scan = func(v unsafe.Pointer, r Row) { *(*F)(unsafe.Add(v, offset)) = scan(r) }
}

func asIs[F any](v F) any { return v }

func orNil(isThere bool, v any) any {
	if !isThere {
		return nil
	}
	return v
}

// definition holds the columns of a table and the SQL statements made from them.
type definition struct {
	name    string
	columns []column
	read    []column // the columns that are read

	names     string // the columns that are read
	qualified string // the same, with the table's name, for a join
	from      string // SELECT … FROM the table; the caller appends the rest
	insert    string
	put       string // INSERT that replaces the row with the same key
	update    string // updates the row with an id and a version
}

// define returns the definition of the table for a struct. keys contains the names of the key's columns, separated by
// ", ". Each further column replaces the column with the same name, or comes after all others. A further column without
// a value only removes the column with that name.
func define(t reflect.Type, name, keys string, further []column) definition {
	d := definition{name: name, columns: columnsOf(t, 0, "")}
	for _, c := range further {
		d.columns = slices.DeleteFunc(d.columns, func(x column) bool { return x.name == c.name })
		if c.value != nil {
			d.columns = append(d.columns, c)
		}
	}
	var all, names, qualified, marks, sets, changes []string
	key := strings.Split(keys, ", ")
	for _, c := range d.columns {
		all, marks = append(all, c.name), append(marks, "?")
		if c.isRead() {
			d.read = append(d.read, c)
			names, qualified = append(names, c.name), append(qualified, name+"."+c.name)
		}
		if slices.Contains(key, c.name) {
			continue
		}
		changes = append(changes, c.name+" = ?")
		sets = append(sets, c.name+" = "+cmp.Or(c.merge, "excluded."+c.name))
	}
	d.names, d.qualified = strings.Join(names, ", "), strings.Join(qualified, ", ")
	d.from = "SELECT " + d.names + " FROM " + name + " "
	d.insert = "INSERT INTO " + name + " (" + strings.Join(all, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
	d.put = d.insert + " ON CONFLICT (" + keys + ") DO UPDATE SET " + strings.Join(sets, ", ")
	d.update = "UPDATE " + name + " SET " + strings.Join(changes, ", ") + " WHERE id = ? AND version = ?"
	return d
}

// values returns the arguments of insert and put for the struct at v.
func (d *definition) values(v unsafe.Pointer) []any {
	args := make([]any, len(d.columns), len(d.columns)+2)
	for i := range d.columns {
		args[i] = d.columns[i].argument(v)
	}
	return args
}

// into reads a row into the struct at v.
func (d *definition) into(v unsafe.Pointer, r Row) {
	for i := range d.read {
		d.read[i].into(v, r)
	}
}

// noun is the table of a struct. The compiler generates each of its methods once for each T. So the methods call those
// of definition where they can: otherwise the program would be a megabyte larger.
type noun[T any] struct{ definition }

// nounOf returns the noun of a struct (see define).
func nounOf[T any](name, keys string, further ...column) *noun[T] {
	return &noun[T]{define(reflect.TypeFor[T](), name, keys, further)}
}

// values returns the arguments of insert and put for v.
func (n *noun[T]) values(v *T) []any { return n.definition.values(unsafe.Pointer(v)) }

// into reads a row into v.
func (n *noun[T]) into(v *T, r Row) { n.definition.into(unsafe.Pointer(v), r) }

// scan reads a row.
func (n *noun[T]) scan(r Row) (v T) {
	n.into(&v, r)
	return v
}

// one returns the row that the rest of a SELECT finds by a key, or ErrNotFound.
func (n *noun[T]) one(ctx context.Context, s Querier, rest string, args ...any) (found T, err error) {
	rows := 0
	err = s.Find(ctx, func(r Row) {
		n.into(&found, r)
		rows++
	}, n.from+rest, args...)
	if err == nil && rows == 0 {
		err = store.ErrNotFound
	}
	return found, err
}

// list returns all rows that the rest of a SELECT finds, or nil if there are none.
func (n *noun[T]) list(ctx context.Context, s Querier, rest string, args ...any) (all []T, err error) {
	return n.collect(ctx, s.Query, rest, args)
}

// few is list for a SELECT that an index answers with a few rows.
func (n *noun[T]) few(ctx context.Context, s Querier, rest string, args ...any) (all []T, err error) {
	return n.collect(ctx, s.Find, rest, args)
}

func (n *noun[T]) collect(ctx context.Context, query func(context.Context, func(Row), string, ...any) error,
	rest string, args []any) (all []T, err error) {
	err = query(ctx, func(r Row) {
		var none T
		all = append(all, none)
		n.into(&all[len(all)-1], r)
	}, n.from+rest, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}
