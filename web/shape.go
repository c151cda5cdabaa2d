package web

import (
	"bytes"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// shape is what a body may look like: which names an object knows. A nil shape takes anything.
type shape struct {
	fields map[string]*shape // of an object
	elem   *shape            // of a list
	list   bool
}

// shapeOf reads the shape off the type that the body is decoded into, once per route.
func shapeOf(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return &shape{list: true, elem: shapeOf(t.Elem())}
	case t.Kind() != reflect.Struct:
		return nil
	}
	s := &shape{fields: make(map[string]*shape)}
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

// walk goes over a document that is known to be JSON and compares its names with a shape.
type walk struct {
	b []byte
	i int
}

func (w *walk) space() {
	for w.i < len(w.b) && (w.b[w.i] == ' ' || w.b[w.i] == '\t' || w.b[w.i] == '\n' || w.b[w.i] == '\r') {
		w.i++
	}
}

func (w *walk) value(s *shape, path string) error {
	w.space()
	switch {
	case s != nil && s.fields != nil && w.b[w.i] == '{':
		return w.object(s, path)
	case s != nil && s.list && w.b[w.i] == '[':
		return w.list(s, path)
	}
	w.skip()
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
		switch {
		case !known:
			known := "Known are: " + strings.Join(slices.Sorted(maps.Keys(s.fields)), ", ") + "."
			if len(s.fields) == 0 {
				known = "Send {} or nothing."
			}
			return errMalformedBody.with("The field " + quoted(path+name) + " is not known here. " + known)
		case slices.Contains(names, name):
			return errMalformedBody.with("The field " + quoted(path+name) + " is given twice. Send it once.")
		}
		names = append(names, name)
		w.space()
		w.i++ // :
		below := path
		if within != nil {
			below = path + name + "."
		}
		if err := w.value(within, below); err != nil {
			return err
		}
	}
}

func (w *walk) list(s *shape, path string) error {
	w.i++ // [
	for {
		w.space()
		switch w.b[w.i] {
		case ']':
			w.i++
			return nil
		case ',':
			w.i++
			continue
		}
		if err := w.value(s.elem, path); err != nil {
			return err
		}
	}
}

// name returns the member name that starts here.
func (w *walk) name() string {
	start := w.i
	w.text()
	raw := w.b[start:w.i]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s) // the whole document was read before
	return s
}

// text passes over a string.
func (w *walk) text() {
	for w.i++; w.b[w.i] != '"'; w.i++ {
		if w.b[w.i] == '\\' {
			w.i++
		}
	}
	w.i++
}

// skip passes over one value.
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
			continue // numbers and words have several bytes; what ends them is seen above
		}
		if depth == 0 && w.i > 0 && (w.b[w.i-1] == '"' || w.b[w.i-1] == '}' || w.b[w.i-1] == ']') {
			return
		}
	}
}
