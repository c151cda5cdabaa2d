package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"holdfast/web/simulation/referee"
)

// night is a clock change: its time zone and its date.
type night struct {
	zone string
	near time.Time
}

// nights are clock changes forward and back, by an hour and by half an hour, and one date in a zone without clock
// changes.
var nights = []night{
	{"Europe/Berlin", date(2026, 3, 29)}, {"Europe/Berlin", date(2026, 10, 25)},
	{"America/New_York", date(2027, 3, 14)}, {"America/New_York", date(2026, 11, 1)},
	{"Australia/Lord_Howe", date(2026, 10, 4)}, {"Australia/Lord_Howe", date(2027, 4, 4)},
	{"Asia/Kolkata", date(2026, 6, 1)}, {"Europe/London", date(2027, 3, 28)}, {"America/St_Johns", date(2026, 11, 1)},
}

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// The GUIDs of the chair and the type in the practice-management system. They are invented.
const (
	viewGUID   = "11111111-2222-4333-8444-555555555555"
	columnGUID = "66666666-7777-4888-8999-000000000000"
	typeGUID   = "bbbbbbbb-cccc-4ddd-8eee-ffffffffffff"
)

// The places of the clinic.
const north, south = "north", "south"

var places = []any{map[string]any{"id": north, "name": "North"}, map[string]any{"id": south, "name": "South"}}

// somePlace returns a place, or none. It draws no random number, so that the choices of a seed's actions stay the same.
func (l *life) somePlace() string {
	return [...]string{"", north, "", south, ""}[l.requests%5]
}

// begins returns the instant at which the simulation of a seed begins, one or two days before the clock change, and the
// time zone.
func begins(seed uint64) (time.Time, string) {
	r := rand.New(rand.NewPCG(seed, 1))
	n := nights[r.IntN(len(nights))]
	return n.near.Add(-time.Duration(20+r.IntN(30)) * time.Hour).Add(time.Duration(r.IntN(3600)) * time.Second), n.zone
}

// newClinic returns the clinic of a seed for the referee.
func newClinic(seed uint64) referee.Clinic {
	r := rand.New(rand.NewPCG(seed, 4))
	_, name := begins(seed)
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	other := zone
	if r.IntN(3) == 0 { // one specialist works in another country
		if other, err = time.LoadLocation("America/Sao_Paulo"); err != nil {
			panic(err)
		}
	}
	c := referee.Clinic{Zone: zone, Specialists: map[string]*referee.Specialist{}, Types: map[string]*referee.Type{}}
	specialist := func(id string, zone *time.Location, windows ...referee.Window) {
		s := &referee.Specialist{ID: id, Zone: zone, Weekly: map[time.Weekday][]referee.Window{},
			Overrides: map[string][]referee.Window{}, Blocks: map[string]referee.Block{}, Sessions: 2}
		for day := range 7 {
			s.Weekly[time.Weekday(day)] = windows
		}
		c.Specialists[id] = s
	}
	specialist("ada", zone, referee.Window{From: 540, To: 720, Place: north},
		referee.Window{From: 780, To: 1020, Place: south})
	// works at one place and then at the other, without a break
	specialist("ben", zone, referee.Window{From: 480, To: 720, Place: south},
		referee.Window{From: 720, To: 960, Place: north})
	// begins within the hour that a clock change skips or repeats
	specialist("cleo", zone, referee.Window{From: oneOf(r, []int{30, 90, 105, 120, 150}), To: 330, Place: north})
	specialist("dora", zone, referee.Window{From: 540, To: 1020})
	specialist("eli", other, referee.Window{From: 0, To: 1440})
	specialist("gus", zone, referee.Window{From: 480, To: 840})
	specialist("hal", zone, referee.Window{From: 600, To: 960})
	specialist("fay", zone, referee.Window{From: 720, To: 840, Place: north},
		referee.Window{From: 840, To: 960, Place: south})
	c.Specialists["ada"].Sessions, c.Specialists["ben"].Sessions, c.Specialists["gus"].Sessions = 1, 1, 1
	kind := func(t referee.Type) { c.Types[t.ID] = &t }
	kind(referee.Type{ID: "checkup", Minutes: 30, Step: 30, Capacity: 1, Notice: 60,
		Priorities: map[string]int{"ada": 10, "ben": 10, "eli": 5}})
	kind(referee.Type{ID: "surgery", Minutes: 60, Step: 30, Before: 15, After: 30, Capacity: 1,
		Priorities: map[string]int{"ada": 10, "ben": 5}})
	kind(referee.Type{ID: "class", Minutes: 60, Step: 60, Capacity: 3, Priorities: map[string]int{"ben": 1, "cleo": 1}})
	kind(referee.Type{ID: "cooling", Minutes: 30, Step: 15, Capacity: 1, Cooldown: 1440,
		Priorities: map[string]int{"ada": 1, "eli": 1}})
	kind(referee.Type{ID: "night", Minutes: 45, Step: 15, Before: 5, Capacity: 1,
		Priorities: map[string]int{"cleo": 1}})
	kind(referee.Type{ID: "cleaning", Minutes: 30, Step: 30, Capacity: 1, Priorities: map[string]int{"dora": 1}})
	kind(referee.Type{ID: "scan", Minutes: 30, Step: 15, After: 10, Capacity: 1, Room: "lab",
		Priorities: map[string]int{"gus": 2, "hal": 1}})
	kind(referee.Type{ID: "scarce", Minutes: 60, Step: 60, Capacity: 1, Priorities: map[string]int{"fay": 1}})
	return c
}

// file returns the clinic file to import.
func file(c referee.Clinic) map[string]any {
	specialists, types := []any{map[string]any{"id": "lab", "name": "Laboratory", "timezone": c.Zone.String(),
		"kind": "resource"}}, []any(nil)
	for _, id := range sorted(c.Specialists) {
		s := c.Specialists[id]
		var hours []any
		for day := range 7 {
			for _, w := range s.Weekly[time.Weekday(day)] {
				hours = append(hours, map[string]any{"weekday": weekdays[day], "start": wall(w.From),
					"end": wall(w.To), "place": w.Place})
			}
		}
		entry := map[string]any{"id": id, "name": "Dr " + id, "timezone": s.Zone.String(), "weeklyHours": hours,
			"maxSessions": s.Sessions}
		if id == "dora" {
			entry["upstream"] = map[string]any{"scheduleViewGUID": viewGUID, "scheduleColumnGUID": columnGUID}
		}
		specialists = append(specialists, entry)
	}
	for _, id := range sorted(c.Types) {
		t := c.Types[id]
		var who []any
		for _, s := range sorted(t.Priorities) {
			who = append(who, map[string]any{"specialistId": s, "priority": t.Priorities[s]})
		}
		entry := map[string]any{
			"id": id, "name": id, "durationMinutes": t.Minutes, "slotStepMinutes": t.Step,
			"bufferBeforeMinutes": t.Before, "bufferAfterMinutes": t.After, "minNoticeMinutes": t.Notice,
			"capacity": t.Capacity, "cooldownMinutes": t.Cooldown, "horizonDays": 90, "specialists": who,
		}
		if id == "surgery" {
			entry["questions"] = []any{map[string]any{"id": "allergy", "kind": "yesno",
				"label": "Do you have an allergy?", "required": true}}
		}
		if id == "cleaning" {
			entry["upstream"] = map[string]any{"appointmentTypeGUID": typeGUID}
		}
		if t.Room != "" {
			entry["needs"] = []any{[]string{t.Room}}
		}
		types = append(types, entry)
	}
	return map[string]any{
		"clinic": map[string]any{"name": "Harbour Clinic", "timezone": c.Zone.String(), "locale": "en",
			"settings": map[string]any{"places": places}},
		"specialists": specialists, "appointmentTypes": types,
	}
}

var weekdays = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

func wall(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }
