package account_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/store"
)

// TestRevokedKeyIsRefused: the server caches a valid key for one second, but a key that it revokes stops working
// immediately.
func TestRevokedKeyIsRefused(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	key, secret, err := c.Account.CreateAPIKey(t.Context(), "system",
		account.NewAPIKey{Name: "pager", Scope: store.ScopePresence})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if p, err := c.Account.Authenticate(t.Context(), secret); err != nil || p.KeyID != key.ID ||
			p.Scope != store.ScopePresence {
			t.Fatalf("got %+v, %v", p, err)
		}
	}
	told := 0
	c.Account.OnRevoked(func() { told++ })
	if err := c.Account.KeyStands(t.Context(), key.ID); err != nil || told != 0 {
		t.Errorf("a valid key: got %v, %d notifications", err, told)
	}
	if err := c.Account.RevokeAPIKey(t.Context(), "system", key.ID); err != nil {
		t.Fatal(err)
	}
	if err := c.Account.KeyStands(t.Context(), key.ID); !errors.Is(err, record.ErrUnauthorized) || told != 1 {
		t.Errorf("a revoked key: got %v, %d notifications; want ErrUnauthorized, one", err, told)
	}
	if _, err := c.Account.Authenticate(t.Context(), secret); !errors.Is(err, record.ErrUnauthorized) {
		t.Errorf("second use: got %v, want ErrUnauthorized", err)
	}
}

// TestKeyRevokedAtOtherNodeIsRefused: a key that the command line or another node revokes stops working within one
// second.
func TestKeyRevokedAtOtherNodeIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		key, secret, err := c.Account.CreateAPIKey(t.Context(), "system",
			account.NewAPIKey{Name: "pager", Scope: store.ScopePresence})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Account.Authenticate(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		err = c.Store.Write(t.Context(), func(tx store.Tx) error {
			return tx.RevokeAPIKey(t.Context(), key.ID, time.Now())
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := c.Account.Authenticate(t.Context(), secret); !errors.Is(err, record.ErrUnauthorized) {
			t.Errorf("revoked at another node: got %v, want ErrUnauthorized", err)
		}
	})
}
