package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/web/simulation/referee"
)

// pick draws a slot: usually a start within the hours of the next days, sometimes a time that is not a start.
func (l *life) pick(r *rand.Rand, kind string) (specialist string, start time.Time) {
	specialist = oneOf(r, sorted(l.Types[kind].Priorities))
	local := time.Now().In(l.Specialists[specialist].Zone).AddDate(0, 0, r.IntN(3))
	starts := l.Starts(kind, specialist, local.Year(), local.Month(), local.Day())
	if near := l.inTheWay(r, kind); near != nil && r.IntN(2) == 0 {
		specialist, starts = near.Specialist, l.around(kind, near)
	}
	if blocks := l.Specialists[specialist].Blocks; len(blocks) > 0 && r.IntN(6) == 0 {
		starts = nil // starts that overlap a block, and those next to it
		for _, b := range blocks {
			local := b.From.In(l.Specialists[specialist].Zone)
			for _, at := range l.Starts(kind, specialist, local.Year(), local.Month(), local.Day()) {
				if at.After(b.From.Add(-2*time.Hour)) && at.Before(b.To.Add(30*time.Minute)) {
					starts = append(starts, at)
				}
			}
		}
		slices.SortFunc(starts, time.Time.Compare)
	}
	if start = oneOf(r, starts); start.IsZero() {
		start = time.Now().Truncate(time.Minute).Add(time.Hour)
	}
	if r.IntN(12) == 0 {
		start = start.Add(-5 * time.Minute)
	}
	return specialist, start.UTC()
}

// inTheWay draws a held or booked time of a specialist who offers this type, so that requests near it
// collide.
func (l *life) inTheWay(r *rand.Rand, kind string) *referee.Span {
	var spans []*referee.Span
	for _, h := range l.mine() {
		if _, serves := l.Types[kind].Priorities[h.Specialist]; serves {
			spans = append(spans, &h.Span)
		}
	}
	if a := l.standing(r, false); a != nil && (len(spans) == 0 || r.IntN(3) == 0) {
		if _, serves := l.Types[kind].Priorities[a.Specialist]; serves {
			return &a.Span
		}
	}
	return oneOf(r, spans)
}

// around lists the starts of a type within 90 minutes of a time.
func (l *life) around(kind string, s *referee.Span) (starts []time.Time) {
	local := s.Start.In(l.Specialists[s.Specialist].Zone)
	for _, at := range l.Starts(kind, s.Specialist, local.Year(), local.Month(), local.Day()) {
		if at.Sub(s.Start).Abs() <= 90*time.Minute {
			starts = append(starts, at)
		}
	}
	return starts
}

// pickKind draws a type that patients book.
func (l *life) pickKind(r *rand.Rand) string {
	return oneOf(r, []string{"checkup", "checkup", "surgery", "class", "class", "cooling", "night", "scan"})
}

// patient draws a patient. One in four patients belongs to one of three families. The members of a family have
// different names and email addresses but share a phone number.
func patient(r *rand.Rand) map[string]any {
	n := r.IntN(1_000_000)
	if r.IntN(4) == 0 {
		n = r.IntN(9)
		return map[string]any{"name": fmt.Sprintf("Jo Kin %d", n), "email": fmt.Sprintf("jo%d@example.org", n),
			"phone": fmt.Sprintf("030 777 %d", n/3)}
	}
	return map[string]any{"name": fmt.Sprintf("Jo Doe %d", n), "email": fmt.Sprintf("jo%d@example.org", n),
		"phone": fmt.Sprintf("030 %07d", n)}
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// holdJSON and appointmentJSON are the parts of the server's responses that the referee needs.
type holdJSON struct {
	HoldID, AppointmentTypeID, SpecialistID string
	Place                                   string
	SlotStartDate, SlotEndDate              time.Time
	HoldExpiresAt                           time.Time
	Seat                                    int
	TTLMs                                   int64
}

type appointmentJSON struct {
	ID, AppointmentTypeID, SpecialistID, Place, Status, ManageURL string
	SlotStartDate, SlotEndDate, CreatedAt                         time.Time
	Seat                                                          int
	Overbook                                                      bool
	Version                                                       int64
}

func (h *holdJSON) of(client string) referee.Hold {
	return referee.Hold{Span: referee.Span{Type: h.AppointmentTypeID, Specialist: h.SpecialistID,
		Start: h.SlotStartDate.UTC(), End: h.SlotEndDate.UTC(), Seat: h.Seat},
		ID: h.HoldID, Client: client, Until: h.HoldExpiresAt}
}

func (a *appointmentJSON) of(client string) referee.Appointment {
	return referee.Appointment{Span: referee.Span{Type: a.AppointmentTypeID, Specialist: a.SpecialistID,
		Start: a.SlotStartDate.UTC(), End: a.SlotEndDate.UTC(), Seat: a.Seat},
		ID: a.ID, Client: client, Created: a.CreatedAt, Overbook: a.Overbook}
}

// hold requests a hold, or more holds than a client may have, and compares the responses with the expected ones.
func (l *life) hold(r *rand.Rand) error {
	client, n := oneOf(r, l.clients), 1
	if r.IntN(6) == 0 {
		n = 5
	}
	for range n {
		kind := l.pickKind(r)
		specialist, start := l.pick(r, kind)
		if r.IntN(3) == 0 {
			specialist = ""
		}
		if err := l.holdSlot(r, kind, specialist, client, start); err != nil {
			return err
		}
	}
	return nil
}

func (l *life) holdSlot(r *rand.Rand, kind, specialist, client string, start time.Time) error {
	body := map[string]any{"appointmentTypeId": kind, "slotStartDate": stamp(start), "clientId": client}
	if specialist != "" {
		body["specialistId"] = specialist
	}
	if r.IntN(4) == 0 {
		body["ttlSeconds"] = 60 + r.IntN(540)
	}
	place := l.somePlace()
	if place != "" {
		body["place"] = place
	}
	want, who := l.Expect(kind, specialist, place, client, start, time.Now())
	active, sure := l.Active(client, time.Now())
	cooling := l.Cooling(kind, client, time.Now())
	asked, house := time.Now(), l.house
	q := &request{method: "POST", path: "/v1/holds", body: body}
	a, err := l.do(q)
	if err != nil {
		return err
	}
	certain := time.Since(asked) < time.Second && l.house == house // otherwise the state may have changed
	switch {
	case a.status == 201:
		var h holdJSON
		if err := a.into(&h); err != nil {
			return err
		}
		got := h.of(client)
		switch {
		case certain && want == referee.Refused:
			return fmt.Errorf("a hold of %s succeeded, although it cannot be booked", got.Span)
		case certain && cooling == referee.Refused:
			return fmt.Errorf("%s got a hold of %s during the cooldown", client, got.Span)
		case certain && who != "" && h.SpecialistID != who:
			return fmt.Errorf("%s at %s was assigned to %s, but the next one is %s", kind, stamp(start), h.SpecialistID, who)
		}
		if err := l.Held(got, time.Now()); err != nil {
			return err
		}
		if at, within := l.PlaceOf(got.Span); certain && within && (h.Place != at || place != "" && at != place) {
			return fmt.Errorf("%s, where %s works at %q, was held at %q for a client that asked for %q", got.Span,
				h.SpecialistID, at, h.Place, place)
		}
		if n, sure := l.Active(client, time.Now()); sure && n > 3 {
			return fmt.Errorf("%s has %d holds, and the maximum is 3", client, n)
		}
		if r.IntN(8) == 0 && certain {
			return l.again(q, a)
		}
		return nil
	case a.code == "quota_exceeded" && (!sure || active >= 3), a.code == "cooldown_active" &&
		cooling != referee.Granted:
		return nil
	case certain && (a.code == "quota_exceeded" || a.code == "cooldown_active"):
		return fmt.Errorf("%s was refused a hold: %s, with %d holds and cooldown %v", client, a.raw, active, cooling)
	case certain && want == referee.Granted && cooling == referee.Granted && sure && active < 3:
		return fmt.Errorf("a hold of %s by %q at %s was refused although the time is free: %d %s", kind, specialist, stamp(start),
			a.status, a.raw)
	case a.code == "slot_held" || a.code == "slot_taken" || a.code == "not_bookable" || a.code == "cooldown_active" ||
		a.code == "quota_exceeded":
		return nil
	}
	return fmt.Errorf("a hold of %s at %s got %d %s", kind, stamp(start), a.status, a.raw)
}

// mine lists the holds that clients are certain to have, ordered by client and span.
func (l *life) mine() (holds []*referee.Hold) {
	for _, id := range sorted(l.Holds) {
		if live, certain := l.Holds[id].Live(time.Now()); live && certain && !l.Holds[id].IsProposal {
			holds = append(holds, l.Holds[id])
		}
	}
	// Ids differ from run to run; clients and spans do not.
	sortBy(holds, func(h *referee.Hold) string { return h.Client + h.Span.String() })
	return holds
}

func (l *life) bookHeld(r *rand.Rand) error {
	h := oneOf(r, l.mine())
	if h == nil {
		return l.hold(r)
	}
	return l.bookSlot(r, h.Type, h.Specialist, h.Client, h.ID, h.Start)
}

func (l *life) book(r *rand.Rand) error {
	kind := l.pickKind(r)
	specialist, start := l.pick(r, kind)
	if r.IntN(3) == 0 {
		specialist = ""
	}
	return l.bookSlot(r, kind, specialist, oneOf(r, l.clients), "", start)
}

// bookSlot books, with a hold or without one.
func (l *life) bookSlot(r *rand.Rand, kind, specialist, client, hold string, start time.Time) error {
	who := patient(r)
	body := map[string]any{"clientId": client, "patient": who}
	if hold != "" {
		body["holdId"] = hold
	}
	if hold == "" || r.IntN(2) == 0 {
		body["slotStartDate"] = stamp(start)
		if specialist != "" {
			body["specialistId"] = specialist
		}
	}
	place := ""
	if hold == "" {
		if place = l.somePlace(); place != "" {
			body["place"] = place
		}
	}
	answer := l.answers(kind, body)
	agrees(body)
	want, turn := l.Expect(kind, specialist, place, client, start, time.Now())
	if hold != "" { // the minimum notice does not matter, because the slot was held in time
		want, turn = referee.Either, ""
		// granted if the slot is still offered: its day may have been closed in the meantime
		if s := l.SpanOf(kind, specialist, start); l.Offered(s, time.Now()) && len(l.FreeSeats(s, "")) > 0 {
			want = referee.Granted
		}
	}
	active, sure := l.Active(client, time.Now())
	sure = sure && active < 3 || hold != ""
	cooling := l.Cooling(kind, client, time.Now())
	asked, house := time.Now(), l.house
	q := &request{method: "POST", path: "/v1/appointment-types/" + kind + "/book", body: body}
	a, err := l.do(q)
	if err != nil {
		return err
	}
	certain := time.Since(asked) < time.Second && l.house == house
	if kind == "surgery" && answer == "" {
		if a.status != 422 || !strings.Contains(a.raw, "answers") {
			return fmt.Errorf("%s without an answer to its question got %d %s", kind, a.status, a.raw)
		}
		return nil // the hold remains
	}
	if a.status != 201 {
		if h := l.Holds[hold]; h != nil {
			h.Doubtful = true // the server releases a hold that its client cannot book
		}
		switch {
		case a.code == "cooldown_active" && cooling != referee.Granted:
			return nil
		case certain && want == referee.Granted && cooling == referee.Granted && sure:
			return fmt.Errorf("%s of %q at %s (hold %q) was refused although it can be booked: %d %s", kind, specialist,
				stamp(start), hold, a.status, a.raw)
		case a.status == 409 || a.status == 410 || a.status == 429:
			return nil
		}
		return fmt.Errorf("booking %s at %s got %d %s", kind, stamp(start), a.status, a.raw)
	}
	said := struct{ Appointment appointmentJSON }{}
	if err := a.into(&said); err != nil {
		return err
	}
	b := said.Appointment
	switch {
	case certain && want == referee.Refused:
		return fmt.Errorf("%s was booked although it cannot be", b.of("").Span)
	case cooling == referee.Refused:
		return fmt.Errorf("%s booked %s during the cooldown", client, b.of("").Span)
	case certain && turn != "" && b.SpecialistID != turn:
		return fmt.Errorf("%s at %s was booked with %s, but the next one is %s", kind, stamp(start), b.SpecialistID, turn)
	case certain && place != "" && b.Place != place:
		return fmt.Errorf("%s was booked at %q for a client that asked for %q", b.of("").Span, b.Place, place)
	case !b.SlotStartDate.Equal(start):
		return fmt.Errorf("%s asked for %s, but the booking is at %s", kind, stamp(start), stamp(b.SlotStartDate))
	}
	if err := l.isAt(a); certain && err != nil {
		return err
	}
	if err := l.booked(&b, client); err != nil {
		return err
	}
	l.mailed[b.ID] = who["email"].(string)
	l.named(b.ID, who)
	l.texted(b.ID, who, asked)
	l.Appointments[b.ID].Answer = answer
	delete(l.Holds, hold)
	l.Displaced(b.of("").Span) // this may have released the client's other holds
	if r.IntN(6) == 0 {
		return l.again(q, a)
	}
	return nil
}

// answers adds the answer to a type's question to a booking, and returns it. One booking in eight has none.
func (l *life) answers(kind string, body map[string]any) string {
	if kind != "surgery" || l.requests%8 == 0 {
		return ""
	}
	answer := [...]string{"yes", "no"}[l.requests%2]
	body["answers"] = map[string]any{"allergy": answer}
	return answer
}

// isAt checks that an acknowledged appointment is at the place where its specialist works at that time.
func (l *life) isAt(a *reply) error {
	var said struct{ Appointment appointmentJSON }
	if err := a.into(&said); err != nil {
		return err
	}
	b := said.Appointment
	if at, within := l.PlaceOf(b.of("").Span); within && b.Place != at {
		return fmt.Errorf("%s is at %q, but the specialist works at %q then", b.of("").Span, b.Place, at)
	}
	return nil
}

// booked records an acknowledged appointment and its manage link.
func (l *life) booked(a *appointmentJSON, client string) error {
	if _, token, ok := strings.Cut(a.ManageURL, "#"); ok {
		l.manage[a.ID] = token
	}
	return l.Booked(a.of(client))
}

// named records the name of an appointment's patient.
func (l *life) named(id string, who map[string]any) { l.Appointments[id].Name = who["name"].(string) }

func (l *life) extend(r *rand.Rand) error {
	h := oneOf(r, l.mine())
	if h == nil {
		return nil
	}
	a, err := l.do(&request{method: "PATCH", path: "/v1/holds",
		body: map[string]any{"holdId": h.ID, "clientId": h.Client, "ttlSeconds": 30 + r.IntN(200)}})
	if err != nil {
		return err
	}
	var said struct{ HoldExpiresAt time.Time }
	if a.status != 200 {
		if known := l.Holds[h.ID]; known != nil {
			if live, certain := known.Live(time.Now()); live && certain {
				return fmt.Errorf("%s has %s left, but could not be extended: %d %s", h.Span, time.Until(h.Until),
					a.status, a.raw)
			}
		}
		return nil
	}
	if err := a.into(&said); err != nil {
		return err
	}
	if said.HoldExpiresAt.Before(h.Until.Add(-referee.About)) {
		return fmt.Errorf("extending %s shortened it by %s", h.Span, h.Until.Sub(said.HoldExpiresAt))
	}
	h.Until = said.HoldExpiresAt
	return nil
}

func (l *life) release(r *rand.Rand) error {
	h := oneOf(r, l.mine())
	if h == nil {
		return nil
	}
	thief := oneOf(r, l.clients)
	if thief != h.Client { // an id alone gives no access
		if a, err := l.do(&request{method: "POST", path: "/v1/holds/release",
			body: map[string]any{"holdId": h.ID, "clientId": thief}}); err != nil ||
			strings.Contains(a.raw, `"released":true`) {
			return fmt.Errorf("%s did not release the hold of %s: %v", thief, h.Client, err)
		}
	}
	a, err := l.do(&request{method: "POST", path: "/v1/holds/release",
		body: map[string]any{"holdId": h.ID, "clientId": h.Client}})
	if err == nil && a.status != 200 {
		err = fmt.Errorf("a release got %d %s", a.status, a.raw)
	}
	delete(l.Holds, h.ID)
	return err
}

// race makes several clients request the same slot concurrently. The number of bookings must not exceed the number of
// free seats.
func (l *life) race(r *rand.Rand) error {
	kind := l.pickKind(r)
	specialist, start := l.pick(r, kind)
	free := l.FreeSeats(l.SpanOf(kind, specialist, start), "")
	if l.faults.isArmed() {
		return nil // the scheduler would decide which reply the power cut affects
	}
	requests, answers := make([]*request, 6), make([]*reply, 6)
	for n := range requests {
		client := fmt.Sprintf("client-of-the-race-%d-%d", l.requests, n)
		body := map[string]any{"clientId": client, "slotStartDate": stamp(start), "specialistId": specialist,
			"patient": patient(r)}
		if kind == "surgery" {
			body["answers"] = map[string]any{"allergy": "no"}
		}
		agrees(body)
		requests[n] = &request{method: "POST", path: "/v1/appointment-types/" + kind + "/book", body: body,
			key: "race-" + client}
	}
	asked := time.Now()
	var all sync.WaitGroup
	for n := range requests {
		all.Go(func() {
			if a, err := l.asks(requests[n]); err == nil && a.status < 500 {
				answers[n] = a
			}
		})
	}
	all.Wait()
	won := 0
	for n, a := range answers {
		var err error
		if a == nil { // lost, or the disk was full
			if a, err = l.do(requests[n]); err != nil {
				return err
			}
		}
		if a.status != 201 {
			continue
		}
		won++
		said := struct{ Appointment appointmentJSON }{}
		if err := a.into(&said); err != nil {
			return err
		}
		body := requests[n].body.(map[string]any)
		if err := l.booked(&said.Appointment, body["clientId"].(string)); err != nil {
			return err
		}
		l.named(said.Appointment.ID, body["patient"].(map[string]any))
		l.texted(said.Appointment.ID, body["patient"].(map[string]any), asked)
		l.Displaced(said.Appointment.of("").Span)
	}
	l.requests++
	if won > len(free) {
		return fmt.Errorf("%d clients got the %d seats of %s", won, len(free), l.SpanOf(kind, specialist, start))
	}
	return nil
}
