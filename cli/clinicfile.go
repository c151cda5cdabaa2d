package cli

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// decodeStrictly reads one JSON value, refuses fields that nothing reads, and says on which line it went wrong.
func decodeStrictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	at := d.InputOffset()
	if json.Valid(text[:at]) {
		// The decoder does not say where, and the types that decode themselves could not tell it, or take what they do not know.
		w := walk{json.NewDecoder(bytes.NewReader(text))}
		w.d.UseNumber()
		if found := w.value(reflect.TypeOf(into), ""); found != nil {
			err, at = found, w.d.InputOffset()
		}
	}
	if err == nil {
		if _, more := d.Token(); errors.Is(more, io.EOF) {
			return nil
		}
		err = errors.New("something stands behind the end of the JSON value")
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = syntax.Offset
	}
	line := 1 + bytes.Count(text[:min(at, int64(len(text)))], []byte("\n"))
	return fmt.Errorf("line %d: %w", line, err)
}

// walk goes over a document that is known to be JSON and finds the first name or value that a type has no room for.
type walk struct{ d *json.Decoder }

func (w walk) value(t reflect.Type, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, err := w.d.Token()
	if err != nil {
		return err
	}
	_, nested := token.(json.Delim)
	switch {
	case token == json.Delim('{') && t.Kind() == reflect.Struct && !readsText(t):
		return w.object(t, path)
	case token == json.Delim('[') && t.Kind() == reflect.Slice && !readsText(t):
		return w.list(t.Elem(), path)
	case nested:
		return fmt.Errorf("%s should be %s", cmp.Or(path, "the file"), kindOf(t))
	}
	text, err := json.Marshal(token)
	if err == nil {
		err = json.Unmarshal(text, reflect.New(t).Interface())
	}
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("%s should be %s", cmp.Or(path, "the file"), kindOf(t))
	case err != nil:
		return fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "json: ")) // a date, a time or a weekday, which says itself what it must be
	}
	return nil
}

func (w walk) list(elem reflect.Type, path string) error {
	for i := 0; w.d.More(); i++ {
		if err := w.value(elem, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	_, err := w.d.Token() // ]
	return err
}

func (w walk) object(t reflect.Type, path string) error {
	for w.d.More() {
		token, err := w.d.Token()
		if err != nil {
			return err
		}
		name := token.(string)
		below := strings.TrimPrefix(path+"."+name, ".")
		var known []string
		var within reflect.Type
		for _, f := range reflect.VisibleFields(t) {
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if field == "" || field == "-" {
				continue
			}
			known = append(known, field)
			if strings.EqualFold(field, name) {
				within = f.Type
			}
		}
		if within == nil {
			slices.Sort(known)
			return fmt.Errorf("%s is not known here. Known are: %s", below, strings.Join(known, ", "))
		}
		if err := w.value(within, below); err != nil {
			return err
		}
	}
	_, err := w.d.Token() // }
	return err
}

// readsText: a value of the type is a text in JSON, whatever it is in Go.
func readsText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func kindOf(t reflect.Type) string {
	switch {
	case readsText(t), t.Kind() == reflect.String:
		return "a text in quotes"
	case t.Kind() == reflect.Struct:
		return "an object"
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Bool:
		return "true or false"
	}
	return "a whole number"
}
