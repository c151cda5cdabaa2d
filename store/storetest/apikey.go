package storetest

import (
	"reflect"
	"testing"
	"time"

	"holdfast/store"
)

func testAPIKey(t *testing.T, h Harness) {
	s := h.open(t)
	ctx := t.Context()
	first := store.APIKey{ID: "k1", Name: "desk", Scope: store.ScopeAdmin, Hash: [32]byte{1}, Prefix: "hfk_abc",
		CreatedAt: monday}
	second := store.APIKey{ID: "k0", Scope: store.ScopeAgent, Hash: [32]byte{2}, CreatedAt: monday.Add(time.Hour),
		SpecialistID: "ada"}
	put := func(k store.APIKey) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.InsertAPIKey(ctx, k) })
	}
	wantKeys := func(what string, want ...store.APIKey) {
		t.Helper()
		if got, err := s.APIKeys(ctx); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", what, got, err, want)
		}
	}
	wantErr(t, "the later", put(second), nil)
	wantErr(t, "the earlier", put(first), nil)
	wantKeys("by creation", first, second)
	for i, scope := range []store.Scope{store.ScopePresence, store.ScopeMetrics} {
		other := h.open(t)
		wantErr(t, "the scope "+string(scope), other.Write(ctx, func(tx store.Tx) error {
			return tx.InsertAPIKey(ctx, store.APIKey{ID: "k9",
				Scope: scope, Hash: [32]byte{byte(9 + i)}, CreatedAt: monday})
		}), nil)
	}
	wantErr(t, "an id in use", put(store.APIKey{ID: "k1", Scope: store.ScopeAgent, Hash: [32]byte{3}}),
		store.ErrDuplicate)
	wantErr(t, "a secret in use", put(store.APIKey{ID: "k3", Scope: store.ScopeAgent, Hash: [32]byte{1}}),
		store.ErrDuplicate)
	wantErr(t, "a scope that is none", put(store.APIKey{ID: "k3", Scope: "root", Hash: [32]byte{3}}), store.ErrInvalid)

	if got, err := s.APIKeyByHash(ctx, first.Hash); err != nil || !reflect.DeepEqual(got, first) {
		t.Errorf("by hash: got %+v, %v; want %+v", got, err, first)
	}
	_, err := s.APIKeyByHash(ctx, [32]byte{9})
	wantErr(t, "an unknown hash", err, store.ErrNotFound)

	revoke := func(id string, at time.Time) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.RevokeAPIKey(ctx, id, at) })
	}
	first.RevokedAt, first.LastUsedAt = monday.Add(2*time.Hour), monday.Add(time.Hour)
	write(t, s, func(tx store.Tx) error { return tx.TouchAPIKey(ctx, "k1", first.LastUsedAt) })
	wantErr(t, "revoke", revoke("k1", first.RevokedAt), nil)
	wantErr(t, "revoke again", revoke("k1", first.RevokedAt.Add(time.Hour)), nil)
	wantErr(t, "revoke an unknown one", revoke("unknown", monday), store.ErrNotFound)
	wantKeys("after use and revocation", first, second)
}
