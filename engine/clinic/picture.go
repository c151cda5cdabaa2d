package clinic

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"

	"holdfast/engine/record"
	"holdfast/store"
)

// MaxPicture is the maximum size of a specialist's picture, in bytes. Pages show it as a thumbnail.
const MaxPicture = 150 << 10

// pictureType determines a picture's media type from its first bytes. It returns an empty string if the pages cannot
// show the picture.
func pictureType(content []byte) string {
	switch {
	case bytes.HasPrefix(content, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(content, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case len(content) > 12 && string(content[:4]) == "RIFF" && string(content[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// Picture returns the picture of one specialist. Errors: store.ErrNotFound.
func (cl *Clinic) Picture(ctx context.Context, specialistID string) (store.Picture, error) {
	return cl.store.Picture(ctx, specialistID)
}

// pictureAudit is the audit entry for a picture.
type pictureAudit struct {
	ContentType string `json:"contentType,omitempty"`
	Digest      string `json:"digest"`
	Bytes       int    `json:"bytes,omitempty"`
}

// PutPicture sets a specialist's picture, a PNG, JPEG or WebP of at most MaxPicture bytes, and replaces the previous
// one. Errors: store.ErrNotFound, *ValidationError.
func (cl *Clinic) PutPicture(ctx context.Context, actor record.Actor, specialistID string,
	content []byte) (store.Picture, error) {
	sum := sha256.Sum256(content)
	p := store.Picture{ContentType: pictureType(content), Digest: hex.EncodeToString(sum[:8]), Content: content}
	switch {
	case p.ContentType == "":
		return p, record.Invalid("content", "must be a PNG, a JPEG or a WebP")
	case len(content) > MaxPicture:
		return p, record.Invalid("content", "must be at most %d KB", MaxPicture>>10)
	}
	c := ScheduleChange{
		Actor: actor, Action: record.ActionSpecialistPicturePut, Subject: "specialist:" + specialistID,
		after: pictureAudit{p.ContentType, p.Digest, len(content)},
	}
	return p, cl.ChangeSchedule(ctx, &c, func(tx store.Tx) error { return tx.PutPicture(ctx, specialistID, p) })
}

// DeletePicture removes the picture of a specialist. Errors: store.ErrNotFound.
func (cl *Clinic) DeletePicture(ctx context.Context, actor record.Actor, specialistID string) error {
	c := ScheduleChange{Actor: actor, Action: record.ActionSpecialistPictureDeleted, Subject: "specialist:" +
		specialistID}
	return cl.ChangeSchedule(ctx, &c, func(tx store.Tx) error { return tx.DeletePicture(ctx, specialistID) })
}
