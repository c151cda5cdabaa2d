package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"holdfast/engine/token"
	"holdfast/engine/upkeep"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// agentSession is what one API key was told of one patient. It lives in memory only.
type agentSession struct {
	patientGUID string
	token       string
	createdAt   time.Time
	patient     store.Patient // as the agent gave it, for the appointment
	open        bool          // whether the patient was added upstream is not known
}

// agentSessions remembers them for as long as their tokens live, and forgets after 15 to 30 minutes.
type agentSessions struct {
	named *upkeep.Map[string, agentSession]
}

// maxAgentSessions bounds one half of the memory.
const maxAgentSessions = 1 << 14

func newAgentSessions() agentSessions {
	return agentSessions{upkeep.NewMap[string, agentSession](token.BookingAuthTTL, maxAgentSessions)}
}

// Names under which a session is found, apart for each API key.
func byGUID(keyID, guid string) string { return keyID + "\x00guid\x00" + upstream.CanonicalGUID(guid) }
func byUUI(keyID, uui string) string   { return keyID + "\x00uui\x00" + uui }

// bySaid finds a session by what was said of the person, so that the same request twice adds one patient.
func bySaid(keyID string, r *Patient) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		strings.ToLower(r.FirstName), strings.ToLower(r.LastName), r.BirthDate, r.Phone, strings.ToLower(r.Email), r.SessionID, r.UUI,
	}, "\x00")))
	return keyID + "\x00said\x00" + hex.EncodeToString(sum[:])
}

func (a *agentSessions) put(s agentSession, names ...string) {
	for _, name := range names {
		a.named.Put(name, s, s.createdAt)
	}
}

func (a *agentSessions) get(name string) (agentSession, bool) { return a.named.Get(name) }

// How a booking was authorized.
const (
	authToken   = "token"
	authSession = "session_match"
	authLegacy  = "legacy"
)

// authorizeBooking decides whether an agent may book for the patient, and fills in what its own session knows. The
// error is a token.Error.
func (ag *Agent) authorizeBooking(keyID string, b *BookRequest, now time.Time) (method string, s agentSession, err error) {
	found := false
	if b.PatientGUID != "" {
		s, found = ag.agents.get(byGUID(keyID, b.PatientGUID))
	}
	if !found && b.UUI != "" {
		s, found = ag.agents.get(byUUI(keyID, b.UUI))
	}
	if b.PatientGUID == "" && found {
		b.PatientGUID = s.patientGUID
	}
	if found && !upstream.EqualGUID(s.patientGUID, b.PatientGUID) {
		s.patient = store.Patient{} // somebody else's
	}
	method = authToken
	if b.BookingAuthToken == "" && found {
		method, b.BookingAuthToken = authSession, s.token
	}
	if b.BookingAuthToken == "" && ag.options.AllowLegacy && upstream.ValidGUID(b.PatientGUID) {
		return authLegacy, s, nil
	}
	_, err = ag.booking.Keys().VerifyBookingAuth(b.BookingAuthToken, b.PatientGUID, now)
	if err == nil && !found {
		// After a restart, or a patient of another key: from here on this key has a session with the patient.
		s = agentSession{patientGUID: upstream.CanonicalGUID(b.PatientGUID), token: b.BookingAuthToken, createdAt: now}
		names := []string{byGUID(keyID, b.PatientGUID)}
		if b.UUI != "" {
			names = append(names, byUUI(keyID, b.UUI))
		}
		ag.agents.put(s, names...)
	}
	return method, s, err
}
