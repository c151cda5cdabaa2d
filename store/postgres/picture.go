package postgres

import (
	"context"

	"holdfast/store"
)

func (r reads) Picture(ctx context.Context, specialistID string) (store.Picture, error) {
	return one(ctx, r, func(r *row) store.Picture {
		return store.Picture{ContentType: r.text(), Digest: r.text(), Content: r.bytes()}
	}, `SELECT content_type, digest, content FROM specialist_pictures WHERE specialist_id = $1`, specialistID)
}

func (t *tx) PutPicture(ctx context.Context, specialistID string, p store.Picture) error {
	if err := t.specialist(ctx, specialistID); err != nil {
		return err
	}
	t.changed(store.Change{Noun: store.NounSpecialist, ID: specialistID})
	return t.run(`
		INSERT INTO specialist_pictures (specialist_id, content_type, digest, content) VALUES ($1, $2, $3, $4)
		ON CONFLICT (specialist_id) DO UPDATE SET content_type = excluded.content_type, digest = excluded.digest, content = excluded.content`,
		specialistID, p.ContentType, p.Digest, p.Content)
}

func (t *tx) DeletePicture(_ context.Context, specialistID string) error {
	t.changed(store.Change{Noun: store.NounSpecialist, ID: specialistID})
	return t.mustChange(`DELETE FROM specialist_pictures WHERE specialist_id = $1`, specialistID)
}
