package token

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"time"
)

// MaxManageTTL limits the lifetime of a manage token, and therefore how long a replaced key stays in the key file.
const MaxManageTTL = 400 * 24 * time.Hour

// The bytes of a manage token, big-endian:
//
//	form 1 · key id 2 · expiry 4 · version 4 · appointment id · MAC 16
//
// An id that is a UUID takes 16 bytes (form 2: 43 bytes in total, 58 characters); any other id takes its own length
// (form 3).
const (
	manageUUID     = 2
	manageText     = 3
	manageHead     = 1 + 2 + 4 + 4
	maxAppointment = 64
	maxManage      = ((manageHead+maxAppointment+macSize)*8 + 5) / 6
)

// Manage is the content of a manage token: its bearer is allowed to see and change this one appointment until an
// instant.
type Manage struct {
	AppointmentID string
	// Version is the caller's version number for the links to this appointment. The caller increments it when the
	// appointment is rescheduled, and refuses links with a lower version.
	Version   uint32
	ExpiresAt time.Time // UTC, whole seconds; refused from this instant on
}

// IssueManage creates the manage token for m. The same m results in the same token until the keys are rotated, so links
// do not need to be stored. An expiry later than MaxManageTTL from now is reduced to that (and then depends on now).
// Fractions of a second are cut off. It fails only if the id is not 1 to 64 characters of [A-Za-z0-9_-], or the expiry
// is not between 1970 and 2106.
func (k *Keyring) IssueManage(m Manage, now time.Time) (string, error) {
	return k.issueLink(forManage, m, now)
}

// issueLink does the work of IssueManage for every purpose that concerns one appointment.
func (k *Keyring) issueLink(p purpose, m Manage, now time.Time) (string, error) {
	if m.AppointmentID == "" || !allowed(m.AppointmentID, maxAppointment) || strings.Contains(m.AppointmentID, ".") {
		return "", errors.New("manage token: the appointment id must be 1 to 64 characters of [A-Za-z0-9_-]")
	}
	expires := m.ExpiresAt.Truncate(time.Second)
	if latest := now.Add(MaxManageTTL).Truncate(time.Second); expires.After(latest) {
		expires = latest
	}
	until, ok := seconds(expires)
	if !ok {
		return "", errors.New("manage token: the expiry must be between 1970 and 2106")
	}
	signer := k.signer()
	form, id := packID(m.AppointmentID)
	body := make([]byte, 0, manageHead+len(id)+macSize)
	body = append(body, form)
	body = binary.BigEndian.AppendUint16(body, signer.id)
	body = binary.BigEndian.AppendUint32(body, until)
	body = binary.BigEndian.AppendUint32(body, m.Version)
	body = append(body, id...)
	return encode(append(body, signer.mac(p, body)[:macSize]...)), nil
}

// VerifyManage checks that a manage token was signed here and is unchanged (ManageTokenInvalid; also for an empty or
// malformed token) and has not expired (ManageTokenExpired). The caller must compare Version with the appointment's own
// version.
func (k *Keyring) VerifyManage(token string, now time.Time) (Manage, error) {
	if m, ok := k.openShort(token, now); ok {
		if !now.Before(m.ExpiresAt) {
			return Manage{}, ManageTokenExpired
		}
		return m, nil
	}
	return k.verifyLink(forManage, token, now)
}

func (k *Keyring) verifyLink(p purpose, token string, now time.Time) (Manage, error) {
	body, ok := k.open(p, token, maxManage, now)
	if !ok || len(body) <= manageHead {
		return Manage{}, ManageTokenInvalid
	}
	m := Manage{
		ExpiresAt: instant(binary.BigEndian.Uint32(body[3:])),
		Version:   binary.BigEndian.Uint32(body[7:]),
	}
	id := body[manageHead:]
	switch {
	case body[0] == manageUUID && len(id) == 16:
		m.AppointmentID = unpackUUID(id)
	case body[0] == manageText:
		m.AppointmentID = string(id)
	default:
		return Manage{}, ManageTokenInvalid
	}
	if !now.Before(m.ExpiresAt) {
		return Manage{}, ManageTokenExpired
	}
	return m, nil
}

// packID returns the shortest form of an appointment id from which the id can be restored.
func packID(id string) (form byte, packed []byte) {
	if len(id) == 36 && id[8] == '-' && id[13] == '-' && id[18] == '-' && id[23] == '-' {
		raw, err := hex.DecodeString(id[:8] + id[9:13] + id[14:18] + id[19:23] + id[24:])
		if err == nil && unpackUUID(raw) == id {
			return manageUUID, raw
		}
	}
	return manageText, []byte(id)
}

func unpackUUID(b []byte) string {
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
