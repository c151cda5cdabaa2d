package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/store"
	"holdfast/web/fhir"
)

// readSlot returns the current state of one slot. A slot that was free can still be read after it has been taken.
func (s *Server) readSlot(c *call) error {
	if err := s.heedReads(c); err != nil {
		return err
	}
	q := c.fhirQuery()
	if err := q.err(); err != nil {
		return err
	}
	o, start, err := s.slot(c.param("id"))
	if err != nil {
		return err
	}
	said, err := s.engine.Booking.Explain(c.ctx(), o.t.ID, o.p.ID, start, "")
	if err != nil {
		return err
	}
	if len(said) != 1 || said[0].Reason == availability.ReasonNotASlotStart {
		return errNotFound.with("There is no such resource.")
	}
	status := fhir.Unavailable
	switch x := said[0]; {
	case x.Bookable:
		status = fhir.Free
	case !x.HeldUntil.IsZero():
		status = fhir.Held
	case x.Reason == availability.ReasonTaken:
		status = fhir.Busy
	}
	return c.sayFHIR(http.StatusOK, slotOf(c.base(), o, start, status).Summary(q.text("_summary")))
}

// slot parses the id of a slot, and returns its schedule and its start.
func (s *Server) slot(id string) (*offer, time.Time, error) {
	schedule, at, _ := strings.Cut(id, "-")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || seconds < 0 || seconds > 1<<33 || strconv.FormatInt(seconds, 10) != at {
		return nil, time.Time{}, errNotFound.with("There is no such resource.")
	}
	o, err := s.offer(schedule)
	return o, time.Unix(seconds, 0).UTC(), err
}

// fhirStatus returns the FHIR status for an appointment's status and attendance.
func fhirStatus(a *store.Appointment) string {
	if a.Status == store.Cancelled {
		return "cancelled"
	}
	switch a.Attendance {
	case store.Arrived:
		return "arrived"
	case store.InProgress:
		return "checked-in"
	case store.Completed:
		return "fulfilled"
	case store.NoShow:
		return "noshow"
	}
	return "booked"
}

var fhirStatuses = []string{"booked", "arrived", "checked-in", "fulfilled", "noshow", "cancelled"}

// fhirAppointment converts an appointment. The patient is a contained resource, because the server offers no Patient
// resources.
func (s *Server) fhirAppointment(base string, a *store.Appointment) fhir.Appointment {
	who := fhir.Patient{ResourceType: "Patient", ID: "patient", BirthDate: a.Patient.BirthDate}
	if a.Patient.Name != "" {
		who.Name = []fhir.HumanName{{Text: a.Patient.Name}}
	}
	if a.Patient.Phone != "" {
		who.Telecom = append(who.Telecom, fhir.ContactPoint{System: "phone", Value: a.Patient.Phone})
	}
	if a.Patient.Email != "" {
		who.Telecom = append(who.Telecom, fhir.ContactPoint{System: "email", Value: a.Patient.Email})
	}
	r := fhir.Appointment{
		ResourceType: "Appointment", ID: a.ID, Meta: &fhir.Meta{VersionID: strconv.FormatInt(a.Version, 10),
			LastUpdated: httpTime(a.UpdatedAt)},
		Identifier: []fhir.Identifier{{System: base + "/v1/appointments", Value: a.ID}}, Status: fhirStatus(a),
		Contained: []fhir.Patient{who}, Start: httpTime(a.SlotStart), End: httpTime(a.SlotEnd),
		MinutesDuration: int(a.SlotEnd.Sub(a.SlotStart) / time.Minute), Created: httpTime(a.CreatedAt),
		Comment: a.Patient.Notes,
		Participant: []fhir.Participant{{Actor: fhir.Reference{Reference: "#patient", Type: "Patient",
			Display: a.Patient.Name}, Status: "accepted"}},
	}
	if r.Status == "cancelled" && a.CancelReason != "" {
		r.CancelationReason = &fhir.CodeableConcept{Text: a.CancelReason}
	}
	now := s.engine.Clinic.Current()
	with := fhir.Reference{Type: "Practitioner", Identifier: &fhir.Identifier{System: base +
		"/v1/specialists", Value: a.SpecialistID}}
	if p := now.SpecialistByID[a.SpecialistID]; p != nil {
		with = practitioner(base, p)
	}
	r.Participant = append(r.Participant, fhir.Participant{Actor: with, Status: "accepted"})
	if place := now.PlaceOf(a); place != nil {
		at := fhir.Reference{Type: "Location", Display: place.Name,
			Identifier: &fhir.Identifier{System: base + "/v1/clinic", Value: place.ID}}
		r.Participant = append(r.Participant, fhir.Participant{Actor: at, Status: "accepted"})
	}
	if t := now.TypeOf(a.AppointmentTypeID); t != nil {
		r.ServiceType = serviceType(base, t)
	}
	return r
}

func (s *Server) readFHIRAppointment(c *call) error {
	q := c.fhirQuery()
	if err := q.err(); err != nil {
		return err
	}
	a, err := s.engine.Booking.Appointment(c.ctx(), c.param("id"))
	if err != nil {
		return err
	}
	c.rw.Header()["Etag"] = []string{"W/" + versionTag(&a)}
	return c.sayFHIR(http.StatusOK, s.fhirAppointment(c.base(), &a).Summary(q.text("_summary")))
}

func (s *Server) searchFHIRAppointments(c *call) error {
	q := c.fhirQuery("date", "status", "_count", "_page")
	if q.text("_summary") == fhir.JustCount {
		q.add("_summary", "the server does not count appointments; use true, text, data or false")
	}
	f := store.AppointmentFilter{Cursor: q.text("_page"), Limit: q.between("_count", 1, maxFHIRCount, fhirCount)}
	f.From, f.To = q.dates("date", s.engine.Clinic.Zone())
	var status []string
	if text := q.text("status"); text != "" {
		status = strings.Split(text, ",")
	}
	for _, one := range status {
		if !slices.Contains(fhirStatuses, one) {
			q.add("status", "must be one or more of "+strings.Join(fhirStatuses, ", "))
		}
	}
	if err := q.err(); err != nil {
		return err
	}
	switch has := slices.Contains(status, "cancelled"); {
	case has && len(status) == 1:
		f.Status = store.Cancelled
	case !has && len(status) > 0:
		f.Status = store.Confirmed
	}
	list, next, err := s.engine.Booking.Appointments(c.ctx(), f)
	if err != nil {
		return err
	}
	base := c.base()
	b := fhir.Found(base + "/fhir/Appointment?" + q.values.Encode())
	for i := range list {
		if r := s.fhirAppointment(base, &list[i]); len(status) == 0 || slices.Contains(status, r.Status) {
			b.Add(base+"/fhir/Appointment/"+r.ID, r.Summary(q.text("_summary")))
		}
	}
	if next != "" {
		q.values.Set("_page", next)
		b.Link = append(b.Link, fhir.Link{Relation: "next", URL: base + "/fhir/Appointment?" + q.values.Encode()})
	}
	return c.sayFHIR(http.StatusOK, b)
}

// fhirMetadata returns the CapabilityStatement.
func (s *Server) fhirMetadata(c *call) error {
	type param struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	type interaction struct {
		Code string `json:"code"`
	}
	type resource struct {
		Type          string        `json:"type"`
		Documentation string        `json:"documentation"`
		Interaction   []interaction `json:"interaction"`
		Versioning    string        `json:"versioning"`
		SearchParam   []param       `json:"searchParam"`
	}
	reading := []interaction{{"read"}, {"search-type"}}
	writing := append(slices.Clone(reading), interaction{"create"}, interaction{"update"})
	base := c.base()
	return c.sayFHIR(http.StatusOK, map[string]any{
		"resourceType": "CapabilityStatement", "status": "active", "date": "2026-11-26", "kind": "instance",
		"fhirVersion": "4.0.1", "format": []string{"json", fhir.ContentType},
		"software": map[string]string{"name": "Holdfast"}, // only operators see the version
		"implementation": map[string]string{"description": s.engine.Clinic.Schedule().Clinic.Name, "url": base +
			"/fhir"},
		"rest": []any{map[string]any{
			"mode": "server",
			"security": map[string]any{
				"description": "Schedule and Slot are public. Appointment needs an API key with the admin scope as " +
					"Authorization: Bearer hfk_….",
			},
			"resource": []resource{
				{"Schedule", "Who can be booked for what.", reading, "no-version",
					[]param{{"_id", "token"}, {"service-type", "token"}, {"active", "token"}}},
				{"Slot", "Free and held times of up to 20 schedules over up to 31 days.", reading, "no-version",
					[]param{{"schedule", "reference"}, {"service-type", "token"}, {"start", "date"},
						{"status", "token"}}},
				{"Appointment", "Appointments with their patients. create books; update only cancels.", writing,
					"versioned", []param{{"date", "date"}, {"status", "token"}}},
			},
		}},
	})
}
