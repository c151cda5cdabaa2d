package storetest

import (
	"reflect"
	"testing"

	"holdfast/store"
)

func testPicture(t *testing.T, h Harness) {
	s := h.open(t)
	ctx := t.Context()
	clinic(t, s)
	put := func(id string, p store.Picture) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.PutPicture(ctx, id, p) })
	}
	remove := func(id string) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.DeletePicture(ctx, id) })
	}
	digest := func(id string) string {
		for _, p := range schedule(t, s).Specialists {
			if p.ID == id {
				return p.PictureDigest
			}
		}
		return "nobody"
	}
	_, err := s.Picture(ctx, "ada")
	wantErr(t, "before there is one", err, store.ErrNotFound)
	first := store.Picture{ContentType: "image/png", Digest: "one", Content: []byte{0, 1, '\\', '\'', 0xff}}
	for _, want := range []store.Picture{first, {ContentType: "image/jpeg", Digest: "two", Content: []byte{2}}} {
		wantErr(t, "put", put("ada", want), nil)
		if got, err := s.Picture(ctx, "ada"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		if got := digest("ada"); got != want.Digest {
			t.Errorf("the schedule names %q, want %q", got, want.Digest)
		}
	}
	if got := digest("ben"); got != "" {
		t.Errorf("a specialist without a picture has the digest %q", got)
	}
	wantErr(t, "of an unknown specialist", put("unknown", first), store.ErrNotFound)
	wantErr(t, "an empty one", put("ben", store.Picture{ContentType: "image/png", Digest: "x"}), store.ErrInvalid)

	// Replacing the specialist keeps the picture.
	write(t, s, func(tx store.Tx) error { return tx.PutSpecialist(ctx, specialist("ada")) })
	if got := digest("ada"); got != "two" {
		t.Errorf("after the specialist was replaced: %q, want the earlier picture", got)
	}
	wantErr(t, "delete", remove("ada"), nil)
	wantErr(t, "delete again", remove("ada"), store.ErrNotFound)
	if got := digest("ada"); got != "" {
		t.Errorf("after deleting: %q, want none", got)
	}
}
