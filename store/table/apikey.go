package table

import (
	"context"
	"time"

	"holdfast/store"
)

var apiKeys = nounOf[store.APIKey]("api_keys", "id")

// APIKeys implements store.APIKeyReader.
func (r Reads) APIKeys(ctx context.Context) ([]store.APIKey, error) {
	return apiKeys.list(ctx, r.source, `ORDER BY created_at, id`)
}

// APIKeyByHash implements store.APIKeyReader.
func (r Reads) APIKeyByHash(ctx context.Context, hash [32]byte) (store.APIKey, error) {
	return apiKeys.one(ctx, r.source, `WHERE hash = ?`, hash)
}

// InsertAPIKey implements store.APIKeyWriter.
func (t *Tx) InsertAPIKey(_ context.Context, k store.APIKey) error {
	return t.run(apiKeys.insert, apiKeys.values(&k)...)
}

// RevokeAPIKey implements store.APIKeyWriter.
func (t *Tx) RevokeAPIKey(_ context.Context, id string, at time.Time) error {
	t.to.Changed(store.Change{Noun: store.NounAPIKey, ID: id})
	return t.mustChange(`UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ?`, at, id)
}

// TouchAPIKey implements store.APIKeyWriter.
func (t *Tx) TouchAPIKey(_ context.Context, id string, at time.Time) error {
	return t.run(`UPDATE api_keys SET last_used_at = ? WHERE id = ?`, at, id)
}
