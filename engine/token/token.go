// Package token creates and checks the strings that Holdfast signs or seals: the bookingAuthToken of an agent's
// caller, the bookingToken of one slot, the manage token and the calendar token of one appointment, and the stream
// ticket. It also seals secrets for storage.
//
// The first four are signed with HMAC-SHA256 under a key of the Keyring, by the same rules:
//
//   - Before anything else, every byte is compared with [A-Za-z0-9_.-] and the length with a limit, because Go's
//     base64 skips CR and LF, and one token would have many spellings.
//   - The MAC is compared in constant time before the content is read. Content with a wrong MAC is never read.
//   - The MAC includes the purpose and the key id, because each key signs with a key derived from both. So a
//     bookingToken is never accepted as a manage token.
//   - One token has one spelling. Trailing base64 bits must be zero, so no mutation of a valid token is accepted.
//   - Time is an argument. Instants in a token are whole Unix milliseconds (bookingAuthToken) or whole Unix seconds
//     (the others).
//
// A token proves who issued it and for what. It does not prove that this is its first use: the caller must record the
// Nonce of a Booking in the booking transaction, and compare the Version of a Manage with the appointment's own.
//
// The package has no state except in Keys, and reads no file. A Keyring is immutable and safe for concurrent use.
package token

import "encoding/base64"

// Error is why a token was refused. It is a constant string, the code on the wire, so compare it with == or
// errors.Is.
type Error string

// The reasons for refusing a bookingAuthToken, in the order of the checks.
const (
	BookingAuthMissing          Error = "BOOKING_AUTH_MISSING"
	BookingAuthSignatureInvalid Error = "BOOKING_AUTH_SIGNATURE_INVALID" // also for a malformed token
	BookingAuthExpired          Error = "BOOKING_AUTH_EXPIRED"
	BookingAuthGUIDMismatch     Error = "BOOKING_AUTH_GUID_MISMATCH"
)

// The reasons for refusing a bookingToken, a manage token and a stream ticket. Invalid covers every string that this
// keyring has not issued for this purpose, including the empty string.
const (
	BookingTokenInvalid Error = "BOOKING_TOKEN_INVALID"
	BookingTokenExpired Error = "BOOKING_TOKEN_EXPIRED"
	ManageTokenInvalid  Error = "MANAGE_TOKEN_INVALID"
	ManageTokenExpired  Error = "MANAGE_TOKEN_EXPIRED"
	StreamTicketInvalid Error = "STREAM_TICKET_INVALID"
	StreamTicketExpired Error = "STREAM_TICKET_EXPIRED"
)

// Code returns the reason as it is sent on the wire.
func (e Error) Code() string { return string(e) }

// Error describes the problem and what to do next. It never quotes the token.
func (e Error) Error() string {
	switch e {
	case BookingAuthMissing:
		return "bookingAuthToken is missing: send the token that came with the patient"
	case BookingAuthSignatureInvalid:
		return "bookingAuthToken was not issued by this server, or was changed in transit: look up the patient again " +
			"and send the new token unchanged"
	case BookingAuthExpired:
		return "bookingAuthToken has expired: look up the patient again to get a new token"
	case BookingAuthGUIDMismatch:
		return "bookingAuthToken belongs to a different patientGUID: send a patient and a token from the same response"
	case BookingTokenInvalid:
		return "bookingToken was not issued by this server, or was changed in transit: request slots again and send " +
			"the new token unchanged"
	case BookingTokenExpired:
		return "bookingToken has expired: request slots again"
	case ManageTokenInvalid:
		return "this link was not issued by this server, or was changed in transit: open the link in the latest " +
			"message about the appointment"
	case ManageTokenExpired:
		return "this link has expired: ask the clinic for a new link"
	case StreamTicketInvalid:
		return "this stream ticket was not issued by this server, or was changed in transit: request a new ticket"
	case StreamTicketExpired:
		return "this stream ticket has expired: request a new ticket"
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

// encode returns the only accepted encoding of b: unpadded base64url.
func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// decode refuses every encoding other than that of encode. The caller must have checked the alphabet.
func decode(s string) ([]byte, bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return b, err == nil
}
