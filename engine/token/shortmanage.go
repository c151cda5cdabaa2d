package token

import (
	"crypto/hmac"
	"encoding/binary"
	"math"
	"time"
)

// The bytes of a short manage token, for text messages, big-endian:
//
//	form 1 · key id 2 · expiry in hours 3 · version 2 · appointment id (a UUID) 16 · MAC 10
//
// That is 34 bytes, or 46 characters. VerifyManage accepts it like the long form. A MAC of 80 bits is enough, because a
// forger must try each guess against the server.
const (
	manageShort  = 4
	shortHead    = 1 + 2 + 3 + 2
	shortMACSize = 10
	shortSize    = shortHead + 16 + shortMACSize
)

// IssueShortManage is like IssueManage but returns a shorter token, with its expiry rounded up to a whole hour. If the
// id is not a UUID, or the version does not fit into 16 bits, it returns the long token.
func (k *Keyring) IssueShortManage(m Manage, now time.Time) (string, error) {
	form, id := packID(m.AppointmentID)
	expires := m.ExpiresAt
	if latest := now.Add(MaxManageTTL - time.Hour); expires.After(latest) {
		expires = latest
	}
	hours := (expires.Unix() + 3599) / 3600
	if form != manageUUID || m.Version > math.MaxUint16 || hours < 0 || hours >= 1<<24 {
		return k.IssueManage(m, now)
	}
	signer := k.signer()
	body := make([]byte, 0, shortSize)
	body = append(body, manageShort)
	body = binary.BigEndian.AppendUint16(body, signer.id)
	body = append(body, byte(hours>>16), byte(hours>>8), byte(hours))
	body = binary.BigEndian.AppendUint16(body, uint16(m.Version))
	body = append(body, id...)
	return encode(append(body, signer.mac(forManage, body)[:shortMACSize]...)), nil
}

// openShort returns the content of a short manage token, or false if the token was not signed here. It does not check
// the expiry.
func (k *Keyring) openShort(token string, now time.Time) (Manage, bool) {
	if !allowed(token, (shortSize*8+5)/6) {
		return Manage{}, false
	}
	raw, ok := decode(token)
	if !ok || len(raw) != shortSize || raw[0] != manageShort {
		return Manage{}, false
	}
	body, sum := raw[:shortSize-shortMACSize], raw[shortSize-shortMACSize:]
	signer := k.accepted(binary.BigEndian.Uint16(body[1:]), forManage, now)
	if signer == nil || !hmac.Equal(sum, signer.mac(forManage, body)[:shortMACSize]) {
		return Manage{}, false
	}
	hours := int64(body[3])<<16 | int64(body[4])<<8 | int64(body[5])
	return Manage{
		AppointmentID: unpackUUID(body[shortHead:]), Version: uint32(binary.BigEndian.Uint16(body[6:])),
		ExpiresAt: time.Unix(hours*3600, 0).UTC(),
	}, true
}
