package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"holdfast/web/simulation/referee"
)

// offerJSON and entryJSON are the desk's view of the waiting list.
type offerJSON struct {
	ID, SpecialistID, Place, Status       string
	SlotStartDate, SlotEndDate, ExpiresAt time.Time
}

type entryJSON struct {
	ID, Status string
	To         string // the last suitable date
	Offers     []offerJSON
}

// waiting simulates the waiting list of the type scarce, which has fewer times than people want. A person joins the
// list, or a time is booked or freed, or a person accepts an offer twice or declines it. Then the list is checked.
func (l *life) waiting(r *rand.Rand) (err error) {
	if l.faults.isArmed() {
		return nil
	}
	switch r.IntN(7) {
	case 0, 1:
		err = l.join()
	case 2:
		err = l.fill(r, 6)
	case 3, 4:
		err = l.freeUp(r)
	default:
		err = l.answerOffer(r)
	}
	if err != nil {
		return err
	}
	time.Sleep(3 * time.Minute) // the server checks the list every 15 seconds, and a few checks may find the disk full
	return l.judgeList()
}

// join adds a new person to the waiting list, for the next three days.
func (l *life) join() error {
	l.requests++
	n := 2_000_000 + l.requests
	today := time.Now().In(l.Zone)
	who := map[string]any{"name": fmt.Sprintf("Jo Wait %d", n), "email": fmt.Sprintf("wait%d@example.org", n),
		"phone": fmt.Sprintf("040 %07d", n)}
	body := map[string]any{"from": today.Format(time.DateOnly), "to": today.AddDate(0, 0, 3).Format(time.DateOnly),
		"patient": who}
	agrees(body)
	a, err := l.do(&request{method: "POST", path: "/v1/appointment-types/scarce/waitlist", admin: true, body: body})
	if err != nil {
		return err
	}
	var said struct{ Waiting entryJSON }
	if err := a.into(&said); err != nil || a.status != 201 {
		return fmt.Errorf("joining the waiting list got %d %s", a.status, a.raw)
	}
	l.line = append(l.line, said.Waiting.ID)
	l.waiters[said.Waiting.ID] = who
	if number := agreed(who); number != "" {
		l.WaitsAt(said.Waiting.ID, number)
	}
	return nil
}

// scarceTimes lists the free times of the next days.
func (l *life) scarceTimes() (free []time.Time) {
	for day := range 3 {
		date := time.Now().In(l.Specialists["fay"].Zone).AddDate(0, 0, day)
		for _, at := range l.Starts("scarce", "fay", date.Year(), date.Month(), date.Day()) {
			s := l.SpanOf("scarce", "fay", at)
			if l.Offered(s, time.Now()) && len(l.FreeSeats(s, "")) > 0 {
				free = append(free, at)
			}
		}
	}
	return free
}

// fill books up to most free times at the desk, so that people have a reason to wait.
func (l *life) fill(r *rand.Rand, most int) error {
	for range most {
		start := oneOf(r, l.scarceTimes())
		if start.IsZero() {
			return nil
		}
		who := patient(r)
		a, err := l.do(&request{method: "POST", path: "/v1/appointments", admin: true, body: map[string]any{
			"appointmentTypeId": "scarce", "specialistId": "fay", "slotStartDate": stamp(start), "patient": who}})
		if err != nil {
			return err
		}
		if a.status != 201 {
			return fmt.Errorf("the desk could book %s with fay, but got %d %s", stamp(start), a.status, a.raw)
		}
		var said struct{ Appointment appointmentJSON }
		if err := a.into(&said); err != nil {
			return err
		}
		if err := l.booked(&said.Appointment, ""); err != nil {
			return err
		}
		l.named(said.Appointment.ID, who)
	}
	return nil
}

// freeUp cancels one of the appointments of the type scarce. Before that, it usually books all times and adds people to
// the list, so that their order matters.
func (l *life) freeUp(r *rand.Rand) error {
	if r.IntN(4) > 0 {
		for range 2 {
			if err := l.join(); err != nil {
				return err
			}
			time.Sleep(time.Second)
		}
		if err := l.fill(r, 30); err != nil {
			return err
		}
		time.Sleep(3 * time.Minute)
		if err := l.judgeList(); err != nil || l.faults.isOff() {
			return err
		}
	}
	var list []*referee.Appointment
	for _, a := range l.Appointments {
		if a.Type == "scarce" && !a.Cancelled && a.Start.After(time.Now().Add(time.Hour)) {
			list = append(list, a)
		}
	}
	sortBy(list, func(a *referee.Appointment) string { return a.Span.String() + a.ID })
	a := oneOf(r, list)
	if a == nil {
		return l.fill(r, 6)
	}
	q := &request{method: "POST", path: "/v1/appointments/" + a.ID + "/cancel", body: map[string]any{}, admin: true}
	reply, err := l.do(q)
	if err != nil || reply.status != 200 {
		return fmt.Errorf("cancelling %s: %v %+v", a, err, reply)
	}
	return l.took(reply, a)
}

// theLine reads the waiting list.
func (l *life) theLine() (entries []entryJSON, err error) {
	a, err := l.do(&request{method: "GET", path: "/v1/waitlist", admin: true})
	if err != nil {
		return nil, err
	}
	var said struct{ Waiting []entryJSON }
	if err := a.into(&said); err != nil || a.status != 200 {
		return nil, fmt.Errorf("the waiting list got %d %s", a.status, a.raw)
	}
	return said.Waiting, nil
}

// answerOffer accepts an offer twice, or declines it. It also checks that no other client can hold the offered time.
func (l *life) answerOffer(r *rand.Rand) error {
	entries, err := l.theLine()
	if err != nil {
		return err
	}
	for _, e := range entries {
		o := e.open()
		if o == nil || time.Until(o.ExpiresAt) < 10*time.Second || l.faults.isOff() || l.wire.loses() {
			continue
		}
		stranger := map[string]any{"appointmentTypeId": "scarce", "specialistId": "fay",
			"slotStartDate": stamp(o.SlotStartDate), "clientId": oneOf(r, l.clients)}
		a, err := l.do(&request{method: "POST", path: "/v1/holds", body: stranger})
		if err != nil {
			return err
		}
		if a.status == 201 {
			return fmt.Errorf("%s is offered to %s, but another client got a hold of it", stamp(o.SlotStartDate),
				e.ID)
		}
		if r.IntN(3) == 0 {
			a, err := l.do(&request{method: "POST", path: "/v1/waitlist/" + e.ID + "/decline", admin: true})
			if err == nil && a.status != 200 {
				err = fmt.Errorf("declining an offer got %d %s", a.status, a.raw)
			}
			return err
		}
		return l.accept(e.ID, o)
	}
	return nil
}

func (l *life) accept(entry string, o *offerJSON) error {
	q := func(n int) *request {
		return &request{method: "POST", path: "/v1/waitlist/" + entry + "/accept", admin: true,
			key: fmt.Sprintf("accept-%s-%d", o.ID, n)}
	}
	asked := time.Now()
	first, err := l.do(q(0))
	if err != nil {
		return err
	}
	if first.status == 409 || first.status == 410 {
		return nil // the offer expired or lost its time during the retries
	}
	if first.status >= 300 {
		return fmt.Errorf("accepting an offer got %d %s", first.status, first.raw)
	}
	second, err := l.do(q(1))
	if err != nil {
		return err
	}
	var said, again struct{ Appointment appointmentJSON }
	if err := first.into(&said); err != nil {
		return err
	}
	if err := second.into(&again); err != nil || second.status >= 300 || again.Appointment.ID != said.Appointment.ID {
		return fmt.Errorf("the second accept of an offer got %d %s, and the first %s", second.status,
			second.raw, first.raw)
	}
	if at, within := l.PlaceOf(l.SpanOf("scarce", o.SpecialistID, o.SlotStartDate)); within &&
		(o.Place != at || said.Appointment.Place != at) {
		return fmt.Errorf("%s at %q was offered, but booked at %q; fay works at %q then", stamp(o.SlotStartDate),
			o.Place, said.Appointment.Place, at)
	}
	if !said.Appointment.SlotStartDate.Equal(o.SlotStartDate) {
		return fmt.Errorf("%s was offered, but %s was booked", stamp(o.SlotStartDate),
			stamp(said.Appointment.SlotStartDate))
	}
	err = l.booked(&said.Appointment, "")
	l.named(said.Appointment.ID, l.waiters[entry])
	l.texted(said.Appointment.ID, l.waiters[entry], asked)
	return err
}

func (e *entryJSON) open() *offerJSON {
	for i := range e.Offers {
		if e.Offers[i].Status == "open" {
			return &e.Offers[i]
		}
	}
	return nil
}

// judgeList passes the waiting list to the referee.
func (l *life) judgeList() error {
	if l.faults.isOff() || l.faults.isArmed() {
		return nil
	}
	entries, err := l.theLine()
	if err != nil {
		return err
	}
	list := make([]referee.Waiting, len(entries))
	for i, e := range entries {
		list[i] = referee.Waiting{ID: e.ID, Place: len(l.line), Last: e.To}
		for place, id := range l.line {
			if id == e.ID {
				list[i].Place = place
			}
		}
		for _, o := range e.Offers {
			list[i].Offers = append(list[i].Offers,
				referee.Offer{Span: l.SpanOf("scarce", o.SpecialistID, o.SlotStartDate), Open: o.Status == "open",
					Withdrawn: o.Status == "withdrawn", Until: o.ExpiresAt})
		}
	}
	return l.Waits(list, l.scarceTimes(), time.Now())
}
