package token

import "sync/atomic"

// Keys holds the keyring that a running server uses to sign and seal. A rotation replaces the keyring. Keys is safe for
// concurrent use.
type Keys struct{ current atomic.Pointer[Keyring] }

// NewKeys returns a Keys that holds k.
func NewKeys(k *Keyring) *Keys {
	keys := new(Keys)
	keys.Replace(k)
	return keys
}

// Current returns the keyring to use now. Call it once per operation: a rotation can replace it between two calls.
func (k *Keys) Current() *Keyring { return k.current.Load() }

// Replace makes every later call to Current return next.
func (k *Keys) Replace(next *Keyring) { k.current.Store(next) }
