package web

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/booking"
	"holdfast/holds"
	"holdfast/store"
)

// publicAppointmentJSON is an appointment without the patient's data.
type publicAppointmentJSON struct {
	ID                string `json:"id"`
	AppointmentTypeID string `json:"appointmentTypeId"`
	SpecialistID      string `json:"specialistId"`
	Seat              int    `json:"seat"`
	Overbook          bool   `json:"overbook"`
	Status            string `json:"status"`
	Attendance        string `json:"attendance"`
	SlotStartDate     string `json:"slotStartDate"`
	SlotEndDate       string `json:"slotEndDate"`
	Source            string `json:"source"`
	UpstreamState     string `json:"upstreamState"`
	CreatedAt         string `json:"createdAt"`
	CancelledAt       string `json:"cancelledAt,omitempty"`
	Version           int64  `json:"version"`
	Place             string `json:"place,omitempty"` // id of one of the clinic's places
	ManageURL         string `json:"manageUrl,omitempty"`
	VideoLink         string `json:"videoLink,omitempty"` // of a remote appointment, while it is confirmed
}

// appointmentJSON is an appointment for the desk and for the patient.
type appointmentJSON struct {
	publicAppointmentJSON
	OverbookReason string      `json:"overbookReason,omitempty"`
	CancelReason   string      `json:"cancelReason,omitempty"`
	Patient        patientJSON `json:"patient"`
	// the language of messages to the patient; if omitted, the clinic's language
	Locale    string `json:"locale,omitempty"`
	ArrivedAt string `json:"arrivedAt,omitempty"` // desk only
	SeriesID  string `json:"seriesId,omitempty"`  // desk only
	// the group visit that this appointment is part of; omitted if there is none
	VisitID     string      `json:"visitId,omitempty"`
	RecallAt    string      `json:"recallAt,omitempty"`    // when the patient is reminded of the next visit
	ResourceIDs []string    `json:"resourceIds,omitempty"` // desk only: the rooms and devices in use
	Intake      *intakeJSON `json:"intake,omitempty"`      // the patient's answers and consent; nil means none
}

// intakeJSON is the patient's answers and consent.
type intakeJSON struct {
	ConsentedAt string         `json:"consentedAt,omitempty"`
	NewPatient  bool           `json:"newPatient,omitempty"`
	SMS         bool           `json:"sms,omitempty"`
	Answers     []store.Answer `json:"answers,omitempty"`
}

func intakeOf(i *store.Intake) *intakeJSON {
	if i.IsZero() {
		return nil
	}
	return &intakeJSON{optionalTime(i.ConsentedAt), i.NewPatient, i.SMS, i.Answers}
}

type patientJSON struct {
	Name      string `json:"name"`
	Email     string `json:"email,omitempty"`
	Phone     string `json:"phone,omitempty"`
	BirthDate string `json:"birthDate,omitempty"`
	Notes     string `json:"notes,omitempty"`
}

func bareAppointmentOf(a *store.Appointment) publicAppointmentJSON {
	return publicAppointmentJSON{
		ID: a.ID, AppointmentTypeID: a.AppointmentTypeID, SpecialistID: a.SpecialistID, Seat: a.Seat,
		Overbook: a.Overbook, Status: string(a.Status), Attendance: string(a.Attendance),
		SlotStartDate: httpTime(a.SlotStart), SlotEndDate: httpTime(a.SlotEnd), Source: string(a.Source),
		UpstreamState: string(a.UpstreamState), CreatedAt: httpTime(a.CreatedAt),
		CancelledAt: optionalTime(a.CancelledAt), Version: a.Version, Place: a.Place,
	}
}

// publicAppointmentOf returns an appointment for the client that booked it, with its manage link.
func (s *Server) publicAppointmentOf(c *call, a *store.Appointment) publicAppointmentJSON {
	j := bareAppointmentOf(a)
	j.ManageURL = s.manageURL(c, a)
	if a.Status == store.Confirmed {
		j.VideoLink = s.engine.Clinic.Current().VideoLink(a)
	}
	return j
}

// appointmentOf returns an appointment for its patient or, with the fields of the desk, for the desk.
func (s *Server) appointmentOf(c *call, a *store.Appointment) appointmentJSON {
	j := deskAppointmentOf(a)
	j.publicAppointmentJSON = s.publicAppointmentOf(c, a)
	if !c.caller.may(desk) {
		j.OverbookReason, j.ArrivedAt, j.SeriesID, j.ResourceIDs = "", "", "", nil
	}
	return j
}

// deskAppointmentOf returns an appointment for a list shown to the desk, without its manage link.
func deskAppointmentOf(a *store.Appointment) appointmentJSON {
	return appointmentJSON{
		publicAppointmentJSON: bareAppointmentOf(a), OverbookReason: a.OverbookReason, CancelReason: a.CancelReason,
		Patient: patientJSON(a.Patient), Locale: a.Locale, ArrivedAt: optionalTime(a.ArrivedAt), SeriesID: a.SeriesID,
		VisitID: a.VisitID, ResourceIDs: a.Resources, Intake: intakeOf(&a.Intake), RecallAt: optionalTime(a.RecallAt),
	}
}

// manageURL returns the manage link of an appointment, or "" if it has none. The token is in the fragment, which
// browsers do not send to servers, so that the token appears in no log.
func (s *Server) manageURL(c *call, a *store.Appointment) string {
	token := s.engine.Booking.ManageToken(a)
	if token == "" {
		return ""
	}
	return c.base() + "/manage#" + token
}

func versionTag(a *store.Appointment) string { return `"` + strconv.FormatInt(a.Version, 10) + `"` }

// version returns the appointment version in the header If-Match, or 0 if any version matches. The header contains the
// version in quotes, optionally followed by a dot and a hash of the response.
func (c *call) version() (int64, error) {
	header := strings.TrimSpace(c.r.Header.Get("If-Match"))
	if c.isFHIR() { // FHIR writes a version as a weak tag
		header = strings.TrimPrefix(header, "W/")
	}
	if header == "" || header == "*" {
		return 0, nil
	}
	digits, _, _ := strings.Cut(strings.Trim(header, `"`), ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || len(header) < 3 || header[0] != '"' || header[len(header)-1] != '"' {
		return 0, fieldError("If-Match", `must be the version in quotes, like "3"`)
	}
	return n, nil
}

// maxPage is the maximum number of appointments per page.
const maxPage = 500

// busyJSON is an appointment in the form that the specialist's colleagues get: who is busy, and when.
type busyJSON struct {
	SpecialistID  string `json:"specialistId"`
	SlotStartDate string `json:"slotStartDate"`
	SlotEndDate   string `json:"slotEndDate"`
}

// colleagues reports whether a specialist requests the busy times of colleagues. It refuses to combine them with a
// search, because the results would reveal patients.
func (q *query) colleagues(searching bool) (busy bool) {
	switch q.text("colleagues") {
	case "":
		return false
	case "busy":
		if searching {
			q.add("colleagues", "cannot be combined with q")
		}
		return true
	}
	q.add("colleagues", "must be busy, or be left out")
	return false
}

func (s *Server) listAppointments(c *call) error { return s.findAppointments(c, c.query()) }

// searchBody holds the parameters of listAppointments. The search text can be a patient's name or email address, which
// must not appear in a URL, a browser history or a proxy's log.
type searchBody struct {
	Q            string `json:"q"`
	From         string `json:"from"`
	To           string `json:"to"`
	SpecialistID string `json:"specialistId"`
	Status       string `json:"status"`
	Cursor       string `json:"cursor"`
	Colleagues   string `json:"colleagues"`
	Limit        *int   `json:"limit"`
}

// searchAppointments is `POST /v1/appointments/search`. It changes nothing, so its response is not stored for a
// repeated request.
func (s *Server) searchAppointments(c *call, b *searchBody) error {
	c.once = nil
	return s.findAppointments(c, queryOf(url.Values{
		"q": {b.Q}, "from": {b.From}, "to": {b.To}, "specialistId": {b.SpecialistID}, "status": {b.Status},
		"cursor": {b.Cursor}, "colleagues": {b.Colleagues},
	}, b.Limit))
}

func (s *Server) findAppointments(c *call, q *query) error {
	zone := s.engine.Clinic.Zone()
	f := store.AppointmentFilter{
		From: q.bound("from", zone), To: q.bound("to", zone), SpecialistID: q.id("specialistId"),
		Status: store.Status(q.text("status")), Query: strings.TrimSpace(q.text("q")), Cursor: q.text("cursor"),
		Limit: q.whole("limit", 1, maxPage, 100),
	}
	busyToo := q.colleagues(f.Query != "")
	switch q.text("recall") {
	case "":
	case "open":
		f.RecallAfter = time.Now()
	default:
		q.add("recall", "must be open, or be left out")
	}
	switch {
	case f.Status != "" && f.Status != store.Confirmed && f.Status != store.Cancelled:
		q.add("status", "must be confirmed or cancelled")
	case len(f.Query) > 200:
		q.add("q", "must be at most 200 characters: a part of a name, an email address or a phone number")
	case !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To):
		q.add("to", "must be later than from")
	}
	if err := q.err(); err != nil {
		return err
	}
	if c.caller.specialistID != "" && !busyToo {
		if f.SpecialistID == "" {
			f.SpecialistID = c.caller.specialistID
		}
		if f.SpecialistID != c.caller.specialistID {
			return errForbidden.with(
				"You can see your own calendar only; colleagues=busy shows when the others are busy.",
			)
		}
	}
	if s.engine.Clinic.Current().IsResource(f.SpecialistID) {
		f.SpecialistID, f.ResourceID = "", f.SpecialistID
	}
	list, next, err := s.engine.Booking.Appointments(c.ctx(), f)
	if errors.Is(err, store.ErrInvalid) {
		return fieldError("cursor", "was not given by this list; start again without one")
	}
	if err != nil {
		return err
	}
	said, busy := make([]appointmentJSON, 0, len(list)), []busyJSON(nil)
	for i := range list {
		a := &list[i]
		switch {
		case c.caller.reaches(a.SpecialistID):
			said = append(said, deskAppointmentOf(a))
		case a.Status == store.Confirmed:
			busy = append(busy, busyJSON{a.SpecialistID, httpTime(a.SlotStart), httpTime(a.SlotEnd)})
		}
	}
	return c.json(http.StatusOK, struct {
		Appointments []appointmentJSON `json:"appointments"`
		Busy         []busyJSON        `json:"busy,omitempty"`
		NextCursor   string            `json:"nextCursor,omitempty"`
	}{said, busy, next})
}

// reachable returns the appointment that the path names. It returns an error if this caller may not access it.
func (s *Server) reachable(c *call) (store.Appointment, error) {
	a, err := s.engine.Booking.Appointment(c.ctx(), c.appointmentID())
	if err == nil && !c.caller.reaches(a.SpecialistID) {
		err = errForbidden.with("This appointment is in another specialist's calendar.")
	}
	return a, err
}

func (s *Server) getAppointment(c *call) error {
	a, err := s.reachable(c)
	if err != nil {
		return err
	}
	if c.caller.appointment == nil {
		return s.sayAppointment(c, &a)
	}
	with, people, err := s.visitors(c, &a)
	if err != nil {
		return err
	}
	others, err := s.othersInSeries(c, &a)
	if err != nil {
		return err
	}
	proposed, err := s.proposed(c, &a)
	if err != nil {
		return err
	}
	names := s.namesOf(&a)
	if proposed != nil {
		names[proposed.SpecialistID], _ = s.engine.Clinic.Current().Who(proposed.SpecialistID)
	}
	answer := managedJSON{
		s.appointmentOf(c, &a), s.engine.Message.MailSent(c.ctx(), &a), names, with, people,
		s.proposalOf(proposed), others,
	}
	if err := c.json(http.StatusOK, answer); err != nil {
		return err
	}
	// This response also changes without a new version: when the email is sent, or when another visitor's appointment
	// moves.
	c.rw.Header()["Etag"] = []string{contentTag(strconv.FormatInt(a.Version, 10)+".", c.out)}
	return nil
}

// managedJSON is the response to a request with a manage link.
type managedJSON struct {
	Appointment appointmentJSON   `json:"appointment"`
	EmailSent   bool              `json:"emailSent,omitempty"` // the email about its current time has been sent
	Names       map[string]string `json:"names"`               // by id: type and specialist, even if archived
	Visit       []visitorJSON     `json:"visit,omitempty"`     // all appointments in the visit, including this one
	// the number of people in the visit, including those with other contact details
	VisitPeople int           `json:"visitPeople,omitempty"`
	Proposal    *proposalJSON `json:"proposal,omitempty"` // a new time proposed because the specialist is away
	// the other confirmed appointments of the series that are not over and have the same contact details, by start
	Series []seriesTimeJSON `json:"series,omitempty"`
}

// seriesTimeJSON is another appointment of a series. It contains no id: a manage link does not open it.
type seriesTimeJSON struct {
	SlotStartDate string `json:"slotStartDate"`
	SlotEndDate   string `json:"slotEndDate"`
}

// othersInSeries lists the coming times of the series that an appointment belongs to, for the same patient. A text
// message about a series names only the first time, and its link opens only that appointment.
func (s *Server) othersInSeries(c *call, a *store.Appointment) (times []seriesTimeJSON, err error) {
	if a.SeriesID == "" {
		return nil, nil
	}
	list, err := s.engine.Group.Series.Of(c.ctx(), a.ID)
	now := time.Now()
	for _, x := range list {
		if x.ID != a.ID && x.Status == store.Confirmed && x.SlotEnd.After(now) &&
			booking.SameContact(&x.Patient, &a.Patient) {
			times = append(times, seriesTimeJSON{httpTime(x.SlotStart), httpTime(x.SlotEnd)})
		}
	}
	return times, err
}

func (s *Server) sayAppointment(c *call, a *store.Appointment) error {
	c.rw.Header()["Etag"] = []string{versionTag(a)}
	c.status, c.out = s.renderAppointment(c)(*a)
	return nil
}

// renderAppointment returns the function that renders the response to a change to an appointment.
func (s *Server) renderAppointment(c *call) func(any) (int, []byte) {
	return func(result any) (int, []byte) {
		a := result.(store.Appointment)
		return rendered(http.StatusOK, map[string]appointmentJSON{"appointment": s.appointmentOf(c, &a)})
	}
}

// change prepares a change to an appointment. It returns the appointment's id and the version in If-Match, and an error
// if this caller may not access the appointment.
func (s *Server) change(c *call) (id string, version int64, err error) {
	if version, err = c.version(); err != nil {
		return "", 0, err
	}
	id = c.appointmentID()
	if c.caller.specialistID != "" {
		_, err = s.reachable(c)
	}
	return id, version, err
}

// inSilence reports whether a change sends no notifications. Only the desk can decide this: a patient's own move or
// cancellation always notifies the clinic.
func (c *call) inSilence(notify *bool) bool { return notify != nil && !*notify && c.caller.may(desk) }

type cancelBody struct {
	clientBody
	Reason   string `json:"reason"`
	Notify   *bool  `json:"notify"`
	Undoable bool   `json:"undoable"` // staff only
}

func (s *Server) cancelAppointment(c *call, b *cancelBody) error {
	id, version, err := s.change(c)
	if err != nil {
		return err
	}
	a, err := s.engine.Booking.Cancel(c.ctx(), booking.CancelRequest{
		ID: id, Version: version, Reason: b.Reason, Actor: c.caller.actor, CutOff: c.caller.appointment != nil,
		Silent: c.inSilence(b.Notify), Undoable: b.Undoable, Once: c.answering(s.renderAppointment(c)),
	})
	if err != nil {
		return err
	}
	return s.sayAppointment(c, &a)
}

// undoAppointment undoes this member of staff's last change. If that change was made to a whole visit, undoAppointment
// undoes all of it.
func (s *Server) undoAppointment(c *call) error {
	id, version, err := s.change(c)
	if err != nil {
		return err
	}
	a, err := s.engine.Group.Visit.Undo(c.ctx(), booking.UndoRequest{
		ID: id, Version: version, Actor: c.caller.actor, Once: c.answering(s.renderAppointment(c)),
	})
	if err != nil {
		return err
	}
	return s.sayAppointment(c, &a)
}

type rescheduleBody struct {
	clientBody
	SlotStartDate string `json:"slotStartDate"`
	SpecialistID  string `json:"specialistId"`
	HoldID        string `json:"holdId"`
	IgnoreHours   bool   `json:"ignoreHours"` // desk only
	Displace      bool   `json:"displace"`    // desk only
	Notify        *bool  `json:"notify"`
	Undoable      bool   `json:"undoable"` // staff only
	// AppointmentTypeID is the new type of the appointment. Only the desk can set it.
	AppointmentTypeID string `json:"appointmentTypeId"`
}

func (s *Server) rescheduleAppointment(c *call, b *rescheduleBody) error {
	if (b.IgnoreHours || b.Displace || b.AppointmentTypeID != "") && !c.caller.may(desk) {
		return errForbidden.with(
			"Only the clinic's own staff can displace a hold, ignore the hours or change the type. Leave the field " +
				"out.",
		)
	}
	if b.SpecialistID != "" && !c.caller.reaches(b.SpecialistID) {
		return errForbidden.with("You can move appointments within your own calendar only.")
	}
	id, version, err := s.change(c)
	if err != nil {
		return err
	}
	m := &c.wrong
	start := m.instant("slotStartDate", b.SlotStartDate)
	var booked holds.Owner
	if who := c.caller.appointment; who != nil {
		// a patient's hold belongs to the client that booked, unless the request names another client
		booked, _ = holds.ParseOwner(who.Owner)
	}
	specialistID := b.SpecialistID
	if specialistID == "" {
		specialistID = c.caller.specialistID // a specialist's own appointment stays with the specialist
	}
	a, err := s.engine.Booking.Reschedule(c.ctx(), booking.RescheduleRequest{
		ID: id, Version: version, SlotStart: start, SpecialistID: specialistID, HoldID: b.HoldID, Client: c.client,
		Owner: booked, Actor: c.caller.actor, CutOff: c.caller.appointment != nil, IgnoreHours: b.IgnoreHours,
		Displace: b.Displace, Silent: c.inSilence(b.Notify), Undoable: b.Undoable,
		AppointmentTypeID: b.AppointmentTypeID, Once: c.answering(s.renderAppointment(c)),
	})
	if err != nil {
		return err
	}
	return s.sayAppointment(c, &a)
}

type attendanceBody struct {
	Attendance string `json:"attendance"`
}

func (s *Server) setAttendance(c *call, b *attendanceBody) error {
	id, version, err := s.change(c)
	if err != nil {
		return err
	}
	a, err := s.engine.Booking.SetAttendance(c.ctx(), id, version, store.Attendance(b.Attendance), c.caller.actor,
		c.answering(s.renderAppointment(c)))
	if err != nil {
		return err
	}
	return s.sayAppointment(c, &a)
}

// arrive records that the patient of an appointment has arrived.
func (s *Server) arrive(c *call) error {
	which, err := s.which(c, nil, false)
	if err != nil {
		return err
	}
	which.Once = c.answering(s.renderAppointment(c))
	a, err := s.engine.Group.Visit.Arrive(c.ctx(), which)
	if err != nil {
		return err
	}
	return s.sayAppointment(c, &a)
}
