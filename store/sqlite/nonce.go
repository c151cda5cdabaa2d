package sqlite

import (
	"context"
	"time"

	"holdfast/store"
)

func (r reads) NonceUse(ctx context.Context, nonce string) (store.NonceUse, error) {
	return one(ctx, r, func(r *row) store.NonceUse {
		return store.NonceUse{Nonce: r.text(), PatientID: r.text(), AppointmentID: r.text(), ExpiresAt: r.time()}
	}, `SELECT nonce, patient_id, appointment_id, expires_at FROM nonce_uses WHERE nonce = ?`, nonce)
}

func (t *tx) UseNonce(_ context.Context, u store.NonceUse) error {
	return t.run(`INSERT INTO nonce_uses (nonce, patient_id, appointment_id, expires_at) VALUES (?, ?, ?, ?)`,
		u.Nonce, u.PatientID, u.AppointmentID, u.ExpiresAt)
}

func (t *tx) FreeNonces(_ context.Context, appointmentID string) error {
	return t.run(`DELETE FROM nonce_uses WHERE appointment_id = ?`, appointmentID)
}

func (t *tx) ForgetNonces(_ context.Context, before time.Time, limit int) (int, error) {
	n, err := t.exec(`DELETE FROM nonce_uses WHERE nonce IN (
		SELECT nonce FROM nonce_uses WHERE expires_at < ? ORDER BY expires_at LIMIT +?)`, before, limit)
	return int(n), err
}
