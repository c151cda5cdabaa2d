package web

import (
	"errors"
	"strings"

	"holdfast/engine/account"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// access is the permission that a route requires.
type access uint8

const (
	anyone      access = iota
	managed            // the manage link of this appointment, or desk
	requested          // the emailed link of this booking request, or desk
	waits              // an emailed link of this waiting-list entry, or the front desk
	desk               // the daily work with appointments
	admin              // the clinic's setup
	agentKey           // voice and chat agents
	presenceKey        // sets specialists online and accepts sessions
	// monitors the server: an admin, the reception, or a scraper on this machine or with a key for it
	operator
	frontDesk // the work of the clinic as a whole: an owner or the reception
	queueing  // reads the state of outbound calls: the front desk and agents
	bookers   // holds, books or requests a session: any caller except a presence key
)

// public reports whether no credential is needed.
func (a access) public() bool { return a == anyone || a == bookers }

// caller is the identity behind a request. The zero caller is an anonymous visitor.
type caller struct {
	actor        record.Actor
	scope        store.Scope        // of an API key
	keyID        string             // of an API key
	role         store.Role         // of a member of staff
	specialistID string             // the only calendar this member of staff, or presence key, may touch; empty: all
	appointment  *store.Appointment // the appointment that a manage link opens
	requestID    string             // the booking request that a link in an email opens
	waitingID    string             // the waiting-list entry that a link in an email opens
	offerID      string             // the offer that this link is for; empty if the link is for the entry
	staff        *account.Staff     // the signed-in member of staff; nil for programs and patients
	secret       string             // separates the idempotency keys of different callers
}

func (c *caller) known() bool { return c.actor != "" }

// trusted reports whether the caller is a program with a key or a member of staff. The limits of the public do not
// apply to them.
func (c *caller) trusted() bool { return c.scope != "" || c.role != "" }

// may reports whether the caller has this access.
func (c *caller) may(a access) bool {
	switch a {
	case anyone:
		return true
	case bookers:
		return c.scope != store.ScopePresence && c.scope != store.ScopeMetrics
	case managed:
		return c.appointment != nil || c.may(desk)
	case requested:
		return c.requestID != "" || c.may(desk)
	case waits:
		return c.waitingID != "" || c.may(frontDesk)
	case desk:
		return c.scope == store.ScopeAdmin || c.role != ""
	case admin:
		return c.scope == store.ScopeAdmin || c.role == store.RoleOwner
	case frontDesk:
		return c.may(admin) || c.role == store.RoleReception
	case operator:
		return c.may(frontDesk) || c.scope == store.ScopeMetrics
	case queueing:
		return c.may(frontDesk) || c.may(agentKey)
	case agentKey:
		return c.scope == store.ScopeAgent || c.scope == store.ScopeAdmin
	case presenceKey:
		return c.scope == store.ScopePresence || c.scope == store.ScopeAdmin || c.role != ""
	}
	return false
}

// reaches reports whether the caller may access this specialist's calendar. It does not check the caller's permissions
// for the route.
func (c *caller) reaches(specialistID string) bool {
	return c.specialistID == "" || c.specialistID == specialistID
}

// A credential identifies the caller. It reports false if the request does not carry this kind of credential, and
// returns an error if the credential is not valid.
type credential func(*call) (bool, error)

// identify determines the caller.
func (s *Server) identify(c *call) error {
	for _, credential := range s.credentials {
		if found, err := credential(c); found || err != nil {
			return err
		}
	}
	return nil
}

// onLocal is the credential for requests to Local's handler. Such requests act as the system itself.
func (s *Server) onLocal(c *call) (bool, error) {
	if c.r.Context().Value(localKey{}) == nil {
		return false, nil
	}
	c.caller = caller{actor: "system", scope: store.ScopeAdmin, keyID: "local", secret: "local"}
	return true, nil
}

// apiKey is the credential of a program: Authorization: Bearer hfk_…. Other schemes belong to a proxy and are ignored.
func (s *Server) apiKey(c *call) (bool, error) {
	header := c.r.Header.Get("Authorization")
	if header == "" {
		return false, nil
	}
	scheme, key, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false, nil
	}
	p, err := s.engine.Account.Authenticate(c.ctx(), strings.TrimSpace(key))
	if errors.Is(err, record.ErrUnauthorized) {
		return true, errUnauthorized.with(
			"This API key is unknown or was revoked. Create a new one with: holdfast apikey create.",
		)
	}
	if err != nil {
		return true, err
	}
	c.caller = caller{actor: p.Actor(), scope: p.Scope, keyID: p.KeyID, specialistID: p.SpecialistID, secret: "key:" +
		p.KeyID}
	return true, nil
}

var errDeadLink = errUnauthorized.with(
	"This link no longer works: the appointment was moved, or the link has expired. Use the link in the newest " +
		"message, or call the clinic.",
)

// deadLink returns errDeadLink with the clinic's phone number, if there is one: after a move without notifications, the
// patient has no newer message.
func (s *Server) deadLink() error {
	if phone := s.engine.Clinic.Schedule().Clinic.Phone; phone != "" {
		return errDeadLink.with(strings.TrimSuffix(errDeadLink.Detail, ".") + ": " + phone + ".")
	}
	return errDeadLink
}

// manageLink is the credential of a patient: the token of a manage link, in the header Holdfast-Manage. A calendar
// program cannot set headers, so the token of an .ics request may be in the query.
func (s *Server) manageLink(c *call) (bool, error) {
	if c.route.access != managed && c.route.access != requested && c.route.access != waits {
		return false, nil
	}
	token := c.r.Header.Get("Holdfast-Manage")
	if token == "" && strings.HasSuffix(c.route.pattern, "/ics") {
		token = c.r.URL.Query().Get("token")
	}
	if token == "" {
		return false, nil
	}
	c.caller = caller{actor: "manage", secret: "manage:" + token}
	switch c.route.access {
	case requested:
		return true, s.requestLink(c, token)
	case waits:
		return true, s.waitingLink(c, token)
	}
	a, err := s.engine.Booking.Managed(c.ctx(), token)
	switch {
	case errors.Is(err, record.ErrUnauthorized) || errors.Is(err, store.ErrNotFound):
		// A move creates a new link. A repeat of the move under its idempotency key still gets the stored response with
		// the new link, so atMostOnce refuses the request only after that look-up.
		c.denied = s.deadLink()
		if c.r.Method != "POST" || c.r.Header.Get("Idempotency-Key") == "" {
			return true, c.denied
		}
	case err != nil:
		return true, err
	default:
		c.caller.appointment = &a
	}
	return true, nil
}

// requestLink checks the manage link of a booking request. After the confirmation, the link opens the appointment, and
// a repeated confirmation changes nothing.
func (s *Server) requestLink(c *call, token string) error {
	r, err := s.engine.Request.Requested(c.ctx(), token)
	if errors.Is(err, store.ErrNotFound) {
		a, err := s.engine.Booking.Managed(c.ctx(), token)
		c.caller.requestID = a.ID
		if errors.Is(err, record.ErrUnauthorized) || errors.Is(err, store.ErrNotFound) {
			return s.deadLink()
		}
		return err
	}
	c.caller.requestID = r.ID
	if errors.Is(err, record.ErrUnauthorized) {
		return s.deadLink()
	}
	return err
}

// authorize compares the caller's permissions with those that the route requires.
func (s *Server) authorize(c *call) error {
	needs := c.route.access
	if needs.public() && c.caller.may(needs) || c.denied != nil {
		return nil
	}
	if needs == operator && s.onThisMachine(c.r) {
		return nil
	}
	switch {
	case !c.caller.known():
		return errUnauthorized.with(credentialFor(needs))
	case !c.caller.may(needs):
		return errForbidden.with("This credential is not allowed to do this. " + credentialFor(needs))
	}
	id := c.param("id")
	if a := c.caller.appointment; a != nil && id != a.ID && id != managedID {
		return errForbidden.with("This link is for another appointment. Use the link in the message about this one.")
	}
	if mine := c.caller.waitingID; mine != "" && id != mine && id != managedID {
		return errForbidden.with(
			"This link is for another entry of the waiting list. Use the link in the message about this one.",
		)
	}
	if mine := c.caller.requestID; mine != "" && id != mine && id != managedID {
		return errForbidden.with("This link is for another request. Use the link in the message about this one.")
	}
	return nil
}

func credentialFor(a access) string {
	switch a {
	case managed, requested, waits:
		return "Send the token of the appointment's manage link in the header Holdfast-Manage, or an admin key as " +
			"Authorization: Bearer hfk_…."
	case agentKey, queueing:
		return "Send an API key with the agent scope as Authorization: Bearer hfk_…."
	case bookers:
		return "A key with the presence or metrics scope cannot be used here; omit it, or send a key with the " +
			"agent or admin scope."
	case presenceKey:
		return "Send an API key with the presence scope as Authorization: Bearer hfk_…."
	}
	return "Send an API key with the admin scope as Authorization: Bearer hfk_…."
}

// managedID replaces the id in a path. It stands for the appointment that the manage link opens. A page that is opened
// from a manage link has the token but not the id.
const managedID = "managed"

// appointmentID returns the id in the path, which is that of an appointment or of a request for one.
func (c *call) appointmentID() string {
	id := c.param("id")
	switch {
	case id == managedID && c.caller.appointment != nil:
		return c.caller.appointment.ID
	case id == managedID && c.caller.requestID != "":
		return c.caller.requestID
	}
	return id
}

// resolveClient sets the client of a request from the header Holdfast-Client or from given, the client id in the body
// or the query. If both are set, they must be equal. The engine decides whether a client is required and which form it
// must have.
func (c *call) resolveClient(given string) error {
	header := c.r.Header.Get("Holdfast-Client")
	switch {
	case given == "":
		given = header
	case header != "" && header != given:
		return fieldError("clientId",
			"differs from the header Holdfast-Client; send one of the two, or the same in both")
	}
	c.client = holds.ClientID(given)
	return nil
}
