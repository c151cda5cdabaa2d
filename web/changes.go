package web

import (
	"encoding/json"
	"reflect"
	"strings"
)

// changes is a body that changes a T. It changes only the fields that the caller sent: a field that is missing or null
// keeps its value.
type changes[T any] struct {
	sent  T
	names map[string]bool
}

// UnmarshalJSON reads the fields.
func (b *changes[T]) UnmarshalJSON(raw []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	b.names = make(map[string]bool)
	for name, value := range all {
		b.names[name] = string(value) != "null"
	}
	return json.Unmarshal(raw, &b.sent)
}

// shapedAs returns the type whose fields the body can contain.
func (b *changes[T]) shapedAs() reflect.Type { return reflect.TypeFor[T]() }

// apply sets the fields of to that the caller sent.
func (b *changes[T]) apply(to *T) {
	copyNamed(reflect.ValueOf(to).Elem(), reflect.ValueOf(&b.sent).Elem(), b.names)
}

// copyNamed copies the fields whose JSON names are in names.
func copyNamed(to, from reflect.Value, names map[string]bool) {
	for f := range to.Type().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			copyNamed(to.FieldByIndex(f.Index), from.FieldByIndex(f.Index), names)
		case names[name]:
			to.FieldByIndex(f.Index).Set(from.FieldByIndex(f.Index))
		}
	}
}
