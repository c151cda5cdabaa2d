package token

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"strings"
)

// sealPrefix identifies the format of a sealed secret: AES-256-GCM under the forSealing key, with a random nonce before
// the ciphertext.
const sealPrefix = "seal1."

// Seal encrypts a secret that must be stored and used again, such as another server's password. The result is "seal1.",
// the id of the key, a dot, and the nonce with the ciphertext. about states what the secret is used for. Open needs the
// same about, so a person who can write to the store cannot use the secret for another purpose.
func (k *Keyring) Seal(secret, about string) string {
	signer := k.signer()
	sealed := signer.gcm().Seal(nil, nil, []byte(secret), []byte(about)) // the cipher prepends a random nonce
	return sealPrefix + signer.name() + "." + encode(sealed)
}

// Open decrypts a sealed secret. It returns false if the secret was not sealed with one of these keys and the same
// about. A replaced key can open what it sealed only while it is in the keyring, so reseal all secrets before each
// rotation.
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

// gcm returns the cipher of the key's own derived key.
func (k *key) gcm() cipher.AEAD {
	block, err := aes.NewCipher(k.derived[forSealing][:])
	if err == nil {
		var aead cipher.AEAD
		if aead, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return aead
		}
	}
	panic(err) // the derived key always has 32 bytes
}
