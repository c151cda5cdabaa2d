package storetest

import (
	"reflect"
	"testing"
	"time"

	"holdfast/store"
)

func testClosure(t *testing.T, h Harness) {
	s := h.open(t)
	clinic(t, s)
	ctx := t.Context()
	closure := func(id, specialist string, since time.Duration) store.Closure {
		return store.Closure{ID: id, SpecialistID: specialist, Start: monday, End: monday.Add(30 * time.Minute),
			Since: monday.Add(since)}
	}
	put := func(c store.Closure) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.PutClosure(ctx, c) })
	}
	wantClosures := func(what string, want ...store.Closure) {
		t.Helper()
		if got, err := s.Closures(ctx); err != nil || len(got) != len(want) || len(want) > 0 &&
			!reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", what, got, err, want)
		}
	}
	late, early, same := closure("late", "ada", 2*time.Minute), closure("early", "ben", time.Minute),
		closure("a-same", "ada", 2*time.Minute)
	var seen []store.Change
	if err := s.Changes(ctx, s.LastChange(), func(c []store.Change) { seen = append(seen, c...) }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []store.Closure{late, early, same} {
		wantErr(t, "put "+c.ID, put(c), nil)
	}
	wantClosures("the oldest refusal first, then by id", early, same, late)
	if len(seen) != 3 || seen[1].Noun != store.NounClosure || seen[1].ID != "early" || seen[1].Assigned != "ben" {
		t.Errorf("the changes are %+v, want one for each block, with its specialist", seen)
	}
	reversed, nobody := late, late
	reversed.End, nobody.SpecialistID = reversed.Start, "unknown"
	wantErr(t, "no end", put(reversed), store.ErrInvalid)
	wantErr(t, "an unknown specialist", put(nobody), store.ErrInvalid)
	late.Since = monday.Add(3 * time.Minute)
	wantErr(t, "refused once more", put(late), nil)
	wantClosures("replaced by id", early, same, late)
	for range 2 {
		write(t, s, func(tx store.Tx) error { return tx.DeleteClosure(ctx, "a-same") })
	}
	wantClosures("after deleting one", early, late)
}
