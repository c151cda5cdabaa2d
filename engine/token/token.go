// Package token makes and checks the three signed strings that Holdfast hands
// out: the bookingAuthToken of an agent's caller, the bookingToken of one slot,
// and the manage token of one appointment.
//
// All three are sealed with HMAC-SHA256 under a key of the Keyring, and the rules
// are the same for each of them:
//
//   - Every byte is held against [A-Za-z0-9_.-] and the length against a bound
//     before anything else, because Go's base64 skips CR and LF, so that one
//     token would have many spellings.
//   - The MAC is compared in constant time before the contents are read. What
//     failed its MAC is never half-read.
//   - The purpose and the key id are inside the MAC, because each key signs with
//     a key derived from both: a bookingToken can never pass for a manage token.
//   - One token has one spelling. Trailing base64 bits must be zero, so no
//     mutation of a valid token is ever accepted.
//   - Time is an argument. Instants in a token are whole Unix milliseconds
//     (bookingAuthToken) or whole Unix seconds (the other two).
//
// A token proves who issued it and for what. It does not prove that it is used
// for the first time: the Nonce of a Booking is for the caller to burn in the
// booking transaction, and the Version of a Manage is for the caller to compare
// with the appointment's own.
//
// The package holds no state and reads no file: a Keyring is an immutable value
// and may be used by any number of goroutines.
package token

import "encoding/base64"

// Error is why a token was refused. It is a constant string, the code that is
// spoken on the wire, so it can be compared with == and with errors.Is.
type Error string

// The refusals of a bookingAuthToken, in the order in which they are looked for.
const (
	BookingAuthMissing          Error = "BOOKING_AUTH_MISSING"
	BookingAuthSignatureInvalid Error = "BOOKING_AUTH_SIGNATURE_INVALID" // malformed counts as this
	BookingAuthExpired          Error = "BOOKING_AUTH_EXPIRED"
	BookingAuthGUIDMismatch     Error = "BOOKING_AUTH_GUID_MISMATCH"
)

// The refusals of a bookingToken, of a manage token and of a stream ticket. Invalid covers whatever
// was not issued by this keyring for this purpose, the empty string included.
const (
	BookingTokenInvalid Error = "BOOKING_TOKEN_INVALID"
	BookingTokenExpired Error = "BOOKING_TOKEN_EXPIRED"
	ManageTokenInvalid  Error = "MANAGE_TOKEN_INVALID"
	ManageTokenExpired  Error = "MANAGE_TOKEN_EXPIRED"
	StreamTicketInvalid Error = "STREAM_TICKET_INVALID"
	StreamTicketExpired Error = "STREAM_TICKET_EXPIRED"
)

// Code is the refusal as it is spoken on the wire.
func (e Error) Code() string { return string(e) }

// Error says what is wrong and what to do next. It never quotes the token.
func (e Error) Error() string {
	switch e {
	case BookingAuthMissing:
		return "bookingAuthToken is missing: send the one that came with the patient"
	case BookingAuthSignatureInvalid:
		return "bookingAuthToken was not issued here, or was changed on the way: look the patient up again and send the new one unchanged"
	case BookingAuthExpired:
		return "bookingAuthToken has expired: look the patient up again for a new one"
	case BookingAuthGUIDMismatch:
		return "bookingAuthToken belongs to another patientGUID: send the patient and the token of one and the same answer"
	case BookingTokenInvalid:
		return "bookingToken was not issued here, or was changed on the way: ask for slots again and send the new one unchanged"
	case BookingTokenExpired:
		return "bookingToken has expired: ask for slots again"
	case ManageTokenInvalid:
		return "this link was not issued here, or was changed on the way: open the one in the latest message about the appointment"
	case ManageTokenExpired:
		return "this link has expired: ask the clinic for a new one"
	case StreamTicketInvalid:
		return "this stream ticket was not issued here, or was changed on the way: ask for a new one"
	case StreamTicketExpired:
		return "this stream ticket has expired: ask for a new one"
	}
	return string(e)
}

// allowed reports whether s has at most max bytes, all of [A-Za-z0-9_.-].
func allowed(s string, max int) bool {
	if len(s) > max {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}

// encode is the only spelling of b: unpadded base64url.
func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// decode refuses every spelling of the bytes but the one encode gives. The caller
// has checked the alphabet.
func decode(s string) ([]byte, bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return b, err == nil
}
