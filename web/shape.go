package web

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shape describes a body: the known names of an object, and the type of each value.
type shape struct {
	of     reflect.Type
	fields map[string]*shape // of an object
	list   bool
	elem   *shape // of a list, or of an object with arbitrary names
}

// shapeOf derives the shape from the type into which the body is decoded, once per route.
func shapeOf(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if body, ok := reflect.New(t).Interface().(interface{ shapedAs() reflect.Type }); ok {
		return shapeOf(body.shapedAs())
	}
	s := &shape{of: t}
	switch {
	case readsText(t):
		return s
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		s.list, s.elem = true, shapeOf(t.Elem())
		return s
	case t.Kind() == reflect.Map:
		s.elem = shapeOf(t.Elem())
		return s
	case t.Kind() != reflect.Struct:
		return s
	}
	s.fields = make(map[string]*shape)
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			maps.Copy(s.fields, shapeOf(f.Type).fields)
		case name != "" && name != "-":
			s.fields[name] = shapeOf(f.Type)
		}
	}
	return s
}

// readsText reports whether values of the type are strings in JSON, because the type has UnmarshalText.
func readsText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// walk reads a JSON document and compares its names with a shape. If values is set, it also compares the values.
type walk struct {
	b      []byte
	i      int
	values bool     // compare the values too
	wrong  mistakes // errors for the values of the wrong form
	spans  [][2]int // the start and the end of each of these values
}

// misfit returns the first name in a document that its shape does not contain. If values is set and all names fit, it
// returns all values of the wrong form as a *formError. at is the offset of the first error.
func misfit(raw []byte, expected *shape, values bool) (at int, err error) {
	w := walk{b: raw}
	if err := w.value(expected, ""); err != nil || !values {
		return w.i, err
	}
	w = walk{b: raw, values: true}
	if err := w.value(expected, ""); err != nil || len(w.wrong) == 0 {
		return w.i, err
	}
	return w.spans[0][1], &formError{w.wrong, w.withoutWrong()}
}

// formError is the error for a document with values of the wrong form.
type formError struct {
	wrong mistakes
	rest  []byte // the document with null in place of each of these values
}

func (e *formError) Error() string { return e.Unwrap().Error() }
func (e *formError) Unwrap() error { return e.wrong.err() }

// withoutWrong returns the document with null in place of each wrong value.
func (w *walk) withoutWrong() []byte {
	var rest []byte
	at := 0
	for _, span := range w.spans {
		rest = append(append(rest, w.b[at:span[0]]...), "null"...)
		at = span[1]
	}
	return append(rest, w.b[at:]...)
}

// Misfit checks a document against a type by the rules for a body. It returns the first error: its offset in bytes, the
// field, such as "specialists[0].name" or empty for the whole document, and a message, which is empty if everything
// fits. The document must be JSON.
func Misfit(document []byte, into reflect.Type) (at int, field, message string) {
	at, err := misfit(document, shapeOf(into), true)
	if err == nil {
		return 0, "", ""
	}
	first := problemOf(err, time.Time{}).Errors[0]
	return at, first.Field, first.Message
}

func (w *walk) space() {
	for w.i < len(w.b) && (w.b[w.i] == ' ' || w.b[w.i] == '\t' || w.b[w.i] == '\n' || w.b[w.i] == '\r') {
		w.i++
	}
}

// value reads one value. path is the path of the value, such as "specialists[0].name".
func (w *walk) value(s *shape, path string) error {
	w.space()
	switch {
	case (s.fields != nil || s.elem != nil && !s.list) && w.b[w.i] == '{':
		return w.object(s, path)
	case s.list && w.b[w.i] == '[':
		return w.list(s, path)
	}
	start := w.i
	w.skip()
	if !w.values {
		return nil
	}
	err := json.Unmarshal(w.b[start:w.i], reflect.New(s.of).Interface())
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		w.wrong.add(path, "must be "+kindOf(s.of))
	default:
		// the errors of dates, times and weekdays name the required form
		w.wrong.add(path, strings.TrimPrefix(err.Error(), "json: "))
	}
	w.spans = append(w.spans, [2]int{start, w.i})
	return nil
}

func (w *walk) object(s *shape, path string) error {
	var seen [16]string
	names := seen[:0]
	w.i++ // {
	for {
		w.space()
		switch w.b[w.i] {
		case '}':
			w.i++
			return nil
		case ',':
			w.i++
			continue
		}
		name := w.name()
		within, known := s.fields[name]
		if s.fields == nil {
			within, known = s.elem, true
		}
		switch {
		case !known:
			known := "The known fields are: " + strings.Join(slices.Sorted(maps.Keys(s.fields)), ", ") + "."
			if len(s.fields) == 0 {
				known = "Send {} or nothing."
			}
			return malformedField(below(path, name), "is unknown. "+known)
		case slices.Contains(names, name):
			return malformedField(below(path, name), "appears twice. Send it once.")
		}
		names = append(names, name)
		w.space()
		w.i++ // :
		if within.fields != nil || within.elem != nil || w.values {
			name = below(path, name)
		}
		if err := w.value(within, name); err != nil {
			return err
		}
	}
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func malformedField(field, message string) error {
	p := errMalformedBody.with("The field " + quoted(field) + " " + message)
	p.Errors = []problemField{{field, message}}
	return p
}

func (w *walk) list(s *shape, path string) error {
	w.i++ // [
	for n := 0; ; {
		w.space()
		switch w.b[w.i] {
		case ']':
			w.i++
			return nil
		case ',':
			w.i++
			continue
		}
		if err := w.value(s.elem, path+"["+strconv.Itoa(n)+"]"); err != nil {
			return err
		}
		n++
	}
}

// name reads the member name that starts at w.i.
func (w *walk) name() string {
	start := w.i
	w.text()
	raw := w.b[start:w.i]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s) // cannot fail: the document is valid JSON
	return s
}

// text skips a string.
func (w *walk) text() {
	for w.i++; w.b[w.i] != '"'; w.i++ {
		if w.b[w.i] == '\\' {
			w.i++
		}
	}
	w.i++
}

// skip skips one value.
func (w *walk) skip() {
	for depth := 0; w.i < len(w.b); {
		switch w.b[w.i] {
		case '"':
			w.text()
		case '{', '[':
			depth++
			w.i++
		case '}', ']':
			if depth == 0 {
				return
			}
			depth--
			w.i++
		case ',':
			if depth == 0 {
				return
			}
			w.i++
		default:
			w.i++
			continue // the cases above handle whatever ends a number or a word
		}
		if depth == 0 && w.i > 0 && (w.b[w.i-1] == '"' || w.b[w.i-1] == '}' || w.b[w.i-1] == ']') {
			return
		}
	}
}
