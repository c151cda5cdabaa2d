package holds

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
)

// ClientID is an opaque secret of 16 to 128 characters that a browser tab or an agent session makes for itself. It stops at
// the engine's door; past it there are only owners.
type ClientID string

// Owner is who the client is: all of it that is kept, in live state, database, events and logs. It cannot act for the
// client. The zero Owner is nobody.
type Owner [16]byte

// Owner returns the first 16 bytes of the client's SHA-256; the zero Owner for no client.
func (c ClientID) Owner() (o Owner) {
	if c != "" {
		sum := sha256.Sum256([]byte(c))
		copy(o[:], sum[:])
	}
	return o
}

// IsZero reports whether it is nobody.
func (o Owner) IsZero() bool { return o == Owner{} }

// Is reports whether two are the same somebody. It takes the same time whatever they are.
func (o Owner) Is(other Owner) bool {
	return subtle.ConstantTimeCompare(o[:], other[:]) == 1 && !o.IsZero()
}

// String is the stored form: 32 hexadecimal digits, or nothing for nobody.
func (o Owner) String() string {
	if o.IsZero() {
		return ""
	}
	return hex.EncodeToString(o[:])
}

// ParseOwner reads the stored form.
func ParseOwner(s string) (o Owner, err error) {
	if s == "" {
		return o, nil
	}
	if len(s) != 2*len(o) {
		return o, fmt.Errorf("an owner has %d hexadecimal digits, not %d characters", 2*len(o), len(s))
	}
	_, err = hex.Decode(o[:], []byte(s))
	return o, err
}
