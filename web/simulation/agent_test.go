package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// wish is an agent's booking that the server has acknowledged as booked or received.
type wish struct {
	patient string
	start   time.Time
	id      string // of the appointment
}

// decide returns the outcome of one call to the practice-management system.
func decide(r *rand.Rand, c upstreamtest.Call) upstreamtest.Step {
	unknown := []upstreamtest.Step{
		{Outcome: upstreamtest.LostApplied}, {Outcome: upstreamtest.LostNotApplied},
		{Outcome: upstreamtest.Late, Delay: time.Duration(r.IntN(80)) * time.Second},
		{Outcome: upstreamtest.Slow, Delay: time.Duration(r.IntN(60)) * time.Second},
		{Outcome: upstreamtest.Half, Applied: true}, {Outcome: upstreamtest.Garbage, Applied: true},
		{Outcome: upstreamtest.ServerError, Applied: true}, {Outcome: upstreamtest.ServerError},
	}
	switch chance := r.IntN(100); {
	case c.Procedure == "SetAppointment" && chance < 20:
		return unknown[r.IntN(len(unknown))]
	case c.Procedure == "SetAppointment" && chance < 26:
		return upstreamtest.Step{Outcome: upstreamtest.RateLimited}
	case c.Procedure == "SetAppointment" && chance < 30:
		return upstreamtest.Step{Outcome: upstreamtest.OKNoGUID}
	}
	return upstreamtest.Step{}
}

// agent simulates a phone call: the agent identifies the patient, lists the slots and books one.
func (l *life) agent(r *rand.Rand) error {
	n := r.IntN(100_000)
	a, err := l.do(&request{method: "POST", path: "/v1/agent/patients", admin: true, body: map[string]any{
		"firstName": "Jo", "lastName": fmt.Sprintf("Doe %d", n), "birthDate": "1990-01-31",
		"phone": fmt.Sprintf("030 %07d", n), "sessionId": fmt.Sprintf("call-%d", n),
	}})
	if err != nil || a.status != 200 { // the practice-management system is unreachable
		return err
	}
	var who struct{ PatientGUID, BookingAuthToken string }
	if err := a.into(&who); err != nil {
		return err
	}
	if a, err = l.do(&request{method: "POST", path: "/v1/agent/slots", admin: true,
		body: map[string]any{"appointmentTypeGUID": typeGUID, "days": 3, "count": 10}}); err != nil || a.status != 200 {
		return err
	}
	var free struct {
		Slots []struct {
			SlotStartDate time.Time
			BookingToken  string
		}
	}
	if err := a.into(&free); err != nil {
		return err
	}
	for _, s := range free.Slots {
		if seats := l.FreeSeats(l.SpanOf("cleaning", "dora", s.SlotStartDate), ""); len(seats) == 0 {
			return fmt.Errorf("an agent was offered %s, which is booked", stamp(s.SlotStartDate))
		}
	}
	if len(free.Slots) == 0 {
		return nil
	}
	slot := free.Slots[r.IntN(len(free.Slots))]
	q := &request{method: "POST", path: "/v1/agent/appointments", admin: true, body: map[string]any{
		"patientGUID": who.PatientGUID, "bookingAuthToken": who.BookingAuthToken, "bookingToken": slot.BookingToken,
		"childName": fmt.Sprintf("Child %d", n),
	}}
	if a, err = l.do(q); err != nil {
		return err
	}
	if a.status != 200 && a.status != 202 {
		if a.status == 409 || a.status == 401 {
			return nil
		}
		return fmt.Errorf("an agent's booking got %d %s", a.status, a.raw)
	}
	return l.fenced(strings.ToLower(who.PatientGUID), slot.SlotStartDate)
}

// fenced finds the appointment of an agent's acknowledged booking, and records it.
func (l *life) fenced(patient string, start time.Time) error {
	list, _, err := l.store.Appointments(context.Background(),
		store.AppointmentFilter{From: start, To: start.Add(time.Minute), SpecialistID: "dora", Status: store.Confirmed})
	if err != nil {
		return err
	}
	for _, a := range list {
		if strings.EqualFold(a.UpstreamPatientID, patient) {
			l.wishes = append(l.wishes, &wish{patient, start, a.ID})
			said := appointmentJSON{ID: a.ID, AppointmentTypeID: a.AppointmentTypeID, SpecialistID: a.SpecialistID,
				SlotStartDate: a.SlotStart, SlotEndDate: a.SlotEnd, CreatedAt: a.CreatedAt}
			return l.booked(&said, "")
		}
	}
	return fmt.Errorf("the agent's booking of %s was acknowledged, but it does not exist", stamp(start))
}

// settle waits until no outbound operation is pending. After an hour, the desk decides on the operations that need
// review: later operations for the same appointment wait behind them.
func (l *life) settle() error {
	var left []store.Operation
	for minute := range 12 * 60 {
		if l.faults.isOff() {
			if err := l.revive(); err != nil {
				return err
			}
		}
		if minute > 0 && minute%60 == 0 {
			if err := l.decideReviews(left); err != nil {
				return err
			}
		}
		waiting, err := l.queue.Operations(context.Background(),
			store.OperationFilter{Status: store.OperationPending, Due: time.Now(), Limit: 500})
		if err != nil {
			return err
		}
		n, err := l.queue.Counts(context.Background())
		if err != nil {
			return err
		}
		list, err := l.store.Outbox(context.Background(), "", 500)
		if err != nil {
			return err
		}
		left = waiting // without the reminders of another day
		for _, op := range list {
			if !op.Status.Final() && !op.Scheduled(time.Now()) {
				left = append(left, op)
			}
		}
		if len(left)+n.Processing == 0 {
			return nil
		}
		time.Sleep(time.Minute)
	}
	return fmt.Errorf("after 12 hours, outbound calls are still waiting: %+v", left)
}

// decideReviews handles the operations that need review and that others wait behind. The desk looks for their
// appointments in the practice-management system. It confirms an operation if its appointment is there, and otherwise
// gives it up.
func (l *life) decideReviews(waiting []store.Operation) error {
	for _, op := range waiting {
		if op.AppointmentID == "" || booking.ChannelOf(op.Kind) != "upstream" {
			continue
		}
		list, err := l.queue.Operations(context.Background(),
			store.OperationFilter{Status: store.OperationFailed, AppointmentID: op.AppointmentID})
		if err != nil {
			return err
		}
		for _, earlier := range list {
			if !earlier.NeedsReview || booking.ChannelOf(earlier.Kind) != "upstream" {
				continue
			}
			row, err := l.store.Appointment(context.Background(), op.AppointmentID)
			if err != nil {
				return err
			}
			decision := "give_up"
			for _, a := range l.outside.Appointments() {
				if !a.Cancelled && strings.EqualFold(a.PatientGUID, row.UpstreamPatientID) &&
					a.Start.Equal(earlier.StartTime) {
					decision = "exists"
				}
			}
			reply, err := l.atDesk(&request{method: "POST", path: "/v1/queue/" + earlier.ID + "/review",
				body: map[string]any{"decision": decision}})
			if err != nil {
				return err
			}
			if reply.status != 200 && reply.status != 409 {
				return fmt.Errorf("the decision %s about %s got %d %s", decision, earlier.ID, reply.status, reply.raw)
			}
			l.counts["operations reviewed: "+decision]++
		}
	}
	return nil
}

// checkOutside compares the agents' acknowledged bookings with the appointments in the practice-management system. Each
// must exist there once, at its current time. A cancelled one must not exist there.
func (l *life) checkOutside() error {
	type place struct {
		patient string
		start   int64
	}
	there := map[place]int{}
	for _, a := range l.outside.Appointments() {
		if !a.Cancelled {
			there[place{a.PatientGUID, a.Start.Unix()}]++
		}
	}
	for _, w := range l.wishes {
		a := l.Appointments[w.id]
		at := place{w.patient, a.Start.Unix()}
		n := there[at]
		row, err := l.store.Appointment(context.Background(), w.id)
		if err != nil {
			return err
		}
		switch {
		case row.UpstreamState == store.UpstreamReview, row.UpstreamState == store.UpstreamFailed: // staff are notified and decide
		case n > 1:
			return fmt.Errorf("the practice system has %s %d times", a, n)
		case !a.Cancelled && n == 0:
			return fmt.Errorf("the practice system does not have %s, but its state is %s", a, row.UpstreamState)
		case a.Cancelled && n == 1 && l.alone(w):
			return fmt.Errorf("%s was cancelled, but the practice system has it, %s", a, row.UpstreamState)
		}
	}
	return nil
}

// alone reports whether no other agent's booking is for the same patient at the same start. It ignores cancelled
// appointments.
func (l *life) alone(w *wish) bool {
	a := l.Appointments[w.id]
	for _, other := range l.wishes {
		b := l.Appointments[other.id]
		if other != w && other.patient == w.patient && b.Start.Equal(a.Start) && !b.Cancelled {
			return false
		}
	}
	return true
}
