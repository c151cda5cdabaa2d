package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// This package needs only the protocol's text format, so it does not use pgx's types, which add 2 MB to the binary.

// errNoRow reports that a query for one row returned none.
var errNoRow = errors.New("no row")

// prepared is the key in a connection's custom data under which its prepared statements are stored, by their text.
const prepared = "holdfast-live"

// ask runs a statement once on a connection, on which the statement stays prepared, and calls each for every row. A
// NULL value is nil.
func ask(ctx context.Context, pg *pgconn.PgConn, text string, args []any, each func(values [][]byte) error) error {
	values := make([][]byte, len(args))
	for i, arg := range args {
		values[i] = spell(arg)
	}
	known, ok := pg.CustomData()[prepared].(map[string]string)
	if !ok {
		known = map[string]string{}
		pg.CustomData()[prepared] = known
	}
	name, ok := known[text]
	if !ok {
		name = "live" + strconv.Itoa(len(known))
		if _, err := pg.Prepare(ctx, name, text, nil); err != nil {
			return err
		}
		known[text] = name
	}
	rows := pg.ExecPrepared(ctx, name, values, nil, nil)
	var unread error
	for rows.NextRow() {
		if unread == nil {
			unread = each(rows.Values())
		}
	}
	_, err := rows.Close()
	return errors.Join(err, unread)
}

// askOne runs a query for one row and reads the row. It returns errNoRow if there is none.
func askOne(ctx context.Context, pg *pgconn.PgConn, text string, args []any, into ...any) error {
	rows := 0
	err := ask(ctx, pg, text, args, func(values [][]byte) error { rows++; return read(values, into) })
	if err == nil && rows == 0 {
		err = errNoRow
	}
	return err
}

// spell formats a value in PostgreSQL's text format.
func spell(v any) []byte {
	switch x := v.(type) {
	case string:
		return []byte(x)
	case int:
		return strconv.AppendInt(nil, int64(x), 10)
	case int64:
		return strconv.AppendInt(nil, x, 10)
	case bool:
		return strconv.AppendBool(nil, x)
	case []string:
		return spellArray(x)
	case []int:
		return spellArray(x)
	case []int64:
		return spellArray(x)
	case []bool:
		return spellArray(x)
	}
	panic(fmt.Sprintf("postgres: an argument of the type %T", v)) // only this package passes arguments
}

var quoteElement = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// spellArray formats an array with all elements quoted, which every element type allows.
func spellArray[T any](list []T) []byte {
	b := []byte{'{'}
	for i, element := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, quoteElement.Replace(string(spell(element)))...)
		b = append(b, '"')
	}
	return append(b, '}')
}

// read reads the columns of a row. Lists are in JSON.
func read(values [][]byte, into []any) error {
	if len(values) != len(into) {
		return fmt.Errorf("the database answered with %d columns, want %d", len(values), len(into))
	}
	for i, to := range into {
		var err error
		text := string(values[i])
		switch to := to.(type) {
		case *string:
			*to = text
		case *int:
			*to, err = strconv.Atoi(text)
		case *int64:
			*to, err = strconv.ParseInt(text, 10, 64)
		case *bool:
			*to = text == "t"
		default:
			err = json.Unmarshal(values[i], to)
		}
		if err != nil {
			return fmt.Errorf("column %d of the database's answer: %w", i+1, err)
		}
	}
	return nil
}
