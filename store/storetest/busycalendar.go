package storetest

import (
	"reflect"
	"testing"
	"time"

	"holdfast/store"
)

func testBusyCalendar(t *testing.T, h Harness) {
	t.Run("every field is stored", func(t *testing.T) { busyCalendars(t, h.open(t)) })
	t.Run("the blocks of a calendar", func(t *testing.T) { busyBlocks(t, h.open(t)) })
}

func busyCalendars(t *testing.T, s store.Store) {
	clinic(t, s)
	ctx := t.Context()
	put := func(b store.BusyCalendar) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.PutBusyCalendar(ctx, b) })
	}
	want := func(what string, want ...store.BusyCalendar) {
		t.Helper()
		if got, err := s.BusyCalendars(ctx); err != nil || len(got) != len(want) || len(want) > 0 &&
			!reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", what, got, err, want)
		}
	}
	want("none")
	ben := store.BusyCalendar{SpecialistID: "ben", Address: "sealed", SetAt: monday}
	ada := store.BusyCalendar{SpecialistID: "ada", Address: "sealed too", SetAt: monday,
		AskedAt: monday.Add(2 * time.Minute), ReadAt: monday.Add(time.Minute),
		Failure: "unreachable", Unread: 3, Tag: `"a"`, Modified: "Mon, 23 Nov 2026 08:00:00 GMT"}
	wantErr(t, "one that was never asked for", put(ben), nil)
	wantErr(t, "one that was", put(ada), nil)
	want("by specialist", ada, ben)
	wantErr(t, "of an unknown specialist", put(store.BusyCalendar{SpecialistID: "unknown", Address: "sealed",
		SetAt: monday}), store.ErrNotFound)
	ada.Failure, ada.Unread, ada.ReadAt = "", 0, ada.AskedAt
	wantErr(t, "again", put(ada), nil)
	for range 2 {
		write(t, s, func(tx store.Tx) error { return tx.DeleteBusyCalendar(ctx, "ben") })
	}
	want("replaced, and one deleted", ada)
}

// busyBlocks checks that PutBusyBlocks replaces all blocks from a calendar. Unchanged blocks keep their ids, and the
// desk's blocks stay.
func busyBlocks(t *testing.T, s store.Store) {
	clinic(t, s)
	ctx, from := t.Context(), time.Now().UTC().Truncate(time.Millisecond)
	block := func(id string, hour int) store.Block {
		at := from.Add(time.Duration(hour) * time.Hour)
		return store.Block{ID: id, SpecialistID: "ada", Start: at, End: at.Add(time.Hour), Source: store.BlockCalendar}
	}
	desk, others := block("desk", 0), block("others", 0)
	desk.Source, desk.Reason = store.BlockDesk, "Meeting"
	others.SpecialistID = "ben"
	write(t, s, func(tx store.Tx) error {
		if err := tx.PutBlock(ctx, desk); err != nil {
			return err
		}
		return tx.PutBlock(ctx, others)
	})
	var seen int
	if err := s.Changes(ctx, s.LastChange(), func(c []store.Change) {
		for i := range c {
			if c[i].Noun != store.NounSpecialist || c[i].ID != "ada" {
				t.Errorf("the feed delivered %+v", c[i])
			}
			seen++
		}
	}); err != nil {
		t.Fatal(err)
	}
	put := func(specialist string, blocks ...store.Block) (changed bool, told bool, err error) {
		before := seen
		err = s.Write(ctx, func(tx store.Tx) (err error) {
			changed, err = tx.PutBusyBlocks(ctx, specialist, blocks)
			return err
		})
		return changed, seen > before, err
	}
	is := func(what string, want ...store.Block) {
		t.Helper()
		if got := schedule(t, s).Blocks["ada"]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
		}
		if got := schedule(t, s).Blocks["ben"]; !reflect.DeepEqual(got, []store.Block{others}) {
			t.Errorf("%s: blocks of the other specialist are %+v", what, got)
		}
	}
	changed := func(what string, want bool, blocks ...store.Block) {
		t.Helper()
		if changed, told, err := put("ada", blocks...); err != nil || changed != want || told != want {
			t.Errorf("%s: changed is %t, in the feed is %t, %v; want %t", what, changed, told, err, want)
		}
	}
	one, two, three := block("one", 1), block("two", 2), block("three", 3)
	changed("two of them", true, one, two)
	is("two of them", desk, one, two)
	changed("the same under other ids, one twice", false, block("x", 1), block("y", 2), block("z", 1))
	is("the same", desk, one, two)
	changed("one goes and one comes", true, block("x", 2), three)
	is("one goes and one comes", desk, two, three)

	reversed := block("reversed", 5)
	reversed.End = reversed.Start
	_, _, err := put("ada", reversed)
	wantErr(t, "no end", err, store.ErrInvalid)
	_, _, err = put("unknown", block("x", 2))
	wantErr(t, "an unknown specialist", err, store.ErrNotFound)
	is("after refusals", desk, two, three)
	changed("none", true)
	is("none", desk)
}
