package token

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"strings"
)

// sealPrefix names the form of a sealed text: AES-256-GCM under the key of forSealing, with a random nonce in front.
const sealPrefix = "seal1."

// Seal encrypts a secret that has to be kept and used again, such as a password of another server: "seal1.", the id of the key, a
// dot, and the nonce with what was encrypted. about says what the secret is for; only the same about opens it, so it cannot be put to
// another use by who can write where it is kept.
func (k *Keyring) Seal(secret, about string) string {
	signer := k.signer()
	sealed := signer.gcm().Seal(nil, nil, []byte(secret), []byte(about)) // which puts a random nonce in front
	return sealPrefix + signer.name() + "." + encode(sealed)
}

// Open is what was sealed, if it was with one of these keys and for the same purpose. A key that was replaced opens what it has sealed
// for as long as it is kept: who rotates seals anew first.
func (k *Keyring) Open(sealed, about string) (secret string, ok bool) {
	rest, ours := strings.CutPrefix(sealed, sealPrefix)
	id, text, whole := strings.Cut(rest, ".")
	raw, err := hex.DecodeString(id)
	if !ours || !whole || err != nil || len(raw) != 2 {
		return "", false
	}
	b, ok := decode(text)
	if !ok {
		return "", false
	}
	for i := range k.keys {
		if k.keys[i].id == uint16(raw[0])<<8|uint16(raw[1]) {
			plain, err := k.keys[i].gcm().Open(nil, nil, b, []byte(about))
			return string(plain), err == nil
		}
	}
	return "", false
}

// gcm seals under the key's own derived key.
func (k *key) gcm() cipher.AEAD {
	block, err := aes.NewCipher(k.derived[forSealing][:])
	if err == nil {
		var aead cipher.AEAD
		if aead, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return aead
		}
	}
	panic(err) // 32 bytes are a key
}
