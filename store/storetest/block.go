package storetest

import (
	"reflect"
	"testing"
	"time"

	"holdfast/store"
)

func testBlock(t *testing.T, h Harness) {
	t.Run("two of one day", func(t *testing.T) { blocks(t, h.open(t)) })
	t.Run("all blocks of a set", func(t *testing.T) { blockSets(t, h.open(t)) })
	t.Run("blocks that ended long ago", func(t *testing.T) { oldBlocks(t, h.open(t)) })
}

func blocks(t *testing.T, s store.Store) {
	clinic(t, s)
	ctx := t.Context()
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 7)
	at := func(clock float64) time.Time { return day.Add(time.Duration(clock * float64(time.Hour))) }
	put := func(b store.Block) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.PutBlock(ctx, b) })
	}
	remove := func(id string) (b store.Block, err error) {
		err = s.Write(ctx, func(tx store.Tx) (err error) { b, err = tx.DeleteBlock(ctx, id); return err })
		return b, err
	}
	wantBlocks := func(what string, want ...store.Block) {
		t.Helper()
		if got := schedule(t, s).Blocks["ada"]; len(got) != len(want) || len(want) > 0 &&
			!reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
		}
	}
	lunch := store.Block{ID: "lunch", SpecialistID: "ada", Start: at(12), End: at(12.5), Reason: "Lunch"}
	meeting := store.Block{ID: "meeting", SpecialistID: "ada", Start: at(9), End: at(10.25)}
	// over midnight, and over lunch
	away := store.Block{ID: "away", SpecialistID: "ada", Start: at(12), End: at(12 + 72), Reason: "Away"}
	for _, b := range []store.Block{lunch, meeting, away, {ID: "others",
		SpecialistID: "ben", Start: at(9), End: at(10)}} {
		wantErr(t, "put "+b.ID, put(b), nil)
	}
	wantBlocks("by start, then id", meeting, away, lunch)

	wantErr(t, "an unknown specialist", put(store.Block{ID: "x", SpecialistID: "unknown", Start: at(1), End: at(2)}),
		store.ErrNotFound)
	wantErr(t, "no end", put(store.Block{ID: "x", SpecialistID: "ada", Start: at(2), End: at(2)}), store.ErrInvalid)
	wantErr(t, "an end before the start", put(store.Block{ID: "lunch", SpecialistID: "ada", Start: at(2), End: at(1)}),
		store.ErrInvalid)
	wantBlocks("after refusals", meeting, away, lunch)

	lunch.Start, lunch.Reason = at(12.5).Add(time.Millisecond), "Late lunch"
	lunch.End = at(13)
	wantErr(t, "put again", put(lunch), nil)
	wantBlocks("replaced by id", meeting, away, lunch)

	if got, err := remove("meeting"); err != nil || !reflect.DeepEqual(got, meeting) {
		t.Errorf("deleted: got %+v, %v; want %+v", got, err, meeting)
	}
	_, err := remove("meeting")
	wantErr(t, "deleting it again", err, store.ErrNotFound)
	wantBlocks("after deleting one", away, lunch)
	if got := schedule(t, s).Blocks["ben"]; len(got) != 1 || got[0].ID != "others" {
		t.Errorf("block of another specialist: got %+v, want it unchanged", got)
	}

	wantErr(t, "archive", s.Write(ctx, func(tx store.Tx) error { return tx.ArchiveSpecialist(ctx, "ada") }), nil)
	wantBlocks("of an archived specialist")
	if got := schedule(t, s).ArchivedBlocks; !reflect.DeepEqual(got, []store.Block{away, lunch}) {
		t.Errorf("archived blocks: got %+v, want hers", got)
	}
	wantErr(t, "put to an archived specialist", put(lunch), store.ErrNotFound)
	wantErr(t, "bring her back", s.Write(ctx, func(tx store.Tx) error {
		return tx.PutSpecialist(ctx, specialist("ada"))
	}), nil)
	wantBlocks("brought back", away, lunch)
	if got := schedule(t, s).ArchivedBlocks; len(got) != 0 {
		t.Errorf("archived blocks after she is back: got %+v, want none", got)
	}
}

// oldBlocks checks that Schedule omits a block that ended long ago, even though the block is still stored.
func oldBlocks(t *testing.T, s store.Store) {
	clinic(t, s)
	ctx, now := t.Context(), time.Now().UTC().Truncate(time.Millisecond)
	old := store.Block{ID: "old", SpecialistID: "ada", Start: now.Add(-store.BlockMemory - 2*time.Hour),
		End: now.Add(-store.BlockMemory)}
	late := store.Block{ID: "late", SpecialistID: "ada", Start: old.Start.AddDate(-1, 0, 0),
		End: old.End.Add(time.Hour)}
	write(t, s, func(tx store.Tx) error {
		if err := tx.PutBlock(ctx, old); err != nil {
			return err
		}
		return tx.PutBlock(ctx, late)
	})
	if got := schedule(t, s).Blocks["ada"]; !reflect.DeepEqual(got, []store.Block{late}) {
		t.Errorf("got %+v, want %+v alone", got, late)
	}
	wantErr(t, "deleting the old one", s.Write(ctx, func(tx store.Tx) error {
		_, err := tx.DeleteBlock(ctx, "old")
		return err
	}), nil)
}

// blockSets checks that DeleteBlocks removes the blocks of one set and no others.
func blockSets(t *testing.T, s store.Store) {
	clinic(t, s)
	ctx, from := t.Context(), time.Now().UTC().Truncate(time.Millisecond)
	var all []store.Block
	write(t, s, func(tx store.Tx) error {
		all = nil
		for i, who := range []string{"ada", "ben", "ada"} {
			at := from.AddDate(0, 0, i)
			all = append(all, store.Block{ID: "holiday-" + string(rune('a'+i)), SpecialistID: who, Start: at,
				End: at.Add(time.Hour), Reason: "Holiday", SetID: "holidays"})
			if err := tx.PutBlock(ctx, all[i]); err != nil {
				return err
			}
		}
		return tx.PutBlock(ctx, store.Block{ID: "alone", SpecialistID: "ada", Start: from, End: from.Add(time.Hour)})
	})
	if got := schedule(t, s).Blocks["ben"]; !reflect.DeepEqual(got, all[1:2]) {
		t.Errorf("got %+v, want %+v", got, all[1:2])
	}
	remove := func(set string) (gone []store.Block, err error) {
		err = s.Write(ctx, func(tx store.Tx) (err error) { gone, err = tx.DeleteBlocks(ctx, set); return err })
		return gone, err
	}
	_, err := remove("")
	wantErr(t, "no set", err, store.ErrNotFound)
	if gone, err := remove("holidays"); err != nil || !reflect.DeepEqual(gone, all) {
		t.Errorf("removed: got %+v, %v; want %+v", gone, err, all)
	}
	_, err = remove("holidays")
	wantErr(t, "again", err, store.ErrNotFound)
	if got := schedule(t, s).Blocks; len(got["ben"]) != 0 || len(got["ada"]) != 1 || got["ada"][0].ID != "alone" {
		t.Errorf("remaining blocks: %+v", got)
	}
}
