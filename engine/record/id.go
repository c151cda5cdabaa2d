package record

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"

	"holdfast/holds"
)

// NewID returns a new UUIDv7 (RFC 9562 section 5.7). Later ids sort later, with a resolution of a quarter of a
// microsecond. The twelve bits after the version are the fraction of the millisecond (section 6.2, method 3), so a log
// sorted by id is in chronological order.
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails; see crypto/rand
	now := time.Now()
	fraction := uint64(now.Nanosecond()%1e6) * 4096 / 1e6
	var head [8]byte
	binary.BigEndian.PutUint64(head[:], uint64(now.UnixMilli())<<16|0x7000|fraction)
	copy(b[:8], head[:])
	b[8] = b[8]&0x3f | 0x80
	return SpellUUID(b)
}

// SpellUUID formats 16 bytes as a UUID.
func SpellUUID(b [16]byte) string {
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:36], b[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// Now returns the current time as it is stored: in UTC, truncated to milliseconds.
func Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// NewOwner returns a new random owner for a hold without a client, such as the desk's hold while its booking is being
// written.
func NewOwner() (o holds.Owner) {
	rand.Read(o[:])
	return o
}

// SpelledOwner parses an owner from its stored form. It returns the zero owner if s is not valid.
func SpelledOwner(s string) holds.Owner {
	owner, err := holds.ParseOwner(s)
	if err != nil {
		return holds.Owner{}
	}
	return owner
}
