package holds

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
)

// ClientID is an opaque secret of 16 to 128 characters that a browser tab or an agent session creates for itself. The
// engine converts it to an Owner on arrival and passes on only owners.
type ClientID string

// Owner identifies a client. Live state, database, events and logs store only the Owner, never the client id. An Owner
// cannot be used to act for the client. The zero Owner means no client.
type Owner [16]byte

// Owner returns the first 16 bytes of the client id's SHA-256 hash, or the zero Owner if there is no client.
func (c ClientID) Owner() (o Owner) {
	if c != "" {
		sum := sha256.Sum256([]byte(c))
		copy(o[:], sum[:])
	}
	return o
}

// IsZero reports whether the owner is the zero Owner, which means no client.
func (o Owner) IsZero() bool { return o == Owner{} }

// Is reports whether both owners identify the same client. It is false for the zero Owner. It takes the same time for
// all values.
func (o Owner) Is(other Owner) bool {
	return subtle.ConstantTimeCompare(o[:], other[:]) == 1 && !o.IsZero()
}

// String returns the stored form: 32 hexadecimal digits, or an empty string for the zero Owner.
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
