package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/store"
	"holdfast/web/fhir"
)

// FHIR R4. A Schedule is a type and a specialist who can be booked for it, and a Slot is a bookable time. With a key, a
// caller can read, book and cancel appointments (Appointment). Slots are computed, not stored. The id of a slot is
// derived from its contents, so it stays the same.

var (
	fhirType    = []string{fhir.ContentType}
	publicReads = rate{every: 250 * time.Millisecond, burst: 120} // requests for public data that cost more than a page
)

const (
	fhirCount    = 50 // resources per page of a response
	maxFHIRCount = 200
	maxFHIRDays  = 31 // maximum number of days that one search for slots covers
	maxSchedules = 20 // maximum number of schedules in one search for slots
)

// sayFHIR responds with a FHIR resource.
func (c *call) sayFHIR(status int, resource any) error {
	c.rw.Header()["Content-Type"] = fhirType
	return c.json(status, resource)
}

// isFHIR reports whether the request uses FHIR, so that the server sends errors in FHIR's format.
func (c *call) isFHIR() bool { return strings.HasPrefix(c.r.URL.Path, "/fhir/") }

// outcome responds with a problem in the form of an OperationOutcome.
func (c *call) outcome(p problem) error {
	o := fhir.OperationOutcome{ResourceType: "OperationOutcome"}
	issue := fhir.Issue{Severity: "error", Code: fhir.IssueCode(p.Status), Details: fhir.CodeableConcept{Text: p.Title},
		Diagnostics: p.Detail}
	issue.Details.Coding = []fhir.Coding{{System: c.base() + "/docs/errors", Code: p.Code}}
	if len(p.Errors) == 0 {
		o.Issue = []fhir.Issue{issue}
	}
	for _, e := range p.Errors {
		issue.Diagnostics, issue.Expression = e.Field+": "+e.Message, []string{"http." + e.Field}
		o.Issue = append(o.Issue, issue)
	}
	return c.sayFHIR(p.Status, o)
}

// heedReads limits the rate of public requests that cost more than a page.
func (s *Server) heedReads(c *call) error {
	if c.caller.trusted() {
		return nil
	}
	return c.limited(s.reads, s.address(c.r))
}

// fhirQuery reads the parameters of a search and refuses unknown ones: if the server ignored a condition, the response
// would contain resources that the caller did not search for.
func (c *call) fhirQuery(known ...string) *query {
	q := c.query()
	for name := range q.values {
		if name != "_format" && name != "_summary" && !slices.Contains(known, name) {
			q.add(name, "is not a supported parameter; the supported parameters are "+
				strings.Join(append(known, "_format", "_summary"), ", "))
		}
	}
	if f := q.text("_format"); f != "" && f != "json" && f != fhir.ContentType && f != "application/json" {
		q.add("_format", "must be json")
	}
	kinds := []string{fhir.Whole, fhir.SummaryTrue, fhir.SummaryText, fhir.SummaryData, fhir.JustCount}
	if s := q.text("_summary"); s != "" && !slices.Contains(kinds, s) {
		q.add("_summary", "must be one of "+strings.Join(kinds, ", "))
	}
	return q
}

func (q *query) between(name string, least, most, usual int) int {
	text := q.text(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		q.add(name, "must be a number from "+strconv.Itoa(least)+" on")
		return usual
	}
	return min(n, most)
}

// dates parses a search by date (https://hl7.org/fhir/R4/search.html#date). Each value is an instant or a date in zone,
// and can have a prefix. dates returns the range [from, to) that matches all values. A zero bound is open.
func (q *query) dates(name string, zone *time.Location) (from, to time.Time) {
	for _, value := range q.values[name] {
		prefix := "eq"
		if len(value) > 2 && value[0] >= 'a' && value[0] <= 'z' {
			prefix, value = value[:2], value[2:]
		}
		first, err := time.Parse(time.RFC3339, value)
		isInstant := err == nil
		if !isInstant {
			first, err = time.ParseInLocation(time.DateOnly, value, zone)
		}
		if err != nil {
			q.add(name,
				"must be a date like 2026-11-23 or an instant like 2026-11-23T09:00:00Z, with a prefix such as ge "+
					"or lt")
			return from, to
		}
		after := first.AddDate(0, 0, 1)
		if isInstant {
			after = first.Add(time.Second)
		}
		least, most := time.Time{}, time.Time{}
		switch prefix {
		case "eq":
			least, most = first, after
		case "ge":
			least = first
		case "gt", "sa":
			least = after
		case "le":
			most = after
		case "lt", "eb":
			most = first
		default:
			q.add(name, "must have one of the prefixes eq, ge, gt, le, lt")
		}
		if least.After(from) {
			from = least
		}
		if !most.IsZero() && (to.IsZero() || most.Before(to)) {
			to = most
		}
	}
	return from, to
}

// offer is one pair of specialist and type that the public can book.
type offer struct {
	id string // of its Schedule
	t  *store.AppointmentType
	p  *store.Specialist
}

// scheduleID returns the FHIR id of an offer. FHIR ids cannot contain an underscore.
func scheduleID(typeID, specialistID string) string {
	sum := sha256.Sum256([]byte(typeID + "\x00" + specialistID))
	return hex.EncodeToString(sum[:10])
}

// offersOf lists the bookable types and specialists for the public, by type and then by specialist.
func offersOf(now *clinic.Schedule) (all []offer) {
	for i := range now.AppointmentTypes {
		t := &now.AppointmentTypes[i]
		if !t.Active || t.Page.DeskOnly {
			continue
		}
		for _, a := range t.Specialists {
			if p := now.SpecialistByID[a.SpecialistID]; p != nil && p.Active && p.Kind == store.PersonKind {
				all = append(all, offer{scheduleID(t.ID, p.ID), t, p})
			}
		}
	}
	return all
}

func serviceType(base string, t *store.AppointmentType) []fhir.CodeableConcept {
	return []fhir.CodeableConcept{{Coding: []fhir.Coding{{System: base + "/v1/appointment-types", Code: t.ID,
		Display: t.Name}}, Text: t.Name}}
}

func practitioner(base string, p *store.Specialist) fhir.Reference {
	return fhir.Reference{Type: "Practitioner", Identifier: &fhir.Identifier{System: base +
		"/v1/specialists", Value: p.ID}, Display: p.Name}
}

func scheduleOf(base string, o *offer, now time.Time) fhir.Schedule {
	return fhir.Schedule{
		ResourceType: "Schedule", ID: o.id, Active: true, ServiceType: serviceType(base, o.t),
		Actor: []fhir.Reference{practitioner(base, o.p)},
		Identifier: []fhir.Identifier{{System: base + "/v1/appointment-types", Value: o.t.ID},
			{System: base + "/v1/specialists", Value: o.p.ID}},
		PlanningHorizon: &fhir.Period{Start: httpTime(now), End: httpTime(now.AddDate(0, 0, o.t.HorizonDays))},
	}
}

func slotOf(base string, o *offer, start time.Time, status string) fhir.Slot {
	return fhir.Slot{
		ResourceType: "Slot", ID: o.id + "-" + strconv.FormatInt(start.Unix(), 10), ServiceType: serviceType(base, o.t),
		Status: status, Schedule: fhir.Reference{Reference: "Schedule/" + o.id}, Start: httpTime(start),
		End: httpTime(start.Add(time.Duration(o.t.DurationMinutes) * time.Minute)),
	}
}

// page sets the response to one page of a search. total is the number of all results, and resource returns result i.
func (c *call) page(q *query, total int, resource func(i int) (id string, resource any)) error {
	from, count := q.between("_offset", 0, 1<<30, 0), q.between("_count", 1, maxFHIRCount, fhirCount)
	if err := q.err(); err != nil {
		return err
	}
	base := c.base() + c.r.URL.Path
	b := fhir.Found(base + "?" + q.values.Encode())
	b.Total = &total
	if q.text("_summary") == fhir.JustCount {
		return c.sayFHIR(http.StatusOK, b)
	}
	for i := from; i < min(total, from+count); i++ {
		id, r := resource(i)
		b.Add(base+"/"+id, r)
	}
	if from+count < total {
		q.values.Set("_offset", strconv.Itoa(from+count))
		b.Link = append(b.Link, fhir.Link{Relation: "next", URL: base + "?" + q.values.Encode()})
	}
	return c.sayFHIR(http.StatusOK, b)
}

// lastOf returns the id at the end of a reference, or after the system of a token.
func lastOf(s string) string { return s[strings.LastIndexAny(s, "/|")+1:] }

func (s *Server) searchSchedules(c *call) error {
	if err := s.heedReads(c); err != nil {
		return err
	}
	q := c.fhirQuery("_id", "service-type", "active", "_count", "_offset")
	id, service, active := q.text("_id"), lastOf(q.text("service-type")), q.text("active")
	all := slices.DeleteFunc(offersOf(s.engine.Clinic.Current()), func(o offer) bool {
		return id != "" && o.id != id || service != "" && o.t.ID != service || active == "false"
	})
	base, now := c.base(), time.Now()
	return c.page(q, len(all), func(i int) (string, any) {
		return all[i].id, scheduleOf(base, &all[i], now).Summary(q.text("_summary"))
	})
}

func (s *Server) offer(id string) (*offer, error) {
	all := offersOf(s.engine.Clinic.Current())
	i := slices.IndexFunc(all, func(o offer) bool { return o.id == id })
	if i < 0 {
		return nil, errNotFound.with("There is no such resource.")
	}
	return &all[i], nil
}

func (s *Server) readSchedule(c *call) error {
	q := c.fhirQuery()
	if err := q.err(); err != nil {
		return err
	}
	o, err := s.offer(c.param("id"))
	if err != nil {
		return err
	}
	return c.sayFHIR(http.StatusOK, scheduleOf(c.base(), o, time.Now()).Summary(q.text("_summary")))
}

// searchSlots lists the free and held slots of the requested schedules and days.
func (s *Server) searchSlots(c *call) error {
	if err := s.heedReads(c); err != nil {
		return err
	}
	q := c.fhirQuery("schedule", "service-type", "start", "status", "_count", "_offset")
	now, schedule := time.Now(), s.engine.Clinic.Current()
	from, to := q.dates("start", schedule.Zone)
	if from.Before(now) {
		from = now
	}
	if to.IsZero() {
		to = from.AddDate(0, 0, 14)
	}
	if to.Sub(from) > (maxFHIRDays+1)*24*time.Hour {
		q.add("start", "must not cover more than "+strconv.Itoa(maxFHIRDays)+" days")
	}
	service, schedules := lastOf(q.text("service-type")), strings.Split(q.text("schedule"), ",")
	if service == "" && schedules[0] == "" {
		q.add("schedule", "must name a Schedule, or add a service-type")
	}
	chosen := slices.DeleteFunc(offersOf(schedule), func(o offer) bool {
		return service != "" && o.t.ID != service || schedules[0] != "" &&
			!slices.ContainsFunc(schedules, func(ref string) bool { return lastOf(ref) == o.id })
	})
	if len(chosen) > maxSchedules {
		q.add("schedule", "must not be more than "+strconv.Itoa(maxSchedules)+" schedules at once")
	}
	status := strings.Split(q.text("status"), ",")
	for _, one := range status {
		if one != "" && !slices.Contains([]string{fhir.Free, fhir.Held, fhir.Busy, fhir.Unavailable,
			"entered-in-error"}, one) {
			q.add("status", "must be one or more of busy, free, busy-unavailable, busy-tentative, entered-in-error")
		}
	}
	if err := q.err(); err != nil {
		return err
	}
	var found []fhir.Slot
	for i := range chosen {
		slots, err := s.slotsBetween(c, schedule, &chosen[i], from, to)
		if err != nil {
			return err
		}
		for _, slot := range slots {
			if status[0] == "" || slices.Contains(status, slot.Status) {
				found = append(found, slot)
			}
		}
	}
	return c.page(q, len(found), func(i int) (string, any) { return found[i].ID, found[i].Summary(q.text("_summary")) })
}

// slotsBetween returns the free and held slots of one offer that start in [from, to).
func (s *Server) slotsBetween(c *call, schedule *clinic.Schedule, o *offer, from, to time.Time) ([]fhir.Slot, error) {
	if !to.After(from) {
		return nil, nil
	}
	own, err := time.LoadLocation(o.p.Timezone)
	if err != nil {
		return nil, err
	}
	list, err := s.engine.Booking.Timeslots(c.ctx(), booking.TimeslotsRequest{
		AppointmentTypeID: o.t.ID, SpecialistID: o.p.ID, From: store.DateOf(from.In(own)),
		To: store.DateOf(to.In(own)).AddDays(1), Schedule: schedule,
	})
	if err != nil {
		return nil, err
	}
	var found []fhir.Slot
	for i := range list.Slots {
		slot := &list.Slots[i]
		if slot.Start.Before(from) || !slot.Start.Before(to) {
			continue
		}
		is := fhir.Free
		if slot.Available == 0 {
			is = fhir.Held
		}
		found = append(found, slotOf(c.base(), o, slot.Start, is))
	}
	return found, nil
}
