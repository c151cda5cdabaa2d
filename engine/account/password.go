package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"holdfast/engine/record"

	"golang.org/x/crypto/argon2"
)

// MinPassword, in characters, and MaxPassword, in bytes, bound the length of a password (NIST SP 800-63B: length
// counts, composition rules do not).
const (
	MinPassword = 12
	MaxPassword = 1024
)

// argonParams are the cost parameters of argon2id: 19 MiB, two passes, one lane (OWASP Password Storage Cheat Sheet).
type argonParams struct {
	memoryKiB, passes uint32
	lanes             uint8
}

var (
	argonNow   = argonParams{memoryKiB: 19 << 10, passes: 2, lanes: 1}
	argonQuick = argonParams{memoryKiB: 8, passes: 1, lanes: 1} // Options.QuickPasswords
)

const argonKey = 32

// passwords hashes and verifies passwords, at most two at a time, so that a burst of sign-ins cannot exhaust the
// machine's memory.
type passwords struct {
	cost  argonParams // of new hashes
	turns chan struct{}
	// decoy is the hash that is verified if there is no such account, so that the check takes the same time in both
	// cases.
	decoy string
}

func newPasswords(cost argonParams) passwords {
	p := passwords{cost: cost, turns: make(chan struct{}, 2)}
	p.decoy = encodeArgon(cost, make([]byte, 16), make([]byte, argonKey))
	return p
}

func (p *passwords) turn(ctx context.Context) (done func(), err error) {
	select {
	case p.turns <- struct{}{}:
		return func() { <-p.turns }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hash hashes a password with a new salt and returns a PHC string.
func (p *passwords) hash(ctx context.Context, password string) (string, error) {
	done, err := p.turn(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	salt := make([]byte, 16)
	rand.Read(salt)
	key := argon2.IDKey([]byte(password), salt, p.cost.passes, p.cost.memoryKiB, p.cost.lanes, argonKey)
	return encodeArgon(p.cost, salt, key), nil
}

// verify reports whether a password matches a PHC string.
func (p *passwords) verify(ctx context.Context, phc, password string) (bool, error) {
	params, salt, want, err := decodeArgon(phc)
	if err != nil {
		return false, err
	}
	done, err := p.turn(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	got := argon2.IDKey([]byte(password), salt, params.passes, params.memoryKiB, params.lanes, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

func encodeArgon(p argonParams, salt, key []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memoryKiB, p.passes, p.lanes,
		b64.EncodeToString(salt), b64.EncodeToString(key))
}

func decodeArgon(phc string) (p argonParams, salt, key []byte, err error) {
	bad := errors.New("stored password hash cannot be read")
	parts := strings.Split(phc, "$")
	var version int
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return p, nil, nil, bad
	}
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return p, nil, nil, bad
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memoryKiB, &p.passes, &p.lanes); err != nil ||
		p.memoryKiB > 1<<20 || p.passes == 0 || p.lanes == 0 {
		return p, nil, nil, bad
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return p, nil, nil, bad
	}
	if key, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(key) < 16 {
		return p, nil, nil, bad
	}
	return p, salt, key, nil
}

// checkPassword checks a new password. about contains words related to the account, which must not be used as a
// password.
func checkPassword(m *record.Mistakes, password string, about ...string) {
	switch n := utf8.RuneCountInString(password); {
	case n < MinPassword:
		m.Add("password", "must have at least %d characters; several words in a row are easy to remember", MinPassword)
	case len(password) > MaxPassword:
		m.Add("password", "must have at most %d bytes", MaxPassword)
	case isCommon(password, about...):
		m.Add("password", "is a common password; a few words together are hard to guess and easy to remember")
	}
}
