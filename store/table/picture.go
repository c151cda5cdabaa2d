package table

import (
	"context"

	"holdfast/store"
)

// pictureOf is a row of specialist_pictures.
type pictureOf struct {
	store.Picture
	specialistID string
}

var pictures = nounOf[pictureOf]("specialist_pictures", "specialist_id")

// Picture implements store.PictureReader.
func (r Reads) Picture(ctx context.Context, specialistID string) (store.Picture, error) {
	p, err := pictures.one(ctx, r.source, `WHERE specialist_id = ?`, specialistID)
	return p.Picture, err
}

// PutPicture implements store.PictureWriter.
func (t *Tx) PutPicture(ctx context.Context, specialistID string, p store.Picture) error {
	if err := t.specialist(ctx, specialistID); err != nil {
		return err
	}
	t.to.Changed(store.Change{Noun: store.NounSpecialist, ID: specialistID})
	return t.run(pictures.put, pictures.values(&pictureOf{p, specialistID})...)
}

// DeletePicture implements store.PictureWriter.
func (t *Tx) DeletePicture(_ context.Context, specialistID string) error {
	t.to.Changed(store.Change{Noun: store.NounSpecialist, ID: specialistID})
	return t.mustChange(`DELETE FROM specialist_pictures WHERE specialist_id = ?`, specialistID)
}
