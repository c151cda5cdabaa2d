package token

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"time"
)

// BookingTTL is how long a bookingToken is good for.
const BookingTTL = 15 * time.Minute

// The bytes of a bookingToken, big-endian, 47 in all and so 63 characters:
//
//	form 1 · key id 2 · appointment type 5 · specialist 5 · start 4 · minutes 2 · expiry 4 · nonce 8 · MAC 16
//
// Appointment type and specialist are the first bytes of a hash: the engine has
// the list of both and finds the one meant, an agent has one string to carry.
// Start and expiry are Unix seconds (good until 2106).
const (
	bookingForm   = 1
	macSize       = 16
	bookingBody   = 1 + 2 + hashSize + hashSize + 4 + 2 + 4 + 8
	bookingLength = 63
)

const hashSize = 5

// Hash is the short hash of an appointment type's or a specialist's id inside a
// bookingToken. Two ids of one clinic share one about once in a million million
// pairs; a caller who finds two that match must refuse the token, not choose.
type Hash [hashSize]byte

// AppointmentTypeHash is the hash of an appointment type's id (or GUID; the caller
// lowers the case of GUIDs).
func AppointmentTypeHash(id string) Hash { return hash("appointment type", id) }

// SpecialistHash is the hash of a specialist's id (or schedule column GUID; the
// caller lowers the case of GUIDs).
func SpecialistHash(id string) Hash { return hash("specialist", id) }

func hash(kind, id string) Hash {
	sum := sha256.Sum256([]byte(kind + "\x00" + id))
	return Hash(sum[:hashSize])
}

// Booking is what a bookingToken says: this slot was offered, until then.
type Booking struct {
	AppointmentType Hash
	Specialist      Hash
	Start           time.Time // UTC, whole seconds
	Minutes         int       // 1 to 65535
	ExpiresAt       time.Time // UTC, whole seconds; refused from this instant on
	// Nonce is 16 hexadecimal digits, unique to the token. A token is single-use
	// once its nonce is recorded in the transaction that books.
	Nonce string
}

// IssueBooking makes a bookingToken for one slot, good for BookingTTL. It fails
// only when start is not a whole second between 1970 and 2106 or minutes is not
// between 1 and 65535.
func (k *Keyring) IssueBooking(appointmentTypeID, specialistID string, start time.Time, minutes int, now time.Time) (string, Booking, error) {
	var nonce [8]byte
	_, _ = rand.Read(nonce[:])
	b := Booking{
		AppointmentType: AppointmentTypeHash(appointmentTypeID),
		Specialist:      SpecialistHash(specialistID),
		Start:           start.UTC(),
		Minutes:         minutes,
		// Rounded up, so that no token lives shorter than promised.
		ExpiresAt: now.UTC().Add(BookingTTL + time.Second - 1).Truncate(time.Second),
		Nonce:     hex.EncodeToString(nonce[:]),
	}
	token, err := k.signBooking(b)
	if err != nil {
		return "", Booking{}, err
	}
	return token, b, nil
}

func (k *Keyring) signBooking(b Booking) (string, error) {
	start, ok := seconds(b.Start)
	if !ok {
		return "", errors.New("bookingToken: the start must be a whole second between 1970 and 2106")
	}
	expires, ok := seconds(b.ExpiresAt)
	if !ok {
		return "", errors.New("bookingToken: the expiry must be a whole second between 1970 and 2106")
	}
	if b.Minutes < 1 || b.Minutes > math.MaxUint16 {
		return "", errors.New("bookingToken: minutes must be 1 to 65535")
	}
	nonce, err := hex.DecodeString(b.Nonce)
	if err != nil || len(nonce) != 8 {
		return "", errors.New("bookingToken: the nonce must be 16 hexadecimal digits")
	}
	signer := k.signer()
	body := make([]byte, 0, bookingBody+macSize)
	body = append(body, bookingForm)
	body = binary.BigEndian.AppendUint16(body, signer.id)
	body = append(body, b.AppointmentType[:]...)
	body = append(body, b.Specialist[:]...)
	body = binary.BigEndian.AppendUint32(body, start)
	body = binary.BigEndian.AppendUint16(body, uint16(b.Minutes))
	body = binary.BigEndian.AppendUint32(body, expires)
	body = append(body, nonce...)
	return encode(append(body, signer.mac(forBooking, body)[:macSize]...)), nil
}

// VerifyBooking checks a bookingToken: it was signed here and is unchanged
// (BookingTokenInvalid; empty and malformed count as this), it has not expired
// (BookingTokenExpired, and then the Booking is returned too, so that the answer
// given to it earlier can be given again). Whether its nonce was used is the
// caller's to know.
func (k *Keyring) VerifyBooking(token string, now time.Time) (Booking, error) {
	if len(token) != bookingLength {
		return Booking{}, BookingTokenInvalid
	}
	body, ok := k.open(forBooking, token, bookingLength, now)
	if !ok || len(body) != bookingBody || body[0] != bookingForm {
		return Booking{}, BookingTokenInvalid
	}
	rest := body[3:]
	b := Booking{
		AppointmentType: Hash(rest[:hashSize]),
		Specialist:      Hash(rest[hashSize : 2*hashSize]),
	}
	rest = rest[2*hashSize:]
	b.Start = instant(binary.BigEndian.Uint32(rest))
	b.Minutes = int(binary.BigEndian.Uint16(rest[4:]))
	b.ExpiresAt = instant(binary.BigEndian.Uint32(rest[6:]))
	b.Nonce = hex.EncodeToString(rest[10:])
	if !now.Before(b.ExpiresAt) {
		return b, BookingTokenExpired
	}
	return b, nil
}

// open decodes a binary token (form 1 · key id 2 · … · MAC 16) and returns all but
// its MAC, or false. Only the key id is read before the MAC was compared.
func (k *Keyring) open(p purpose, token string, max int, now time.Time) ([]byte, bool) {
	if !allowed(token, max) {
		return nil, false
	}
	raw, ok := decode(token)
	if !ok || len(raw) < 3+macSize {
		return nil, false
	}
	body, sum := raw[:len(raw)-macSize], raw[len(raw)-macSize:]
	signer := k.accepted(binary.BigEndian.Uint16(body[1:]), p, now)
	if signer == nil || !hmac.Equal(sum, signer.mac(p, body)[:macSize]) {
		return nil, false
	}
	return body, true
}

// seconds is t in Unix seconds, or false if that loses anything.
func seconds(t time.Time) (uint32, bool) {
	s := t.Unix()
	return uint32(s), t.Nanosecond() == 0 && s >= 0 && s <= math.MaxUint32
}

func instant(s uint32) time.Time { return time.Unix(int64(s), 0).UTC() }
