package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"holdfast/web/simulation/referee"
)

// lastUndo is how long after a change an undo may still succeed. It includes the second or two that the request may
// take.
const lastUndo = 12 * time.Second

// visit books a visit for several people, one after the other, or changes a visit. The server must book or change
// either all of the appointments or none, and undo a change either as a whole or not at all.
func (l *life) visit(r *rand.Rand) error {
	if ids := oneOf(r, l.visits); len(ids) > 0 && r.IntN(2) == 0 {
		return l.changeVisit(r, ids)
	}
	return l.bookVisit(r)
}

// rowOf returns the times of consecutive appointments, separated by the larger of the two adjacent buffers.
func (l *life) rowOf(kinds []string, specialist string, start time.Time) (spans []referee.Span) {
	for i, kind := range kinds {
		if i > 0 {
			before := l.Types[kinds[i-1]]
			start = start.Add(time.Duration(before.Minutes+max(before.After, l.Types[kind].Before)) * time.Minute)
		}
		spans = append(spans, l.SpanOf(kind, specialist, start))
	}
	return spans
}

// comesTexted reports whether a person of a visit agrees to text messages: all people of every second visit, and only
// the first or only the others of some visits.
func comesTexted(visit, person int) bool {
	return visit%2 == 0 || visit%4 == 1 && person == 0 || visit%8 == 3 && person > 0
}

func (l *life) bookVisit(r *rand.Rand) error {
	kinds, people := make([]string, 2+r.IntN(2)), []any{}
	n := r.IntN(1_000_000)
	for i := range kinds {
		kinds[i] = oneOf(r, []string{"checkup", "surgery"})
		people = append(people, map[string]any{"appointmentTypeId": kinds[i], "sms": comesTexted(n, i),
			"name": fmt.Sprintf("Jo Doe %d the %d.", n, i+1)})
	}
	specialist, start := l.pick(r, "surgery")
	spans := l.rowOf(kinds, specialist, start)
	free := start.After(time.Now())
	for _, s := range spans {
		free = free && len(l.FreeSeats(s, "")) > 0
	}
	email, phone := fmt.Sprintf("jo%d@example.org", n), fmt.Sprintf("030 %07d", n)
	asked, house := time.Now(), l.house
	q := &request{method: "POST", path: "/v1/visits", admin: true, body: map[string]any{
		"slotStartDate": stamp(start), "specialistId": specialist, "people": people, "displace": true,
		"ignoreHours": true, "contact": map[string]any{"email": email, "phone": phone},
	}}
	a, err := l.do(q)
	if err != nil {
		return err
	}
	certain := time.Since(asked) < time.Second && l.house == house
	switch {
	case a.status == 409 && certain && free:
		return fmt.Errorf("a visit of %v at %s was refused although the time is free: %s", kinds, stamp(start), a.raw)
	case a.status == 409:
		return nil
	case a.status != 201:
		return fmt.Errorf("a visit of %v at %s got %d %s", kinds, stamp(start), a.status, a.raw)
	}
	var said struct{ Appointments []appointmentJSON }
	if err := a.into(&said); err != nil {
		return err
	}
	if len(said.Appointments) != len(kinds) {
		return fmt.Errorf("a visit of %d people has %d appointments: %s", len(kinds), len(said.Appointments), a.raw)
	}
	var ids []string
	for i := range said.Appointments {
		if got := said.Appointments[i].of("").Span; got != spans[i] {
			return fmt.Errorf("a visit requested %s, but booked %s", spans[i], got)
		}
		ids = append(ids, said.Appointments[i].ID)
		l.inVisit[ids[i]] = true
	}
	if err := l.tookAll(said.Appointments); err != nil {
		return err
	}
	for i, id := range ids {
		l.named(id, people[i].(map[string]any))
		if spans[len(spans)-1].End.After(time.Now().Add(10 * time.Minute)) { // no email confirms what is over
			l.mailed[id] = email
		}
		if comesTexted(n, i) {
			l.phones[id] = phone
			l.Agrees(id, international(phone), asked, time.Now())
		}
	}
	l.ReviewTogether(ids, time.Now())
	l.Visit(ids)
	l.visits = append(l.visits, ids)
	if r.IntN(4) > 0 {
		return nil
	}
	return l.again(q, a)
}

// changeVisit cancels the appointment of one person in a visit, or cancels or moves the whole visit and undoes the
// change.
func (l *life) changeVisit(r *rand.Rand, ids []string) error {
	var before []referee.Appointment
	for _, id := range ids {
		if a := l.Appointments[id]; !a.Cancelled {
			before = append(before, *a)
		}
	}
	if len(before) == 0 || before[0].Start.Before(time.Now().Add(time.Minute)) {
		return nil
	}
	named := oneOf(r, before)
	path := "/v1/appointments/" + named.ID
	if len(before) == len(ids) && r.IntN(5) == 0 {
		a, err := l.do(&request{method: "POST", path: path + "/cancel", admin: true, body: map[string]any{}})
		if err != nil || a.status != 200 {
			return fmt.Errorf("cancelling one person of a visit, %s: %v %+v", named, err, a)
		}
		return l.took(a, &named)
	}
	what, body := "cancel", map[string]any{"undoable": true}
	if r.IntN(2) == 0 {
		specialist, start := l.pick(r, "surgery")
		what, body = "reschedule", map[string]any{"undoable": true, "slotStartDate": stamp(start),
			"specialistId": specialist, "displace": true, "ignoreHours": true}
	}
	begun := time.Now()
	a, err := l.atDesk(&request{method: "POST", path: path + "/visit/" + what, body: body})
	if err != nil || what == "reschedule" && a.status == 409 {
		return err
	}
	return l.changedTogether(r, "visit", what, a, begun, before, path+"/undo")
}

// changedTogether judges a change to several appointments, and the undo that may follow. It lets the referee count the
// change once its outcome is certain.
func (l *life) changedTogether(r *rand.Rand, of, what string, a *reply, begun time.Time, before []referee.Appointment,
	undo string) error {
	err := l.changedAll(r, of, what, a, begun, before, undo)
	var ids []string
	for i := range before {
		ids = append(ids, before[i].ID)
	}
	l.ReviewTogether(ids, time.Now())
	return err
}

// changedAll judges the response to a change to several appointments that was requested at begun: it must contain all
// of them. Then it undoes the change after a pause in which another client may have taken a time.
func (l *life) changedAll(r *rand.Rand, of, what string, a *reply, begun time.Time, before []referee.Appointment,
	undo string) error {
	acknowledged := time.Now()
	var said struct{ Appointments []appointmentJSON }
	if err := a.into(&said); err != nil || a.status != 200 {
		return fmt.Errorf("%s of a %s got %d %s", what, of, a.status, a.raw)
	}
	if len(said.Appointments) != len(before) {
		return fmt.Errorf("%s of a %s of %d changed %d: %s", what, of, len(before), len(said.Appointments), a.raw)
	}
	links := map[string]string{}
	for i := range before {
		links[before[i].ID] = l.manage[before[i].ID]
	}
	if err := l.tookAll(said.Appointments); err != nil || r.IntN(4) == 0 {
		return err
	}
	if one := oneOf(r, before); r.IntN(2) == 0 {
		if err := l.holdSlot(r, one.Type, one.Specialist, oneOf(r, l.clients), one.Start); err != nil {
			return err
		}
	}
	time.Sleep(time.Duration(r.IntN(18)) * time.Second)
	if of == "series" && len(before) > 1 && r.IntN(3) == 0 {
		if a, err := l.atDesk(&request{method: "POST", path: "/v1/appointments/" + oneOf(r, before).ID +
			"/undo"}); err != nil || a.status != 409 {
			return fmt.Errorf("%s of a series of %d was undone for one of them: %v %+v", what, len(before), err, a)
		}
	}
	can := what == "cancel" && time.Since(begun) < 9*time.Second
	for i := range before {
		held, certain := l.HeldByOther(before[i].Span, "", time.Now())
		can = can && !held && certain && len(l.FreeSeats(before[i].Span, "")) > 0
	}
	asked, house := time.Now(), l.house
	late := asked.Sub(acknowledged)
	a, err := l.atDesk(&request{method: "POST", path: undo})
	if err != nil || a.status == 409 && !(can && time.Since(asked) < time.Second && l.house == house) {
		return err // nothing was restored, as the check of the rows confirms
	}
	switch {
	case a.status == 409:
		return fmt.Errorf("%s of a %s could be undone after %s, but was refused: %s", what, of, late, a.raw)
	case a.status != 200:
		return fmt.Errorf("undo of %s of a %s got %d %s", what, of, a.status, a.raw)
	case late > lastUndo:
		return fmt.Errorf("%s of a %s was undone %s later, which is too late", what, of, late)
	}
	for i := range before {
		if held, certain := l.HeldByOther(before[i].Span, "", time.Now()); held && certain {
			return fmt.Errorf("%s of a %s was undone, although another client holds %s", what, of, before[i].Span)
		}
		if !l.Appointments[before[i].ID].Cancelled {
			if err := l.Cancelled(before[i].ID); err != nil {
				return err
			}
		}
	}
	for i := range before {
		l.Displaced(before[i].Span)
		if err := l.Booked(before[i]); err != nil {
			return err
		}
		l.manage[before[i].ID] = links[before[i].ID] // the link works again
	}
	return nil
}

// tookAll records several appointments that were changed in one step: each may now have the earlier time of another.
func (l *life) tookAll(list []appointmentJSON) error {
	for i := range list {
		if known := l.Appointments[list[i].ID]; known != nil && !known.Cancelled {
			if err := l.Cancelled(list[i].ID); err != nil {
				return err
			}
		}
	}
	for i := range list {
		if list[i].Status == "cancelled" {
			continue
		}
		l.Displaced(list[i].of("").Span)
		if err := l.booked(&list[i], ""); err != nil {
			return err
		}
	}
	return nil
}
