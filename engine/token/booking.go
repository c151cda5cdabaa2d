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

// BookingTTL is the lifetime of a bookingToken.
const BookingTTL = 15 * time.Minute

// The bytes of a bookingToken, big-endian, 47 in total and therefore 63 characters:
//
//	form 1 · key id 2 · appointment type 5 · specialist 5 · start 4 · minutes 2 · expiry 4 · nonce 8 · MAC 16
//
// Appointment type and specialist are the first bytes of a hash, which the engine compares with the hashes of its own
// lists. So an agent has only one string to pass on. Start and expiry are Unix seconds (valid until 2106).
const (
	bookingForm   = 1
	macSize       = 16
	bookingBody   = 1 + 2 + hashSize + hashSize + 4 + 2 + 4 + 8
	bookingLength = 63
)

const hashSize = 5

// Hash is the short hash of the id of an appointment type or a specialist in a bookingToken. About one in a trillion
// pairs of ids has the same hash. If two ids match, the caller must refuse the token and not choose one of them.
type Hash [hashSize]byte

// AppointmentTypeHash returns the hash of an appointment type's id, or of its GUID in lower case.
func AppointmentTypeHash(id string) Hash { return hash("appointment type", id) }

// SpecialistHash returns the hash of a specialist's id, or of the schedule column's GUID in lower case.
func SpecialistHash(id string) Hash { return hash("specialist", id) }

func hash(kind, id string) Hash {
	sum := sha256.Sum256([]byte(kind + "\x00" + id))
	return Hash(sum[:hashSize])
}

// Booking is the content of a bookingToken: a slot, and the instant at which the offer expires.
type Booking struct {
	AppointmentType Hash
	Specialist      Hash
	Start           time.Time // UTC, whole seconds
	Minutes         int       // 1 to 65535
	ExpiresAt       time.Time // UTC, whole seconds; refused from this instant on
	// Nonce is 16 hexadecimal digits, unique to the token. To make a token single-use, record its nonce in the
	// transaction that books.
	Nonce string
}

// IssueBooking creates a bookingToken for one slot, valid for BookingTTL. It fails only if start is not a whole
// second between 1970 and 2106, or minutes is not between 1 and 65535.
func (k *Keyring) IssueBooking(appointmentTypeID, specialistID string, start time.Time, minutes int,
	now time.Time) (string, Booking, error) {
	var nonce [8]byte
	_, _ = rand.Read(nonce[:])
	b := Booking{
		AppointmentType: AppointmentTypeHash(appointmentTypeID),
		Specialist:      SpecialistHash(specialistID),
		Start:           start.UTC(),
		Minutes:         minutes,
		// Rounded up, so that the lifetime is never shorter than BookingTTL.
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

// VerifyBooking checks that a bookingToken was signed here and is unchanged (BookingTokenInvalid; also for an empty or
// malformed token) and has not expired (BookingTokenExpired). With BookingTokenExpired it also returns the Booking, so
// that the caller can repeat an earlier response. The caller must check whether the nonce has been used.
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

// open decodes a binary token (form 1 · key id 2 · … · MAC 16) and returns all but its MAC, or false. It reads only
// the key id before it compares the MAC.
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

// seconds returns t in Unix seconds, or false if the conversion is not exact.
func seconds(t time.Time) (uint32, bool) {
	s := t.Unix()
	return uint32(s), t.Nanosecond() == 0 && s >= 0 && s <= math.MaxUint32
}

func instant(s uint32) time.Time { return time.Unix(int64(s), 0).UTC() }
