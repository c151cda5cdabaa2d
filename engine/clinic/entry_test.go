package clinic_test

import (
	"reflect"
	"testing"
	"time"
	"unicode"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// TestEveryEntryNamesItsFields: clinic files and the audit log use the field names of the API, not those of Go.
func TestEveryEntryNamesItsFields(t *testing.T) {
	seen := make(map[reflect.Type]bool)
	var look func(reflect.Type)
	look = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			look(of.Elem())
		case reflect.Struct:
			if seen[of] || of == reflect.TypeFor[time.Time]() || of == reflect.TypeFor[store.Date]() {
				return
			}
			seen[of] = true
			for i := range of.NumField() {
				f := of.Field(i)
				if f.Anonymous { // its fields appear in place of the embedded struct
					look(f.Type)
					continue
				}
				if name := f.Tag.Get("json"); name == "" || unicode.IsUpper(rune(name[0])) {
					t.Errorf("%s.%s has the name %q in a file and in the audit log", of.Name(), f.Name, name)
				}
				look(f.Type)
			}
		}
	}
	for _, entry := range []any{clinic.File{}, clinic.Imported{}, clinic.Settings{}} {
		look(reflect.TypeOf(entry))
	}
	if !seen[reflect.TypeFor[clinic.AppointmentTypeEntry]()] || !seen[reflect.TypeFor[clinic.WindowEntry]()] {
		t.Error("some entries of the file were not checked")
	}
}
