package postgres

import (
	"context"
	"time"

	"holdfast/store"
)

const apiKeyColumns = `id, name, scope, hash, prefix, created_at, last_used_at, revoked_at, specialist_id`

func scanAPIKey(r *row) store.APIKey {
	return store.APIKey{ID: r.text(), Name: r.text(), Scope: store.Scope(r.text()), Hash: r.hash(), Prefix: r.text(),
		CreatedAt: r.time(), LastUsedAt: r.time(), RevokedAt: r.time(), SpecialistID: r.text()}
}

func (r reads) APIKeys(ctx context.Context) ([]store.APIKey, error) {
	return list(ctx, r, scanAPIKey, `SELECT `+apiKeyColumns+` FROM api_keys ORDER BY created_at, id`)
}

func (r reads) APIKeyByHash(ctx context.Context, hash [32]byte) (store.APIKey, error) {
	return one(ctx, r, scanAPIKey, `SELECT `+apiKeyColumns+` FROM api_keys WHERE hash = $1`, hash)
}

func (t *tx) InsertAPIKey(_ context.Context, k store.APIKey) error {
	return t.run(`INSERT INTO api_keys (`+apiKeyColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		k.ID, k.Name, string(k.Scope), k.Hash, k.Prefix, k.CreatedAt, orNull(k.LastUsedAt), orNull(k.RevokedAt), k.SpecialistID)
}

func (t *tx) RevokeAPIKey(_ context.Context, id string, at time.Time) error {
	t.changed(store.Change{Noun: store.NounAPIKey, ID: id})
	return t.mustChange(`UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $1) WHERE id = $2`, at, id)
}

func (t *tx) TouchAPIKey(_ context.Context, id string, at time.Time) error {
	return t.run(`UPDATE api_keys SET last_used_at = $1 WHERE id = $2`, at, id)
}
