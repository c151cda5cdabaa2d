package simulation

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"

	"holdfast/web/simulation/referee"
)

func (l *life) block(r *rand.Rand) error {
	specialist, from := l.pick(r, l.pickKind(r))
	to := from.Add(time.Duration(30+r.IntN(180)) * time.Minute)
	if !from.After(time.Now()) {
		return nil
	}
	a, err := l.do(&request{method: "POST", path: "/v1/specialists/" + specialist + "/blocks",
		body: map[string]any{"start": stamp(from), "end": stamp(to)}, admin: true})
	if err != nil {
		return err
	}
	var said struct{ Block struct{ ID string } }
	if err := a.into(&said); err != nil || a.status != 201 {
		return fmt.Errorf("a block got %d %s", a.status, a.raw)
	}
	l.Specialists[specialist].Blocks[said.Block.ID] = referee.Block{From: from, To: to}
	return nil
}

func (l *life) unblock(r *rand.Rand) error {
	specialist := oneOf(r, sorted(l.Specialists))
	blocks := l.Specialists[specialist].Blocks
	ids := sorted(blocks)
	sortBy(ids, func(id string) string { return blocks[id].From.String() + blocks[id].To.String() })
	id := oneOf(r, ids)
	if id == "" {
		return nil
	}
	a, err := l.do(&request{method: "DELETE", path: "/v1/blocks/" + id, admin: true})
	if err == nil && a.status != 200 && a.status != 204 && a.status != 404 { // 404: a repeat whose first reply was lost
		err = fmt.Errorf("removing a block got %d %s", a.status, a.raw)
	}
	delete(blocks, id)
	for _, displaced := range sorted(l.displacedBy) {
		if l.displacedBy[displaced] == id { // the appointment keeps its booked time
			l.EndProposal(displaced, time.Now())
		}
	}
	return err
}

// override closes a day or gives it different hours.
func (l *life) override(r *rand.Rand) error {
	specialist := oneOf(r, []string{"ada", "ben", "cleo", "eli"})
	s := l.Specialists[specialist]
	day := time.Now().In(s.Zone).AddDate(0, 0, 1+r.IntN(4)).Format(time.DateOnly)
	body := map[string]any{"date": day, "closed": true}
	windows := []referee.Window{}
	if r.IntN(2) == 0 {
		from := 60 * r.IntN(16)
		windows = []referee.Window{{From: from, To: from + 60*(2+r.IntN(6)), Place: l.somePlace()}}
		body = map[string]any{"date": day,
			"hours": []any{map[string]any{"start": wall(windows[0].From), "end": wall(windows[0].To),
				"place": windows[0].Place}}}
	}
	a, err := l.do(&request{method: "POST", path: "/v1/specialists/" + specialist + "/overrides", body: body,
		admin: true})
	if err != nil {
		return err
	}
	if a.status != 201 {
		return fmt.Errorf("an override got %d %s", a.status, a.raw)
	}
	s.Overrides[day] = windows
	return nil
}

// list lists the slots of a specialist and compares each with the expected one.
func (l *life) list(r *rand.Rand) error {
	kind := oneOf(r, []string{"checkup", "surgery", "class", "cooling", "night", "scan"})
	return l.listKind(r, kind, oneOf(r, sorted(l.Types[kind].Priorities)))
}

func (l *life) listKind(r *rand.Rand, kind, specialist string) error {
	client := oneOf(r, l.clients)
	zone := l.Specialists[specialist].Zone
	from := time.Now().In(zone).AddDate(0, 0, r.IntN(3))
	const days = 2
	place := l.somePlace()
	q := url.Values{"specialistId": {specialist}, "clientId": {client}, "from": {from.Format(time.DateOnly)},
		"to": {from.AddDate(0, 0, days).Format(time.DateOnly)}}
	if place != "" {
		q.Set("place", place)
	}
	a, err := l.do(&request{method: "GET", path: "/v1/appointment-types/" + kind + "/timeslots?" + q.Encode()})
	if err != nil {
		return err
	}
	var said struct {
		Slots []struct {
			Start         time.Time
			Available     int
			SpecialistIDs []string
		}
	}
	if err := a.into(&said); err != nil || a.status != 200 {
		return fmt.Errorf("listing %s got %d %s", kind, a.status, a.raw)
	}
	slots := make([]referee.Slot, len(said.Slots))
	for i, s := range said.Slots {
		slots[i] = referee.Slot{Start: s.Start, Available: s.Available, Specialists: s.SpecialistIDs}
	}
	first := date(from.Year(), from.Month(), from.Day())
	return l.Offers(kind, specialist, place, client, first, days, slots, time.Now())
}

// presence sets specialists online and offline, and checks which are available.
func (l *life) presence(r *rand.Rand) error {
	who := oneOf(r, sorted(l.Specialists))
	what := oneOf(r, []string{"online", "online", "heartbeat", "heartbeat", "offline"})
	a, err := l.do(&request{method: "POST", path: "/v1/specialists/" + who + "/" + what, admin: true})
	if err != nil {
		return err
	}
	if a.status >= 300 && !(what == "heartbeat" && a.status == 409) {
		return fmt.Errorf("%s of %s got %d %s", what, who, a.status, a.raw)
	}
	switch last, is := l.online[who]; {
	case what == "offline", what == "heartbeat" && time.Since(last) > 88*time.Second: // the server has set them offline, or will
		delete(l.online, who)
	case what == "online", is:
		l.online[who] = time.Now()
	}
	return l.judgeAvailable()
}

// judgeAvailable compares the available specialists with those who went online and offline, and with their sessions.
func (l *life) judgeAvailable() error {
	a, err := l.do(&request{method: "GET", path: "/v1/presence/available", admin: true})
	if err != nil {
		return err
	}
	var said struct {
		Available, Specialists []struct{ ID, SpecialistID string }
	}
	if err := a.into(&said); err != nil || a.status != 200 {
		return fmt.Errorf("the list of available specialists got %d %s", a.status, a.raw)
	}
	there := map[string]bool{}
	for _, s := range append(said.Available, said.Specialists...) {
		there[s.ID+s.SpecialistID] = true
	}
	for _, id := range sorted(l.Specialists) {
		beat, is := l.online[id]
		age := time.Since(beat)
		room, certain := l.HasRoom(id, time.Now())
		switch {
		case !room && certain && there[id]:
			return fmt.Errorf("%s has %d sessions, the maximum, but is available", id,
				l.Specialists[id].Sessions)
		case is && age < 88*time.Second && room && !there[id]:
			return fmt.Errorf("%s sent a heartbeat %s ago, but is not available: %s", id, age, a.raw)
		case is && min(age, time.Since(l.shaken)) > 4*time.Minute && there[id]:
			return fmt.Errorf("%s is available, online %t, with a heartbeat %s ago", id, is, age)
		}
	}
	return nil
}
