package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"strings"
	"sync"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// apiKeyPrefix is the prefix of every key, so that scanners can recognize a leaked one.
const apiKeyPrefix = "hfk_"

// MinAdminKey is the minimum length of the bootstrap admin key, in characters.
const MinAdminKey = 24

// bootstrapKey is the id of the bootstrap admin key, which is not stored in the database.
const bootstrapKey = "bootstrap"

// NewAPIKey describes a key to create.
type NewAPIKey struct {
	Name         string
	Scope        store.Scope
	SpecialistID string // for a presence key: the only specialist that it can act for; empty means all
}

// CreateAPIKey creates a key and returns its secret. The store contains only the hash, so the secret cannot be shown
// again. Errors: *ValidationError.
func (ac *Account) CreateAPIKey(ctx context.Context, actor record.Actor, n NewAPIKey) (store.APIKey, string, error) {
	var m record.Mistakes
	name, scope := strings.TrimSpace(n.Name), n.Scope
	if name == "" {
		m.Add("name", "state what the key is for, such as \"phone agent\"")
	}
	record.CheckText(&m, "name", name, 100, false)
	switch scope {
	case store.ScopeAdmin, store.ScopeAgent, store.ScopePresence, store.ScopeMetrics:
	default:
		m.Add("scope", "must be admin, agent, presence or metrics")
	}
	switch {
	case n.SpecialistID == "":
	case scope != store.ScopePresence:
		m.Add("specialistId", "only a key with the presence scope can be bound to a specialist")
	case ac.clinic.Current().SpecialistByID[n.SpecialistID] == nil:
		m.Add("specialistId", "no specialist has this id")
	}
	if err := m.Err(); err != nil {
		return store.APIKey{}, "", err
	}
	// 260 bits in base32, which is not case-sensitive
	secret := apiKeyPrefix + rand.Text() + rand.Text()
	now := time.Now().UTC().Truncate(time.Millisecond)
	key := store.APIKey{
		ID: record.NewID(), Name: name, Scope: scope, Hash: sha256.Sum256([]byte(secret)),
		Prefix: secret[:len(apiKeyPrefix)+6], CreatedAt: now, SpecialistID: n.SpecialistID,
	}
	err := ac.store.Write(ctx, func(tx store.Tx) error {
		if err := tx.InsertAPIKey(ctx, key); err != nil {
			return err
		}
		if err := record.OnceOf(ctx).Remember(ctx, tx, key, now); err != nil {
			return err
		}
		return record.Audit(ctx, tx, now, actor, record.ActionAPIKeyCreated, "apikey:"+key.ID, "", nil,
			map[string]string{"name": name, "scope": string(scope)})
	})
	return key, secret, err
}

// APIKeys lists all keys, including revoked ones.
func (ac *Account) APIKeys(ctx context.Context) ([]store.APIKey, error) { return ac.store.APIKeys(ctx) }

// RevokeAPIKey revokes a key. It is idempotent. It returns store.ErrNotFound if no such key exists.
func (ac *Account) RevokeAPIKey(ctx context.Context, actor record.Actor, id string) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	err := ac.store.Write(ctx, func(tx store.Tx) error {
		if err := tx.RevokeAPIKey(ctx, id, now); err != nil {
			return err
		}
		return record.Audit(ctx, tx, now, actor, record.ActionAPIKeyRevoked, "apikey:"+id, "", nil, nil)
	})
	ac.knownKeys.forget()
	return err
}

// knownKeys caches valid keys for knownKeyTTL. Without the cache, a program that makes a thousand calls a second, such
// as heartbeats, would cause a database read for each. If another process revokes a key, the key keeps working for at
// most knownKeyTTL.
type knownKeys struct {
	mu    sync.Mutex
	epoch uint64 // increases each time forget empties the cache
	known map[[32]byte]knownKey
}

type knownKey struct {
	principal record.Principal
	until     time.Time
}

const (
	knownKeyTTL  = time.Second
	maxKnownKeys = 1000
)

func (k *knownKeys) get(hash [32]byte, now time.Time) (p record.Principal, ok bool, epoch uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.known[hash]
	return known.principal, ok && now.Before(known.until), k.epoch
}

// put caches a key unless forget has been called since get returned this epoch.
func (k *knownKeys) put(hash [32]byte, p record.Principal, epoch uint64, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if epoch != k.epoch {
		return
	}
	if k.known == nil || len(k.known) >= maxKnownKeys {
		k.known = make(map[[32]byte]knownKey)
	}
	k.known[hash] = knownKey{p, now.Add(knownKeyTTL)}
}

func (k *knownKeys) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known, k.epoch = nil, k.epoch+1
}

// Authenticate returns the principal of a bearer key. It returns ErrUnauthorized if the key is unknown or revoked.
func (ac *Account) Authenticate(ctx context.Context, bearer string) (record.Principal, error) {
	hash := sha256.Sum256([]byte(bearer))
	if ac.adminKey != nil && subtle.ConstantTimeCompare(hash[:], ac.adminKey) == 1 {
		return record.Principal{KeyID: bootstrapKey, Scope: store.ScopeAdmin}, nil
	}
	if !strings.HasPrefix(bearer, apiKeyPrefix) {
		return record.Principal{}, record.ErrUnauthorized
	}
	now := time.Now()
	p, known, epoch := ac.knownKeys.get(hash, now)
	if known {
		return p, nil
	}
	key, err := ac.store.APIKeyByHash(ctx, hash)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return record.Principal{}, record.ErrUnauthorized
	case err != nil:
		return record.Principal{}, err
	case !key.RevokedAt.IsZero():
		return record.Principal{}, record.ErrUnauthorized
	}
	if now.Sub(key.LastUsedAt) > time.Minute {
		err := ac.store.Write(ctx, func(tx store.Tx) error { return tx.TouchAPIKey(ctx, key.ID, now.UTC()) })
		if err != nil {
			ac.log.Warn("failed to record the last use of an API key", "key", key.ID, "error", err)
		}
	}
	p = record.Principal{KeyID: key.ID, Scope: key.Scope, SpecialistID: key.SpecialistID}
	ac.knownKeys.put(hash, p, epoch, now)
	return p, nil
}

// KeyStands returns nil as long as a previously authenticated key has not been revoked. Errors: ErrUnauthorized.
func (ac *Account) KeyStands(ctx context.Context, keyID string) error {
	if keyID == bootstrapKey {
		return nil
	}
	all, err := ac.store.APIKeys(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].ID == keyID && all[i].RevokedAt.IsZero() {
			return nil
		}
	}
	return record.ErrUnauthorized
}
