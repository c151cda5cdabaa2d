package web

import (
	"cmp"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/booking"
	"holdfast/store"
	"holdfast/web/fhir"
)

// searchByForm handles POST …/_search like a GET with the same parameters. The parameters can be in the URL or in the
// body. Proxies do not log the body.
func searchByForm(search handle) handle {
	return func(c *call) error {
		if c.r.ContentLength != 0 {
			if !strings.HasPrefix(c.r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
				return errUnsupportedMediaType.with("Send the parameters of the search as " +
					"application/x-www-form-urlencoded.")
			}
			body, err := io.ReadAll(io.LimitReader(c.r.Body, maxBody+1))
			if err != nil || len(body) > maxBody {
				return errMalformedBody.with("The form must be complete and at most " + strconv.Itoa(maxBody>>10) +
					" KiB.")
			}
			form, err := url.ParseQuery(string(body))
			if err != nil {
				return errMalformedBody.with("The form must be name=value pairs joined by &, with other characters " +
					"percent-encoded.")
			}
			for name, values := range c.query().values {
				form[name] = append(form[name], values...)
			}
			c.r.URL.RawQuery = form.Encode()
		}
		c.r.URL.Path = strings.TrimSuffix(c.r.URL.Path, "/_search")
		return search(c)
	}
}

// createFHIRAppointment books an Appointment under the rules of POST /v1/appointments. A Slot determines the type, the
// specialist and the start. Without a Slot, the Appointment needs serviceType and start, and a Practitioner among its
// participants can name the specialist.
func (s *Server) createFHIRAppointment(c *call, b *fhir.Appointment) error {
	if b.ResourceType != "Appointment" {
		c.wrong.add("resourceType", "must be Appointment")
	}
	if b.Status != "booked" {
		c.wrong.add("status", "must be booked: the server either books immediately or refuses")
	}
	r := booking.Request{Locale: b.Language, Source: store.SourceAPI, Actor: c.caller.actor}
	s.namedSlot(c, b, &r)
	for _, p := range b.Participant {
		named := p.Actor.Identifier
		switch {
		case named == nil && p.Actor.Type == "Practitioner":
			c.wrong.add("participant", "name the Practitioner by identifier, as Schedule.actor does")
		case named == nil || p.Actor.Type != "Practitioner" && !strings.HasSuffix(named.System, "/v1/specialists"):
		case r.SpecialistID != "" && r.SpecialistID != named.Value:
			c.wrong.add("participant", "is not the Practitioner of the Slot")
		default:
			r.SpecialistID = named.Value
		}
	}
	r.Displace = r.SpecialistID != ""
	r.Patient = c.fhirPatient(b)
	render := func(result any) (int, []byte) {
		a := result.(store.Appointment)
		return rendered(http.StatusCreated, s.fhirAppointment(c.base(), &a))
	}
	r.Once = c.answering(render)
	a, err := s.engine.Booking.Book(c.ctx(), r)
	if err != nil {
		return err
	}
	c.rw.Header()["Location"] = []string{c.base() + "/fhir/Appointment/" + a.ID}
	c.rw.Header()["Etag"] = []string{"W/" + versionTag(&a)}
	c.status, c.out = render(a)
	return nil
}

// namedSlot sets the type, the specialist and the start in r, and adds mistakes to c.wrong.
func (s *Server) namedSlot(c *call, b *fhir.Appointment, r *booking.Request) {
	switch {
	case len(b.Slot) > 1:
		c.wrong.add("slot", "must be one Slot")
	case len(b.Slot) == 1:
		o, start, err := s.slot(lastOf(b.Slot[0].Reference))
		if err != nil {
			c.wrong.add("slot", "is not a Slot of this server")
			return
		}
		r.AppointmentTypeID, r.SpecialistID, r.SlotStart = o.t.ID, o.p.ID, start
		if b.Start != "" && !c.wrong.instant("start", b.Start).Equal(start) {
			c.wrong.add("start", "differs from the start of the Slot")
		}
	default:
		r.SlotStart = c.wrong.instant("start", b.Start)
		for _, concept := range b.ServiceType {
			for _, coding := range concept.Coding {
				r.AppointmentTypeID = coding.Code
			}
		}
		if r.AppointmentTypeID == "" {
			c.wrong.add("serviceType", "must have the coding of an appointment type, unless you send a slot")
			return
		}
	}
	t, err := s.engine.Clinic.AppointmentType(r.AppointmentTypeID)
	if err != nil {
		c.wrong.add("serviceType", "is not an appointment type of the clinic")
		return
	}
	end := r.SlotStart.Add(time.Duration(t.DurationMinutes) * time.Minute)
	if b.End != "" && !c.wrong.instant("end", b.End).Equal(end) {
		c.wrong.add("end", "must be "+httpTime(end)+" or left out: the appointment type sets the duration")
	}
}

// fhirPatient returns the patient from the contained Patient, of which there must be exactly one.
func (c *call) fhirPatient(b *fhir.Appointment) store.Patient {
	if len(b.Contained) != 1 || b.Contained[0].ResourceType != "Patient" {
		c.wrong.add("contained", "must be one Patient, to which a participant refers as #id")
		return store.Patient{}
	}
	from := &b.Contained[0]
	refers := func(p fhir.Participant) bool { return p.Actor.Reference == "#"+from.ID }
	if !slices.ContainsFunc(b.Participant, refers) {
		c.wrong.add("participant", "must refer to the contained Patient as #"+from.ID)
	}
	p := store.Patient{BirthDate: from.BirthDate, Notes: b.Comment}
	if len(from.Name) > 0 {
		p.Name = from.Name[0].Full()
	}
	for _, t := range from.Telecom {
		switch {
		case t.System == "phone" && p.Phone == "":
			p.Phone = t.Value
		case t.System == "email" && p.Email == "":
			p.Email = t.Value
		}
	}
	return p
}

// updateFHIRAppointment cancels an Appointment. Other changes through FHIR are not possible.
func (s *Server) updateFHIRAppointment(c *call, b *fhir.Appointment) error {
	if b.ResourceType != "Appointment" {
		c.wrong.add("resourceType", "must be Appointment")
	}
	if b.ID != c.param("id") {
		c.wrong.add("id", "must be the id in the address")
	}
	if b.Status != "cancelled" {
		c.wrong.add("status", "must be cancelled. To move an appointment, use POST /v1/appointments/{id}/reschedule")
	}
	version, err := c.version()
	if err := c.mistake(err); err != nil {
		return err
	}
	render := func(result any) (int, []byte) {
		a := result.(store.Appointment)
		return rendered(http.StatusOK, s.fhirAppointment(c.base(), &a))
	}
	r := booking.CancelRequest{ID: c.param("id"), Version: version, Actor: c.caller.actor, Once: c.answering(render)}
	if b.CancelationReason != nil {
		r.Reason = b.CancelationReason.Text
		for _, coding := range b.CancelationReason.Coding {
			r.Reason = cmp.Or(r.Reason, coding.Display, coding.Code)
		}
	}
	a, err := s.engine.Booking.Cancel(c.ctx(), r)
	if err != nil {
		return err
	}
	c.rw.Header()["Etag"] = []string{"W/" + versionTag(&a)}
	c.status, c.out = render(a)
	return nil
}
