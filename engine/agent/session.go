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

// # What a key was told
//
// What one API key was told of a patient is in the database, so that a restart, or another node, knows it as well: who they are,
// for how long the key may book for them without a token, and whether they were added to the practice system. The token itself
// is kept nowhere. Names are keyed hashes, and all of it goes after half an hour.

// KeepSessions is for how long a session is known: its token has lapsed by then, and an answer of the practice system that was
// missing has been seen to by a person.
const KeepSessions = 2 * token.BookingAuthTTL

// Names under which a session is found, apart for each API key.
func byGUID(keyID, guid string) string { return keyID + "\x00guid\x00" + upstream.CanonicalGUID(guid) }
func byUUI(keyID, uui string) string   { return keyID + "\x00uui\x00" + uui }

// bySaid finds a session by what was said of the person, so that the same request twice adds one patient.
func bySaid(keyID string, r *Patient) string {
	return keyID + "\x00said\x00" + strings.Join([]string{
		strings.ToLower(r.FirstName), strings.ToLower(r.LastName), r.BirthDate, r.Phone, strings.ToLower(r.Email), r.SessionID, r.UUI,
	}, "\x00")
}

// session finds what was noted under one of these names, the first that has something.
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

// note remembers a session under these names.
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

// begin notes under these names that a patient is being added, unless somebody else is at it or has done it meanwhile: then that is
// returned, and found. Looking and noting are one step, because the same person may be said twice at once, at two nodes. gone is a
// patient that the practice system does not know any more.
func (ag *Agent) begin(ctx context.Context, now time.Time, gone string, names []string) (there store.AgentSession, found bool, err error) {
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

// authorizeBooking decides whether an agent may book for the patient, and fills in what its own session knows. The
// error is a token.Error, or one of the storage.
func (ag *Agent) authorizeBooking(ctx context.Context, keyID string, b *BookRequest, now time.Time) (method string, s store.AgentSession, err error) {
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
		s.Patient = store.Patient{} // somebody else's
	}
	switch {
	case b.BookingAuthToken == "" && found:
		return authSession, s, maySessionBook(&s, b.PatientGUID, now)
	case b.BookingAuthToken == "" && ag.options.AllowLegacy && upstream.ValidGUID(b.PatientGUID):
		return authLegacy, s, nil
	}
	auth, err := ag.booking.Keys().VerifyBookingAuth(b.BookingAuthToken, b.PatientGUID, now)
	if err == nil && !found {
		// A patient of another key: from here on this key has a session with the patient.
		s = store.AgentSession{PatientID: upstream.CanonicalGUID(b.PatientGUID), At: now, ExpiresAt: time.UnixMilli(auth.ExpiresAt)}
		names = []string{byGUID(keyID, b.PatientGUID)}
		if b.UUI != "" {
			names = append(names, byUUI(keyID, b.UUI))
		}
		if err := ag.note(ctx, s, names...); err != nil { // the next booking needs its token, then
			ag.log.Warn("agent session not stored", "error", err)
		}
	}
	return authToken, s, err
}

// maySessionBook checks a session like the token that came with it.
func maySessionBook(s *store.AgentSession, patientGUID string, now time.Time) error {
	switch {
	case !now.Before(s.ExpiresAt):
		return token.BookingAuthExpired
	case !upstream.EqualGUID(s.PatientID, patientGUID):
		return token.BookingAuthGUIDMismatch
	}
	return nil
}
