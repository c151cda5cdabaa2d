package web

import (
	"context"
	"errors"
	"net/http"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/engine/request"
	"holdfast/engine/waitlist"
	"holdfast/store"
)

// wishBody describes the times that suit a patient, in the clinic's local time. A missing field matches everything.
type wishBody struct {
	SpecialistIDs []string `json:"specialistIds"`
	Place         string   `json:"place"`
	Weekdays      []string `json:"weekdays"`
	Earliest      string   `json:"earliest"`
	Latest        string   `json:"latest"`
	From          string   `json:"from"`
	To            string   `json:"to"`
	SlotStartDate string   `json:"slotStartDate"` // the requested session; then the other fields are ignored
}

func (s *Server) wish(m *mistakes, b *wishBody) store.WaitlistWish {
	w := store.WaitlistWish{SpecialistIDs: b.SpecialistIDs, Place: b.Place,
		Weekdays: m.weekdays("weekdays", b.Weekdays),
		Earliest: m.clock("earliest", b.Earliest), Latest: m.clock("latest", b.Latest)}
	s.checkPlace(m, b.Place)
	if len(b.SpecialistIDs) > 200 {
		m.add("specialistIds", "at most 200 specialists")
	}
	if b.From != "" {
		w.From = m.parseDate("from", b.From)
	}
	if b.To != "" {
		w.To = m.parseDate("to", b.To)
	}
	if b.SlotStartDate != "" {
		w.SlotStart = m.instant("slotStartDate", b.SlotStartDate)
	}
	return w
}

// waitingJSON is an entry on the waiting list without the patient's data.
type waitingJSON struct {
	ID                string      `json:"id"`
	AppointmentTypeID string      `json:"appointmentTypeId"`
	AppointmentID     string      `json:"appointmentId,omitempty"` // the appointment to be moved to an earlier time
	Status            string      `json:"status"`
	SpecialistIDs     []string    `json:"specialistIds"`
	Place             string      `json:"place,omitempty"` // id of the only place that suits the patient
	Weekdays          []string    `json:"weekdays"`
	Earliest          string      `json:"earliest,omitempty"`
	Latest            string      `json:"latest,omitempty"`
	From              string      `json:"from"`
	To                string      `json:"to"`
	SlotStartDate     string      `json:"slotStartDate,omitempty"`
	CreatedAt         string      `json:"createdAt"`
	EndedAt           string      `json:"endedAt,omitempty"`
	Offers            []offerJSON `json:"offers"`
}

// offerJSON is a time that has been offered to an entry.
type offerJSON struct {
	ID            string `json:"id"`
	SpecialistID  string `json:"specialistId"`
	Place         string `json:"place,omitempty"` // id of one of the clinic's places
	Status        string `json:"status"`
	SlotStartDate string `json:"slotStartDate"`
	SlotEndDate   string `json:"slotEndDate"`
	CreatedAt     string `json:"createdAt"`
	ExpiresAt     string `json:"expiresAt"`
	EndedAt       string `json:"endedAt,omitempty"`
}

// waitedJSON is an entry in the form for the front desk and the holder of its link.
type waitedJSON struct {
	waitingJSON
	Patient patientJSON `json:"patient"`
	Intake  *intakeJSON `json:"intake,omitempty"`
}

func offerOf(s *clinic.Schedule, o *store.WaitlistOffer) offerJSON {
	return offerJSON{o.ID, o.SpecialistID, s.PlaceAt(o.SpecialistID, o.SlotStart), string(o.Status),
		httpTime(o.SlotStart), httpTime(o.SlotEnd), httpTime(o.CreatedAt), httpTime(o.ExpiresAt),
		optionalTime(o.EndedAt)}
}

func waitingOf(s *clinic.Schedule, x *waitlist.Waiting) waitingJSON {
	w := &x.Wish
	said := waitingJSON{
		ID: x.ID, AppointmentTypeID: x.AppointmentTypeID, AppointmentID: x.AppointmentID, Status: string(x.Status),
		SpecialistIDs: append([]string{}, w.SpecialistIDs...), Place: w.Place, Weekdays: []string{},
		From: w.From.String(), To: w.To.String(), SlotStartDate: optionalTime(w.SlotStart),
		CreatedAt: httpTime(x.CreatedAt), EndedAt: optionalTime(x.EndedAt), Offers: []offerJSON{},
	}
	for _, day := range w.Weekdays {
		said.Weekdays = append(said.Weekdays, day.String())
	}
	if w.Earliest != 0 {
		said.Earliest = w.Earliest.String()
	}
	if w.Latest != 0 {
		said.Latest = w.Latest.String()
	}
	for i := range x.Offers {
		said.Offers = append(said.Offers, offerOf(s, &x.Offers[i]))
	}
	return said
}

func waitedOf(s *clinic.Schedule, x *waitlist.Waiting) waitedJSON {
	return waitedJSON{waitingOf(s, x), patientJSON(x.Patient), intakeOf(&x.Intake)}
}

type joinBody struct {
	clientBody
	saidBody
	wishBody
	Patient patientBody `json:"patient"`
	Locale  string      `json:"locale"`
}

// joinWaitlist adds an entry to the waiting list, for the visitor or, if the front desk sends the request, for a
// patient who called.
func (s *Server) joinWaitlist(c *call, b *joinBody) error {
	m := &c.wrong
	r := waitlist.JoinRequest{
		AppointmentTypeID: c.param("id"), Wish: s.wish(m, &b.wishBody), Patient: store.Patient(b.Patient),
		Said: clinic.Said(b.saidBody), Locale: b.Locale, Actor: "client", Client: c.client,
	}
	switch {
	case c.caller.may(frontDesk):
		r.Actor = c.caller.actor
	case c.caller.role != "":
		return errForbidden.with("Only owners and the reception can use the waiting list.")
	default:
		r.From = s.waiter(c)
	}
	return s.join(c, r)
}

// waiter returns the network and the limits of a visitor who joins the list.
func (s *Server) waiter(c *call) *request.Visitor {
	from := &request.Visitor{Unlimited: !s.options.RateLimit || c.caller.trusted()}
	if address := s.address(c.r); address.IsValid() {
		from.Network = network(address)
	}
	return from
}

type soonerBody struct {
	clientBody
	wishBody
}

// waitForSooner adds an entry for the patient of an appointment who wants an earlier time.
func (s *Server) waitForSooner(c *call, b *soonerBody) error {
	m := &c.wrong
	r := waitlist.JoinRequest{Wish: s.wish(m, &b.wishBody), Actor: c.caller.actor}
	a, err := s.reachable(c)
	if err != nil {
		return err
	}
	if r.Sooner = &a; !c.caller.may(desk) {
		r.From = s.waiter(c)
	}
	return s.join(c, r)
}

func (s *Server) join(c *call, r waitlist.JoinRequest) error {
	render := func(result any) (int, []byte) {
		return rendered(http.StatusCreated,
			map[string]waitingJSON{"waiting": waitingOf(s.engine.Clinic.Current(),
				&waitlist.Waiting{WaitlistEntry: result.(store.WaitlistEntry)})})
	}
	r.Once = c.answering(render)
	e, err := s.engine.Waitlist.Join(c.ctx(), r)
	if err != nil {
		return err
	}
	c.status, c.out = render(e)
	return nil
}

// endedShown is the maximum number of ended entries in the list.
const endedShown = 50

// listWaiting lists the open entries in the order of the waiting list, and the latest ended entries.
func (s *Server) listWaiting(c *call) error {
	live, over, err := s.engine.Waitlist.List(c.ctx(), endedShown)
	if err != nil {
		return err
	}
	said := func(list []waitlist.Waiting) []waitedJSON {
		return each(list, func(x *waitlist.Waiting) waitedJSON { return waitedOf(s.engine.Clinic.Current(), x) })
	}
	return c.json(http.StatusOK, map[string]any{"waiting": said(live), "ended": said(over)})
}

// waited returns the entry that the path names and the id of one of its offers: the offer of the caller's link, else
// the open offer, else the latest offer. The id is empty if the entry has no offer.
func (s *Server) waited(c *call) (x waitlist.Waiting, offerID string, err error) {
	id := c.param("id")
	if id == managedID && c.caller.waitingID != "" {
		id = c.caller.waitingID
	}
	if x, err = s.engine.Waitlist.WaitingOf(c.ctx(), id); err != nil {
		return x, "", err
	}
	offerID = c.caller.offerID
	if o := x.Offer(); offerID == "" && o != nil {
		offerID = o.ID
	}
	if n := len(x.Offers); offerID == "" && n > 0 {
		offerID = x.Offers[n-1].ID
	}
	return x, offerID, nil
}

func (s *Server) getWaiting(c *call) error {
	x, offerID, err := s.waited(c)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]any{"waiting": waitedOf(s.engine.Clinic.Current(), &x), "offerId": offerID})
}

// changeWaiting responds to a change to an entry with the entry.
func (s *Server) changeWaiting(c *call,
	change func(context.Context, string, record.Actor, *record.Once) (store.WaitlistEntry, error)) error {
	x, _, err := s.waited(c)
	if err != nil {
		return err
	}
	say := func(e *store.WaitlistEntry) any {
		after := waitlist.Waiting{WaitlistEntry: *e, Offers: x.Offers}
		return map[string]waitedJSON{"waiting": waitedOf(s.engine.Clinic.Current(), &after)}
	}
	return answerChange(c, http.StatusOK, say, func(once *record.Once) (store.WaitlistEntry, error) {
		return change(c.ctx(), x.ID, c.caller.actor, once)
	})
}

func (s *Server) confirmWaiting(c *call) error {
	return s.changeWaiting(c, s.engine.Waitlist.Confirm)
}

func (s *Server) leaveWaiting(c *call) error {
	return s.changeWaiting(c, s.engine.Waitlist.Leave)
}

type offerBody struct {
	SlotStartDate string `json:"slotStartDate"`
	SpecialistID  string `json:"specialistId"`
}

func (s *Server) offerAnswer(o *store.WaitlistOffer) any {
	return map[string]offerJSON{"offer": offerOf(s.engine.Clinic.Current(), o)}
}

// offerByHand holds a time for an entry and offers it.
func (s *Server) offerByHand(c *call, b *offerBody) error {
	m := &c.wrong
	start := m.instant("slotStartDate", b.SlotStartDate)
	return answerChange(c, http.StatusOK, s.offerAnswer, func(once *record.Once) (store.WaitlistOffer, error) {
		return s.engine.Waitlist.OfferByHand(c.ctx(), c.param("id"), b.SpecialistID, start, c.caller.actor, once)
	})
}

// errNothingOffered means that there is no offer to accept or decline.
var errNothingOffered = errNotBookable.titled(notNow).because("not_offered",
	"There is no offer at the moment. You will get an email when a time becomes free.")

// acceptOffer books the offered time. The caller is the holder of the link, or the front desk for a patient on the
// phone.
func (s *Server) acceptOffer(c *call) error {
	_, id, err := s.waited(c)
	if err != nil {
		return err
	}
	if id == "" {
		return errNothingOffered
	}
	a, err := s.engine.Waitlist.Accept(c.ctx(), id, c.caller.actor, c.answering(s.renderAppointment(c)))
	if err != nil {
		return err
	}
	return s.sayAppointment(c, &a)
}

func (s *Server) declineOffer(c *call) error {
	_, id, err := s.waited(c)
	if err != nil {
		return err
	}
	if id == "" {
		return errNothingOffered
	}
	return answerChange(c, http.StatusOK, s.offerAnswer, func(once *record.Once) (store.WaitlistOffer, error) {
		return s.engine.Waitlist.Decline(c.ctx(), id, c.caller.actor, once)
	})
}

// waitingLink checks the token of a link in an email about the waiting list, and sets the entry and the offer of the
// caller.
func (s *Server) waitingLink(c *call, token string) error {
	x, offer, err := s.engine.Waitlist.WaitingBy(c.ctx(), token)
	if errors.Is(err, record.ErrUnauthorized) || errors.Is(err, store.ErrNotFound) {
		return s.deadLink()
	}
	if c.caller.waitingID = x.ID; offer != nil {
		c.caller.offerID = offer.ID
	}
	return err
}

// endedProblem converts the error for an offer or an entry that has ended to a problem.
func endedProblem(e *waitlist.EndedError) problem {
	p := errHoldExpired.titled("The offer has ended")
	switch e.As {
	case string(store.OfferBooked):
		return p.because("booked", "This offer has already been booked. The latest email has the link to the appointment.")
	case string(store.OfferDeclined):
		return p.because("declined", "This offer was declined, and the time was offered to the next patient.")
	case string(store.OfferWithdrawn):
		return p.because("withdrawn",
			"This time is no longer free. You stay on the waiting list unless you have left it.")
	case string(store.WaitlistRemoved):
		return p.because("removed", "This entry was removed from the waiting list.")
	}
	return p.because("lapsed", "This offer has expired, and the time was offered to the next person.")
}
