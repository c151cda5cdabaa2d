package demo

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/store"
)

// The demo shows a busy day at any time: its clinic is in a harbour where it is late morning. The earlier visits are
// completed, some are in progress, and the rest of the day has free slots.

// startHour is the local hour at which the demo begins.
const startHour = 11

// harbours lists one harbour for each hour of the day, in zones without daylight saving time. The clinic stays in
// Hamburg if it is late morning there.
var harbours = []struct{ zone, address string }{
	{"Pacific/Pago_Pago", "Pago Pago"}, {"Pacific/Honolulu", "Honolulu"}, {"Pacific/Gambier", "Rikitea"},
	{"Pacific/Pitcairn", "Adamstown"}, {"America/Hermosillo", "Guaymas"}, {"America/Costa_Rica", "Puerto Limón"},
	{"America/Panama", "Panamá"}, {"America/Puerto_Rico", "San Juan"}, {"America/Sao_Paulo", "Santos"},
	{"America/Noronha", "Fernando de Noronha"}, {"Atlantic/Cape_Verde", "Mindelo"}, {"Africa/Dakar", "Dakar"},
	{"Africa/Lagos", "Lagos"}, {"Africa/Johannesburg", "Cape Town"}, {"Africa/Nairobi", "Mombasa"},
	{"Asia/Dubai", "Dubai"}, {"Asia/Karachi", "Karachi"}, {"Asia/Dhaka", "Chittagong"},
	{"Asia/Ho_Chi_Minh", "Ho Chi Minh City"}, {"Asia/Singapore", "Singapore"}, {"Asia/Tokyo", "Yokohama"},
	{"Australia/Brisbane", "Brisbane"}, {"Pacific/Noumea", "Nouméa"}, {"Pacific/Fiji", "Suva"},
}

// ClinicAt returns the demo's clinic at an instant: in a harbour where it is late morning, and with all
// specialists at work today.
func ClinicAt(now time.Time) (f clinic.File, err error) {
	if f, err = Clinic(); err != nil {
		return f, err
	}
	home, err := time.LoadLocation(f.Clinic.Timezone)
	if err != nil {
		return f, fmt.Errorf("failed to read the demo's clinic: %w", err)
	}
	zone := home
	if hour := now.In(home).Hour(); hour < startHour-1 || hour > startHour+1 {
		for _, h := range harbours {
			there, err := time.LoadLocation(h.zone)
			if err != nil {
				return f, fmt.Errorf("failed to read the demo's clinic: %w", err)
			}
			if now.In(there).Hour() == startHour {
				zone, f.Clinic.Timezone, f.Clinic.Address = there, h.zone, "17 Harbour Road, "+h.address
			}
		}
	}
	today := store.Weekday(now.In(zone).Weekday())
	for i := range f.Specialists {
		p := &f.Specialists[i]
		p.Timezone = f.Clinic.Timezone
		p.WeeklyHours = workedOn(p.WeeklyHours, today)
	}
	return f, nil
}

// workedOn returns a copy of hours in which day has the same windows as the first weekday in the list.
func workedOn(hours []clinic.HoursEntry, day store.Weekday) []clinic.HoursEntry {
	all := slices.DeleteFunc(slices.Clone(hours), func(h clinic.HoursEntry) bool { return h.Weekday == day })
	for _, h := range hours {
		if h.Weekday == hours[0].Weekday {
			h.Weekday = day
			all = append(all, h)
		}
	}
	return all
}

// visit is one appointment of the demo's first day.
type visit struct {
	typeID, specialistID string
	start                time.Time
	attendance           store.Attendance
}

// dayOf returns the visits of the demo's first day in order, and the break of one specialist. It depends only on its
// arguments.
func dayOf(now time.Time, f clinic.File) (visits []visit, pause store.Block, err error) {
	zone, err := time.LoadLocation(f.Clinic.Timezone)
	if err != nil {
		return nil, pause, err
	}
	year, month, today := now.In(zone).Date()
	at := func(hour, minute int) time.Time { return time.Date(year, month, today, hour, minute, 0, 0, zone) }
	add := func(typeID, specialistID string, minutes int, starts ...time.Time) {
		for _, start := range starts {
			v := visit{typeID, specialistID, start, store.Expected}
			switch end := start.Add(time.Duration(minutes) * time.Minute); {
			case !now.Before(end.Add(10 * time.Minute)):
				if v.attendance = store.Completed; len(visits)%9 == 8 {
					v.attendance = store.NoShow
				}
			case !now.Before(start):
				v.attendance = store.InProgress
			case !now.Add(30 * time.Minute).Before(start):
				v.attendance = store.Arrived
			}
			visits = append(visits, v)
		}
	}
	half := now.Truncate(30 * time.Minute) // all slots start on the half hour, in zones with whole-hour offsets
	add("checkup", "ada", 30, at(8, 0), at(8, 30), at(9, 30), at(10, 0), at(13, 30), at(15, 0))
	add("checkup", "mina", 30, at(8, 0), at(9, 0), at(9, 30), half, half.Add(2*time.Hour), half.Add(3*time.Hour))
	add("video-visit", "grace", 15, at(8, 15), at(8, 30), at(9, 0), at(9, 45), at(13, 30))
	add("video-visit", "mina", 15, half.Add(-30*time.Minute), half.Add(30*time.Minute))
	for seats := range 5 {
		add("back-school", "jonas", 60, at(10, 0))
		if seats < 3 {
			add("back-school", "mina", 60, half.Truncate(time.Hour).Add(4*time.Hour))
		}
	}
	// There are so many of these that a queue forms in front of the slow practice-management system.
	for n := range 6 {
		add("physiotherapy", "jonas", 40, at(15+n%3, 0).AddDate(0, 0, n/3))
	}
	sort.SliceStable(visits, func(i, j int) bool { return visits[i].start.Before(visits[j].start) })
	return visits, store.Block{SpecialistID: "grace", Start: half.Add(90 * time.Minute),
		End: half.Add(135 * time.Minute), Reason: "Team meeting"}, nil
}

// furnish books the demo's day. It leaves out visits that do not fit: the day is only an example.
func (d Data) furnish(ctx context.Context, now time.Time, f clinic.File) error {
	visits, pause, err := dayOf(now, f)
	if err != nil {
		return err
	}
	if _, err := d.Engine.Clinic.CreateBlock(ctx, d.Actor, pause, nil); err != nil {
		return fmt.Errorf("failed to create the demo's appointments for today: %w", err)
	}
	for i, v := range visits {
		name := givenNames[i%len(givenNames)] + " " + familyNames[i*7%len(familyNames)]
		a, err := d.Engine.Booking.Book(ctx, booking.Request{
			AppointmentTypeID: v.typeID, SpecialistID: v.specialistID, SlotStart: v.start, Source: store.SourceStaff,
			Actor: d.Actor, IgnoreHours: true, Patient: store.Patient{Name: name,
				Email: fmt.Sprintf("visitor%d@example.com", i), Phone: "+49 40 555 0100",
				BirthDate: fmt.Sprintf("19%02d-0%d-1%d", 50+i%45, 1+i%9, i%10)},
			Silent: v.start.Before(now),
		})
		if err != nil {
			d.Logger.Debug("demo appointment skipped", "type", v.typeID, "start", v.start, "error", err)
			continue
		}
		if v.attendance == store.Expected {
			continue
		}
		if _, err := d.Engine.Booking.SetAttendance(ctx, a.ID, 0, v.attendance, d.Actor, nil); err != nil {
			return fmt.Errorf("failed to create the demo's appointments for today: %w", err)
		}
	}
	return nil
}
