package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"holdfast/web/simulation/referee"
)

func sortBy[T any](list []T, key func(T) string) {
	slices.SortFunc(list, func(a, b T) int {
		if x, y := key(a), key(b); x != y {
			if x < y {
				return -1
			}
			return 1
		}
		return 0
	})
}

// standing draws a confirmed, future appointment.
func (l *life) standing(r *rand.Rand, agents bool) *referee.Appointment {
	var list []*referee.Appointment
	for _, a := range l.Appointments {
		if !a.Cancelled && a.Start.After(time.Now().Add(time.Minute)) && (agents || a.Type != "cleaning") &&
			a.Type != "scarce" && !l.inVisit[a.ID] {
			list = append(list, a)
		}
	}
	sortBy(list, func(a *referee.Appointment) string {
		return a.Span.String() + fmt.Sprint(a.Overbook) + a.Client + a.ID
	})
	return oneOf(r, list)
}

// change sends a change to an appointment, through its patient's link or from the desk.
func (l *life) change(r *rand.Rand, a *referee.Appointment, what string,
	body map[string]any) (*request, *reply, error) {
	q := &request{method: "POST", path: "/v1/appointments/" + a.ID + "/" + what, body: body, admin: true}
	if token := l.manage[a.ID]; token != "" && r.IntN(2) == 0 {
		q.path, q.admin, q.manage = "/v1/appointments/managed/"+what, false, token
	}
	reply, err := l.do(q)
	return q, reply, err
}

// took records an acknowledged change.
func (l *life) took(a *reply, known *referee.Appointment) error {
	said := struct{ Appointment appointmentJSON }{}
	if err := a.into(&said); err != nil {
		return err
	}
	b := said.Appointment
	if b.ID != known.ID {
		return fmt.Errorf("%s was changed, but the answer was %s", known.ID, b.ID)
	}
	if b.Status == "cancelled" {
		return l.Cancelled(b.ID)
	}
	l.Displaced(b.of("").Span)
	return l.booked(&b, known.Client)
}

func (l *life) cancel(r *rand.Rand) error {
	a := l.standing(r, true)
	if a == nil {
		return nil
	}
	q, reply, err := l.change(r, a, "cancel", map[string]any{})
	if err != nil {
		return err
	}
	if reply.status != 200 {
		return fmt.Errorf("cancelling %s got %d %s", a, reply.status, reply.raw)
	}
	if err := l.took(reply, a); err != nil {
		return err
	}
	if a.Type == "cooling" && a.Client != "" { // a cancelled appointment starts no cooldown
		specialist, start := l.pick(r, "cooling")
		return l.holdSlot(r, "cooling", specialist, a.Client, start)
	}
	if r.IntN(4) > 0 {
		return nil
	}
	return l.again(q, reply)
}

func (l *life) move(r *rand.Rand) error {
	a := l.standing(r, true)
	if a == nil {
		return nil
	}
	specialist, start := l.pick(r, a.Type)
	to := l.SpanOf(a.Type, specialist, start)
	free, offered := l.FreeSeats(to, a.ID), l.Offered(to, time.Now())
	want, _ := l.Expect(a.Type, specialist, "", "", start, time.Now())
	asked, house := time.Now(), l.house
	q, reply, err := l.change(r, a, "reschedule", map[string]any{"slotStartDate": stamp(start),
		"specialistId": specialist})
	if err != nil {
		return err
	}
	certain := time.Since(asked) < time.Second && l.house == house
	switch {
	case reply.status == 200 && certain && !a.Overbook && (len(free) == 0 || !offered):
		return fmt.Errorf("%s was moved to %s, which is not free", a, to)
	case reply.status == 200:
		before, link := a.Span, l.manage[a.ID]
		if err := l.took(reply, a); err != nil {
			return err
		}
		if err := l.isAt(reply); certain && err != nil {
			return err
		}
		if link != "" && l.Appointments[a.ID].Span != before && r.IntN(2) == 0 {
			if old, err := l.do(&request{method: "GET", path: "/v1/appointments/managed", manage: link}); err != nil ||
				old.status != 401 {
				return fmt.Errorf("%s was moved, but the earlier link opens it: %v %+v", a, err, old)
			}
		}
		if r.IntN(4) > 0 {
			return nil
		}
		return l.again(q, reply)
	case reply.status != 409:
		return fmt.Errorf("moving %s to %s got %d %s", a, to, reply.status, reply.raw)
	case certain && want == referee.Granted && !a.Start.Equal(start):
		return fmt.Errorf("moving %s to %s was refused, but the time is free: %s", a, to, reply.raw)
	}
	return nil
}

// deskBooks books a time at the desk, even if a client holds it.
func (l *life) deskBooks(r *rand.Rand) error {
	kind := l.pickKind(r)
	specialist, start := l.pick(r, kind)
	if r.IntN(2) == 0 {
		kind, specialist, start = l.squeezed(r, kind, specialist, start)
	}
	span := l.SpanOf(kind, specialist, start)
	free, offered := l.FreeSeats(span, ""), l.Offered(span, time.Now())
	who := patient(r)
	body := map[string]any{"appointmentTypeId": kind, "slotStartDate": stamp(start), "specialistId": specialist,
		"patient": who}
	agrees(body)
	if r.IntN(4) == 0 {
		body["ignoreHours"] = true
		offered = start.After(time.Now())
	}
	asked, house := time.Now(), l.house
	q := &request{method: "POST", path: "/v1/appointments", body: body, admin: true}
	a, err := l.do(q)
	if err != nil {
		return err
	}
	certain := time.Since(asked) < time.Second && l.house == house
	said := struct{ Appointment appointmentJSON }{}
	switch {
	case a.status == 201 && certain && len(free) == 0:
		return fmt.Errorf("the desk booked %s, which is already booked", span)
	case a.status == 201:
		if err := a.into(&said); err != nil {
			return err
		}
		l.Displaced(said.Appointment.of("").Span)
		if err := l.isAt(a); certain && err != nil {
			return err
		}
		err := l.booked(&said.Appointment, "")
		l.texted(said.Appointment.ID, who, asked)
		if l.named(said.Appointment.ID, who); err != nil || r.IntN(4) > 0 {
			return err
		}
		return l.again(q, a)
	case certain && len(free) > 0 && offered:
		return fmt.Errorf("the desk could book %s, but got %d %s", span, a.status, a.raw)
	case a.status != 409:
		return fmt.Errorf("the desk's booking of %s: %d %s", span, a.status, a.raw)
	}
	return nil
}

// squeezed searches for a surgery that conflicts with a hold and also with the buffer of an appointment. The desk may
// book over the hold but not over the buffer, and the failed attempt must not release the hold. If there is no such
// surgery, squeezed returns its arguments.
func (l *life) squeezed(r *rand.Rand, kind, specialist string, start time.Time) (string, string, time.Time) {
	for _, h := range l.mine() {
		if _, serves := l.Types["surgery"].Priorities[h.Specialist]; !serves {
			continue
		}
		for _, at := range l.around("surgery", &h.Span) {
			s := l.SpanOf("surgery", h.Specialist, at)
			if l.Collide(s, h.Span) && l.Offered(s, time.Now()) && len(l.FreeSeats(s, "")) == 0 {
				return "surgery", h.Specialist, at
			}
		}
	}
	return kind, specialist, start
}

// overbook adds an appointment at a time that is already booked.
func (l *life) overbook(r *rand.Rand) error {
	a := l.standing(r, false)
	if a == nil || a.Type == "class" || a.Type == "scan" { // an overbooked appointment takes no room
		return nil
	}
	who := patient(r)
	body := map[string]any{"appointmentTypeId": a.Type, "slotStartDate": stamp(a.Start), "specialistId": a.Specialist,
		"patient":  who,
		"overbook": map[string]any{"reason": "it hurts"}}
	agrees(body)
	asked := time.Now()
	reply, err := l.do(&request{method: "POST", path: "/v1/appointments", body: body, admin: true})
	if err != nil {
		return err
	}
	if reply.status != 201 {
		return fmt.Errorf("overbooking %s got %d %s", a, reply.status, reply.raw)
	}
	said := struct{ Appointment appointmentJSON }{}
	if err := reply.into(&said); err != nil {
		return err
	}
	l.Displaced(said.Appointment.of("").Span)
	err = l.booked(&said.Appointment, "")
	l.named(said.Appointment.ID, who)
	l.texted(said.Appointment.ID, who, asked)
	return err
}

// undo cancels or moves an appointment at the desk and undoes the change, in time or too late.
func (l *life) undo(r *rand.Rand) error {
	a := l.standing(r, true)
	for range r.IntN(4) { // prefer patients who get text messages
		if a != nil && l.Number(a.ID) == "" {
			a = l.standing(r, true)
		}
	}
	if a == nil {
		return nil
	}
	if l.Number(a.ID) != "" && r.IntN(4) > 0 {
		if err := l.moveWithLateText(r, a); err != nil {
			return err
		}
		a = l.Appointments[a.ID]
	}
	before, link := *a, l.manage[a.ID]
	body, what := map[string]any{"undoable": true}, "cancel"
	if r.IntN(2) == 0 {
		specialist, start := l.pick(r, a.Type)
		what, body["slotStartDate"], body["specialistId"] = "reschedule", stamp(start), specialist
	}
	begun := time.Now() // if the first response was lost, the change happened before it was acknowledged
	reply, err := l.atDesk(&request{method: "POST", path: "/v1/appointments/" + a.ID + "/" + what, body: body})
	if err != nil || reply.status == 409 {
		return err
	}
	if reply.status != 200 {
		return fmt.Errorf("undo of %s of %s got %d %s", what, a, reply.status, reply.raw)
	}
	if err := l.took(reply, a); err != nil {
		return err
	}
	acknowledged := time.Now()
	if r.IntN(2) == 0 { // another client takes the time first
		if err := l.holdSlot(r, before.Type, before.Specialist, oneOf(r, l.clients), before.Start); err != nil {
			return err
		}
	}
	time.Sleep(time.Duration(r.IntN(20)) * time.Second)
	late := time.Since(acknowledged)
	can := what == "cancel" && time.Since(begun) < 9*time.Second && !before.Overbook && before.Type != "class" &&
		before.Type != "cleaning" && len(l.FreeSeats(before.Span, "")) > 0
	held, certain := l.HeldByOther(before.Span, "", time.Now())
	asked, house := time.Now(), l.house
	if reply, err = l.atDesk(&request{method: "POST", path: "/v1/appointments/" + a.ID + "/undo"}); err != nil {
		return err
	}
	if reply.status == 409 && can && !held && certain && time.Since(asked) < time.Second && l.house == house {
		return fmt.Errorf("%s of %s could be undone after %s, but was refused: %s", what, before, late, reply.raw)
	}
	switch {
	case reply.status == 200 && late > lastUndo:
		return fmt.Errorf("%s was undone %s later, which is too late", what, late)
	case reply.status == 200:
		said := struct{ Appointment appointmentJSON }{}
		if err := reply.into(&said); err != nil {
			return err
		}
		if held, certain := l.HeldByOther(said.Appointment.of("").Span, "", time.Now()); held && certain &&
			!before.Overbook {
			return fmt.Errorf("%s was undone, although another client holds %s", what, said.Appointment.of("").Span)
		}
		if err := l.took(reply, l.Appointments[a.ID]); err != nil {
			return err
		}
		l.manage[a.ID] = link // the link works again
		now := l.Appointments[a.ID]
		if now.Span != before.Span && before.Type != "class" {
			return fmt.Errorf("%s was undone, but is now %s", before, now)
		}
	case reply.status != 409:
		return fmt.Errorf("undo of %s got %d %s", what, reply.status, reply.raw)
	}
	return nil
}

// series books appointments on four days in a row, all or none. Then it cancels or moves the later ones, and undoes the
// change.
func (l *life) series(r *rand.Rand) error {
	specialist, start := l.pick(r, "surgery")
	zone := l.Specialists[specialist].Zone
	local := start.In(zone)
	var times []any
	all := true
	for day := range 4 {
		at := referee.Wall(zone, local.Year(), local.Month(), local.Day()+day, local.Hour()*60+local.Minute()).UTC()
		times = append(times, map[string]any{"slotStartDate": stamp(at), "specialistId": specialist})
		s := l.SpanOf("surgery", specialist, at)
		all = all && l.Offered(s, time.Now()) && len(l.FreeSeats(s, "")) > 0
	}
	who := patient(r)
	body := map[string]any{"appointmentTypeId": "surgery", "times": times, "patient": who, "displace": true}
	agrees(body)
	q := &request{method: "POST", path: "/v1/series", body: body, admin: true}
	asked := time.Now()
	a, err := l.do(q)
	if err != nil {
		return err
	}
	if a.status != 201 {
		if all {
			return fmt.Errorf("a series whose times are all free got %d %s", a.status, a.raw)
		}
		return nil
	}
	var said struct{ Appointments []appointmentJSON }
	if err := a.into(&said); err != nil {
		return err
	}
	if len(said.Appointments) != len(times) {
		return fmt.Errorf("a series of %d appointments was booked with %d: %s", len(times), len(said.Appointments), a.raw)
	}
	if err := l.tookAll(said.Appointments); err != nil {
		return err
	}
	var ids []string
	for i := range said.Appointments {
		ids = append(ids, said.Appointments[i].ID)
		l.named(ids[i], who)
		l.texted(ids[i], who, asked)
	}
	l.ReviewTogether(ids, time.Now())
	if err := l.again(q, a); err != nil || r.IntN(2) == 0 {
		return err
	}
	var before []referee.Appointment
	for i := r.IntN(len(said.Appointments)); i < len(said.Appointments); i++ {
		before = append(before, *l.Appointments[said.Appointments[i].ID])
	}
	path, what := "/v1/appointments/"+before[0].ID+"/series/", "cancel"
	body = map[string]any{"undoable": true}
	if r.IntN(2) == 0 {
		what, body["slotStartDate"], body["displace"] = "reschedule", stamp(before[0].Start.Add(time.Hour)), true
	}
	time.Sleep(time.Second) // changes within one millisecond count as one change
	begun := time.Now()
	if a, err = l.atDesk(&request{method: "POST", path: path + what, body: body}); err != nil || what == "reschedule" &&
		a.status == 409 {
		return err
	}
	return l.changedTogether(r, "series", what, a, begun, before, path+"undo")
}
