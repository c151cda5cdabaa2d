package table

import (
	"context"
	"strings"
	"time"

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

// text is a text that is not NULL.
func text[T any](name string, at func(*T) *string) column[T] { return column[T]{name: name, text: at} }

// word is a text with a type of its own.
func word[T any, S ~string](name string, at func(*T) *S) column[T] {
	return column[T]{
		name: name, value: func(v *T) any { return string(*at(v)) },
		scan: func(v *T, r Row) { *at(v) = S(r.Text()) },
	}
}

// reference is the id of another row. Empty is NULL, because an empty id would refer to nothing.
func reference[T any](name string, at func(*T) *string) column[T] {
	return column[T]{name: name, scan: func(v *T, r Row) { *at(v) = r.Text() }, value: func(v *T) any {
		if *at(v) == "" {
			return nil
		}
		return *at(v)
	}}
}

// document is JSON. Empty is NULL, because an empty text is not JSON.
func document[T any, S ~[]byte](name string, at func(*T) *S) column[T] {
	return column[T]{name: name, scan: func(v *T, r Row) { *at(v) = r.JSON() }, value: func(v *T) any {
		if len(*at(v)) == 0 {
			return nil
		}
		return string(*at(v))
	}}
}

// packed is a struct or a list in one text (store.Packed). The zero value is the empty text.
func packed[T, V any](name string, at func(*T) *V) column[T] {
	return column[T]{
		name: name, value: func(v *T) any { return store.Packed(*at(v)) },
		scan: func(v *T, r Row) { *at(v) = store.Unpacked[V](r.Text()) },
	}
}

// intake packs the answers to a type's questions, which have their own zero.
func intake[T any](at func(*T) *store.Intake) column[T] {
	c := packed("intake", at)
	c.value = func(v *T) any { return at(v).Packed() }
	return c
}

// integer is a whole number.
func integer[T any, N ~int](name string, at func(*T) *N) column[T] {
	return column[T]{
		name: name, value: func(v *T) any { return int(*at(v)) },
		scan: func(v *T, r Row) { *at(v) = N(r.Int()) },
	}
}

// long is a number of 64 bits.
func long[T any](name string, at func(*T) *int64) column[T] {
	return column[T]{
		name: name, value: func(v *T) any { return *at(v) },
		scan: func(v *T, r Row) { *at(v) = r.Int64() },
	}
}

// truth is a boolean.
func truth[T any](name string, at func(*T) *bool) column[T] {
	return column[T]{
		name: name, value: func(v *T) any { return *at(v) },
		scan: func(v *T, r Row) { *at(v) = r.Bool() },
	}
}

// blob is bytes. nil is NULL.
func blob[T any](name string, at func(*T) *[]byte) column[T] {
	return column[T]{
		name: name, value: func(v *T) any { return *at(v) },
		scan: func(v *T, r Row) { *at(v) = r.Bytes() },
	}
}

// hash is 32 bytes.
func hash[T any](name string, at func(*T) *[32]byte) column[T] {
	return column[T]{
		name: name, value: func(v *T) any { return *at(v) },
		scan: func(v *T, r Row) { *at(v) = r.Hash() },
	}
}

// instant is a time that is not NULL.
func instant[T any](name string, at func(*T) *time.Time) column[T] {
	return column[T]{name: name, instant: at}
}

// maybe is an instant whose zero is NULL.
func maybe[T any](name string, at func(*T) *time.Time) column[T] {
	return column[T]{name: name, instant: at, null: true}
}

// derived is a column that is written from others and not read, such as the text that a search looks into.
func derived[T any](name string, value func(*T) any) column[T] {
	return column[T]{name: name, value: value}
}

// patient is the columns of a patient, without the notes.
func patient[T any](at func(*T) *store.Patient) []column[T] {
	return []column[T]{
		text("patient_name", func(v *T) *string { return &at(v).Name }),
		text("patient_email", func(v *T) *string { return &at(v).Email }),
		text("patient_phone", func(v *T) *string { return &at(v).Phone }),
		text("patient_birth_date", func(v *T) *string { return &at(v).BirthDate }),
	}
}

// identity is the columns of an identity, whose names begin with prefix.
func identity[T any](prefix string, at func(*T) *store.Identity) []column[T] {
	return []column[T]{
		text(prefix+"name", func(v *T) *string { return &at(v).Name }),
		text(prefix+"email", func(v *T) *string { return &at(v).Email }),
		text(prefix+"phone", func(v *T) *string { return &at(v).Phone }),
		text(prefix+"birth_date", func(v *T) *string { return &at(v).BirthDate }),
	}
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

// nounOf makes the texts of a table. The first columns are its key.
func nounOf[T any](name string, keys int, columns ...[]column[T]) *noun[T] {
	n := &noun[T]{name: name}
	var all, names, qualified, marks, key, sets, changes []string
	for _, part := range columns {
		n.columns = append(n.columns, part...)
	}
	for i, c := range n.columns {
		all, marks = append(all, c.name), append(marks, "?")
		if c.isRead() {
			n.read = append(n.read, c)
			names, qualified = append(names, c.name), append(qualified, name+"."+c.name)
		}
		if i < keys {
			key = append(key, c.name)
			continue
		}
		changes = append(changes, c.name+" = ?")
		if c.merge == "" {
			c.merge = "excluded." + c.name
		}
		sets = append(sets, c.name+" = "+c.merge)
	}
	n.names, n.qualified = strings.Join(names, ", "), strings.Join(qualified, ", ")
	n.from = "SELECT " + n.names + " FROM " + name + " "
	n.insert = "INSERT INTO " + name + " (" + strings.Join(all, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
	n.put = n.insert + " ON CONFLICT (" + strings.Join(key, ", ") + ") DO UPDATE SET " + strings.Join(sets, ", ")
	n.update = "UPDATE " + name + " SET " + strings.Join(changes, ", ") + " WHERE id = ? AND version = ?"
	return n
}

// cols is a list of columns, for nounOf.
func cols[T any](all ...column[T]) []column[T] { return all }

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
