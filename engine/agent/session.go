package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/engine/token"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// # Sessions of an API key
//
// The server stores the patient details that it found for an API key in the database, so that they survive a restart
// and are available to other nodes. A session contains the patient, how long the key may book for them without a token,
// and whether they were added to the practice system. The token itself is not stored. Names are keyed hashes, and a
// session is deleted after half an hour.

// KeepSessions is how long a session is stored. By then, its token has expired, and staff have resolved any unknown
// outcome in the practice system.
const KeepSessions = 2 * token.BookingAuthTTL

// byGUID and byUUI return names for a session, which differ for each API key.
func byGUID(keyID, guid string) string { return keyID + "\x00guid\x00" + upstream.CanonicalGUID(guid) }
func byUUI(keyID, uui string) string   { return keyID + "\x00uui\x00" + uui }

// byPatient returns the session name for a patient that all keys have in common. It authorizes nothing: only a booking
// with a valid token reads the patient's details by it.
func byPatient(guid string) string { return "\x00patient\x00" + upstream.CanonicalGUID(guid) }

// bySaid returns a session name derived from the details in the request, so that a repeated request does not add a
// second patient.
func bySaid(keyID string, r *Patient) string {
	return keyID + "\x00said\x00" + strings.Join([]string{
		strings.ToLower(r.FirstName), strings.ToLower(r.LastName), r.BirthDate, r.Phone, strings.ToLower(r.Email),
		r.SessionID, r.UUI,
	}, "\x00")
}

// session returns the session stored under the first of these names that has a session.
func (ag *Agent) session(ctx context.Context, names ...string) (s store.AgentSession, found bool, err error) {
	now := time.Now()
	for _, name := range names {
		s, err = ag.store.AgentSession(ctx, now.Add(-KeepSessions), ag.booking.Keys().Names(name, now)...)
		if !errors.Is(err, store.ErrNotFound) {
			return s, err == nil, err
		}
	}
	return store.AgentSession{}, false, nil
}

// note stores a session under these names.
func (ag *Agent) note(ctx context.Context, s store.AgentSession, names ...string) error {
	return ag.store.Write(ctx, func(tx store.Tx) error { return ag.put(ctx, tx, s, names) })
}

func (ag *Agent) put(ctx context.Context, tx store.Tx, s store.AgentSession, names []string) error {
	hashed := make([]string, len(names))
	for i, name := range names {
		hashed[i] = ag.booking.Keys().Name(name)
	}
	return tx.PutAgentSession(ctx, s, hashed...)
}

// begin records, under these names, that a patient is being added. If another request is already adding the patient or
// has added them, begin returns that session and true. It checks and records in one transaction, because two nodes can
// receive the same request at the same time. gone is the GUID of a patient who is no longer in the practice system.
func (ag *Agent) begin(ctx context.Context, now time.Time, gone string,
	names []string) (there store.AgentSession, found bool, err error) {
	var all []string
	for _, name := range names {
		all = append(all, ag.booking.Keys().Names(name, now)...)
	}
	err = ag.store.Write(ctx, func(tx store.Tx) error {
		there, err = tx.AgentSession(ctx, now.Add(-KeepSessions), all...)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if found = err == nil && (there.Open || there.PatientID != "" && there.PatientID != gone); found {
			return nil
		}
		return ag.put(ctx, tx, store.AgentSession{Open: true, At: now}, names)
	})
	return there, found, err
}

// How a booking was authorized.
const (
	authToken   = "token"
	authSession = "session_match"
	authLegacy  = "legacy"
)

// authorizeBooking decides whether an agent may book for the patient, and fills in the patient from the key's own
// session. The error is a token.Error or a storage error.
func (ag *Agent) authorizeBooking(ctx context.Context, keyID string, b *BookRequest,
	now time.Time) (method string, s store.AgentSession, err error) {
	var names []string
	if b.PatientGUID != "" {
		names = append(names, byGUID(keyID, b.PatientGUID))
	}
	if b.UUI != "" {
		names = append(names, byUUI(keyID, b.UUI))
	}
	s, found, err := ag.session(ctx, names...)
	if err != nil {
		return authToken, s, err
	}
	if b.PatientGUID == "" && found {
		b.PatientGUID = s.PatientID
	}
	if found && !upstream.EqualGUID(s.PatientID, b.PatientGUID) {
		s.Patient = store.Patient{} // the stored details belong to another patient
	}
	switch {
	case b.BookingAuthToken == "" && found:
		return authSession, s, maySessionBook(&s, b.PatientGUID, now)
	case b.BookingAuthToken == "" && ag.options.AllowLegacy && upstream.ValidGUID(b.PatientGUID):
		return authLegacy, s, nil
	}
	auth, err := ag.booking.Keys().VerifyBookingAuth(b.BookingAuthToken, b.PatientGUID, now)
	if err == nil && s.Patient.Name == "" {
		there, _, err := ag.session(ctx, byPatient(b.PatientGUID))
		if err != nil {
			return authToken, s, err
		}
		s.Patient = there.Patient
	}
	if err == nil && !found {
		// Another key identified the patient. From now on, this key also has a session for the patient.
		s = store.AgentSession{PatientID: upstream.CanonicalGUID(b.PatientGUID), Patient: s.Patient, At: now,
			ExpiresAt: time.UnixMilli(auth.ExpiresAt)}
		names = []string{byGUID(keyID, b.PatientGUID)}
		if b.UUI != "" {
			names = append(names, byUUI(keyID, b.UUI))
		}
		if err := ag.note(ctx, s, names...); err != nil { // the next booking then needs its token
			ag.log.Warn("failed to store the agent session", "error", err)
		}
	}
	return authToken, s, err
}

// maySessionBook checks whether a session allows a booking, by the same rules as for a token.
func maySessionBook(s *store.AgentSession, patientGUID string, now time.Time) error {
	switch {
	case !now.Before(s.ExpiresAt):
		return token.BookingAuthExpired
	case !upstream.EqualGUID(s.PatientID, patientGUID):
		return token.BookingAuthGUIDMismatch
	}
	return nil
}
