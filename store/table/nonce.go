package table

import (
	"context"
	"time"

	"holdfast/store"
)

var nonceUses = nounOf[store.NonceUse]("nonce_uses", "nonce")

// NonceUse implements store.NonceReader.
func (r Reads) NonceUse(ctx context.Context, nonce string) (store.NonceUse, error) {
	return nonceUses.one(ctx, r.source, `WHERE nonce = ?`, nonce)
}

// UseNonce implements store.NonceWriter.
func (t *Tx) UseNonce(_ context.Context, u store.NonceUse) error {
	return t.run(nonceUses.insert, nonceUses.values(&u)...)
}

// FreeNonces implements store.NonceWriter.
func (t *Tx) FreeNonces(_ context.Context, appointmentID string) error {
	return t.run(`DELETE FROM nonce_uses WHERE appointment_id = ?`, appointmentID)
}

// ForgetNonces implements store.NonceWriter.
func (t *Tx) ForgetNonces(_ context.Context, before time.Time, limit int) (int, error) {
	return t.count(`DELETE FROM nonce_uses WHERE nonce IN (
		SELECT nonce FROM nonce_uses WHERE expires_at < ? ORDER BY expires_at LIMIT +?)`, before, limit)
}
