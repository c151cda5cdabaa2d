package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"holdfast/web/simulation/referee"
)

// erase erases one person, but not the other people with the same phone number.
func (l *life) erase(r *rand.Rand) error {
	var list []*referee.Appointment
	for _, a := range l.Appointments {
		if strings.HasPrefix(a.Name, "Jo Kin") && !a.Erased {
			list = append(list, a)
		}
	}
	sortBy(list, func(a *referee.Appointment) string { return a.Name + a.Span.String() + a.ID })
	a := oneOf(r, list)
	if a == nil {
		return nil
	}
	reply, err := l.do(&request{method: "POST", path: "/v1/people/erase", admin: true,
		body: map[string]any{"appointmentId": a.ID}})
	if err != nil {
		return err
	}
	if reply.status != 200 {
		return fmt.Errorf("erasing the person of %s got %d %s", a, reply.status, reply.raw)
	}
	name := a.Name
	for id, other := range l.Appointments {
		if p := l.Proposals[id]; p != nil && other.Name == "" { // may belong to the same person
			p.Doubt()
		}
		if other.Name == name {
			other.Erased, other.Client = true, "" // the client that booked it is erased too, and has no cooldown
			l.EndProposal(id, time.Now())
			delete(l.mailed, id) // an unsent email is no longer sent
		}
	}
	return l.checkRows(true)
}

// changeAtOnce moves, cancels and marks the arrival of one appointment concurrently, so that the server commits several
// changes together. The server decides their order. Afterwards, its memory must agree with the database.
func (l *life) changeAtOnce(r *rand.Rand) error {
	a := l.standing(r, false)
	if a == nil || a.Overbook || l.faults.isArmed() {
		return nil
	}
	requests := make([]*request, 9)
	for n := range requests {
		what, body := "attendance", map[string]any{"attendance": oneOf(r, []string{"expected", "arrived"})}
		switch {
		case n%3 == 1:
			specialist, start := l.pick(r, a.Type)
			what, body = "reschedule", map[string]any{"slotStartDate": stamp(start), "specialistId": specialist,
				"ignoreHours": true, "displace": true}
		case n == 5 && r.IntN(4) > 0:
			what, body = "cancel", map[string]any{}
		}
		requests[n] = &request{method: "POST", path: "/v1/appointments/" + a.ID + "/" + what, admin: true, body: body}
	}
	atOnce(len(requests), func(n int) (*reply, error) { return l.asks(requests[n]) })
	if l.faults.isOff() {
		return nil
	}
	// The database also shows the effect of a request whose reply was lost.
	var kind, specialist, status string
	var start, end int64
	var seat int
	err := l.rows.QueryRow(`SELECT appointment_type_id, specialist_id, slot_start, slot_end, seat, status FROM appointments WHERE id = ?`, a.ID).
		Scan(&kind, &specialist, &start, &end, &seat, &status)
	if err != nil {
		return err
	}
	moved := *a
	moved.Span = referee.Span{Type: kind, Specialist: specialist, Start: time.UnixMilli(start).UTC(),
		End: time.UnixMilli(end).UTC(), Seat: seat}
	err = l.Booked(moved)
	if l.Displaced(moved.Span); status == "cancelled" && err == nil {
		err = l.Cancelled(a.ID)
	}
	delete(l.manage, a.ID) // the link belongs to the earlier time
	l.Loosen(a.ID)
	for _, h := range l.Holds { // each of the moves may have released holds
		h.Doubtful = true
	}
	if err != nil {
		return err
	}
	found, err := l.engine.Differences(context.Background())
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("memory differs from the database: %v", found)
	}
	return err
}

// giveUp tries to book a held time while the disk is full, and does not retry. The hold must stay valid, and expire on
// time.
func (l *life) giveUp(r *rand.Rand) error {
	h := oneOf(r, l.mine())
	if h == nil || l.faults.isArmed() {
		return nil
	}
	if left := time.Until(h.Until); left > 4*time.Second {
		time.Sleep(left - 4*time.Second)
	}
	if live, certain := h.Live(time.Now()); !live || !certain || l.faults.isOff() || l.wire.loses() {
		return nil
	}
	l.faults.setFull(1)
	body := map[string]any{"clientId": h.Client, "patient": patient(r), "holdId": h.ID}
	if h.Type == "surgery" {
		body["answers"] = map[string]any{"allergy": "no"}
	}
	a, err := l.asks(&request{method: "POST", path: "/v1/appointment-types/" + h.Type + "/book", body: body})
	l.faults.setFull(0)
	if err != nil || a.status < 500 {
		if err == nil && a.status == 201 { // another write failed on the full disk
			said := struct{ Appointment appointmentJSON }{}
			if err := a.into(&said); err != nil {
				return err
			}
			delete(l.Holds, h.ID)
			return l.booked(&said.Appointment, h.Client)
		}
		h.Doubtful = err == nil // the booking was refused, and the server releases a hold that its client cannot book
		return nil
	}
	if err := l.check(); err != nil { // the hold exists
		return err
	}
	time.Sleep(time.Until(h.Until) + time.Second)
	return l.check() // the hold has expired
}

// comeBack makes a client request a hold 30 s before its cooldown ends, and again 10 s after it has ended.
func (l *life) comeBack(r *rand.Rand) error {
	var last *referee.Appointment
	for _, a := range l.Appointments {
		if a.Type == "cooling" && a.Client != "" && !a.Cancelled && time.Since(a.Created) < 24*time.Hour-time.Minute &&
			(last == nil || a.Created.Before(last.Created)) {
			last = a
		}
	}
	if last == nil {
		return nil
	}
	wait := time.Until(last.Created.Add(24*time.Hour - 30*time.Second))
	if wait > 6*time.Hour {
		return nil
	}
	time.Sleep(wait)
	for range 2 {
		if l.faults.isOff() {
			return nil
		}
		specialist, start := l.pick(r, "cooling")
		if err := l.holdSlot(r, "cooling", specialist, last.Client, start); err != nil {
			return err
		}
		time.Sleep(40 * time.Second)
	}
	return nil
}
