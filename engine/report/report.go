// Package report counts a clinic's events, by week or by month: bookings by source, cancellations, no-shows,
// utilisation, lead time and the waiting list. The database counts; no report contains patient data.
//
// An appointment belongs to the period in which it starts. Waiting-list events belong to the period in which they
// happened. They come from the audit log, because waiting-list entries are deleted 30 days after they close. Open time
// comes from the current weekly hours, from days off, and from blocks; blocks that ended more than store.BlockMemory
// ago do not count.
package report

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/store"
)

// Reports creates reports. It is safe for concurrent use.
type Reports struct {
	store  store.Store
	clinic *clinic.Clinic
}

// New returns Reports.
func New(s store.Store, c *clinic.Clinic) *Reports { return &Reports{s, c} }

// MaxPeriods is the maximum number of periods in a report.
const MaxPeriods = 60

// Step is the length of a period.
type Step string

// The lengths of a period.
const (
	Week  Step = "week" // from Monday
	Month Step = "month"
)

// Period is one row of a report.
type Period struct {
	From, To     store.Date // To is the first date after the period
	Booked       map[store.Source]int
	Appointments int // those in Booked that take place
	Cancelled    int
	Started      int // appointments that have started, not counting cancelled ones
	NoShows      int
	Lead         time.Duration // the average time from booking to start
	Specialists  []Use
	Waitlist     Waitlist
}

// Use is how a specialist's time was used in a period.
type Use struct {
	SpecialistID string
	Open, Booked time.Duration
}

// Waitlist counts the waiting-list events in a period.
type Waitlist struct{ Joined, Offered, Accepted, Booked int }

// Count returns the report for the periods that contain the dates in [from, to). A partly covered period counts as a
// whole. It returns *record.ValidationError if the range is empty or too long.
func (r *Reports) Count(ctx context.Context, step Step, from, to store.Date, now time.Time) ([]Period, error) {
	if step != Week && step != Month {
		return nil, record.Invalid("by", "must be week or month")
	}
	if !from.Before(to) {
		return nil, record.Invalid("to", "must be later than from")
	}
	var all []Period
	for start := begin(step, from); start.Before(to); start = next(step, start) {
		if len(all) == MaxPeriods {
			return nil, record.Invalid("to", "must be at most %d periods after from", MaxPeriods)
		}
		all = append(all, Period{From: start, To: next(step, start)})
	}
	for i := range all {
		if err := r.count(ctx, &all[i], now); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// begin returns the first date of the period that contains d.
func begin(step Step, d store.Date) store.Date {
	if step == Month {
		return store.Date{Year: d.Year, Month: d.Month, Day: 1}
	}
	return d.AddDays(-(int(d.Weekday()) + 6) % 7)
}

// next returns the first date after the period that begins at start.
func next(step Step, start store.Date) store.Date {
	if step == Month {
		return begin(Month, start.AddDays(31))
	}
	return start.AddDays(7)
}

func (r *Reports) count(ctx context.Context, p *Period, now time.Time) error {
	schedule := r.clinic.Current()
	from, to := availability.StartOfDay(schedule.Zone, p.From), availability.StartOfDay(schedule.Zone, p.To)
	counts, err := r.store.AppointmentCounts(ctx, from, to, now)
	if err != nil {
		return err
	}
	p.Booked = map[store.Source]int{}
	var lead time.Duration
	all := 0
	for _, c := range counts {
		p.Booked[c.Source] += c.N
		all, lead = all+c.N, lead+c.Lead
		if c.Status == store.Cancelled {
			p.Cancelled += c.N
			continue
		}
		p.Appointments += c.N
		p.Started += c.Started
		if c.Attendance == store.NoShow {
			p.NoShows += c.Started
		}
	}
	if all > 0 {
		p.Lead = lead / time.Duration(all)
	}
	if err := r.countUse(ctx, p, schedule, from, to, now); err != nil {
		return err
	}
	events, err := r.store.ActionCounts(ctx, from, to, []string{
		string(record.ActionWaitlistJoined), string(record.ActionWaitlistOffered),
		string(record.ActionWaitlistOfferAccepted), string(record.ActionWaitlistBooked),
	})
	p.Waitlist = Waitlist{
		events[string(record.ActionWaitlistJoined)], events[string(record.ActionWaitlistOffered)],
		events[string(record.ActionWaitlistOfferAccepted)], events[string(record.ActionWaitlistBooked)],
	}
	return err
}

// countUse adds how the time of the active specialists was used, and of other specialists, archived ones too, who had
// appointments.
func (r *Reports) countUse(ctx context.Context, p *Period, schedule *clinic.Schedule, from, to, now time.Time) error {
	booked, err := r.store.BookedTime(ctx, from, to)
	if err != nil {
		return err
	}
	for i := range schedule.Specialists {
		s := &schedule.Specialists[i]
		if s.Kind == store.ResourceKind || !s.Active && booked[s.ID] == 0 {
			continue
		}
		use := Use{SpecialistID: s.ID, Booked: booked[s.ID]}
		if s.Active {
			calendar, err := calendarOf(schedule, s, now)
			if err != nil {
				return err
			}
			use.Open = calendar.OpenTime(from, to)
		}
		p.Specialists = append(p.Specialists, use)
	}
	for i := range schedule.ArchivedSpecialists {
		if s := &schedule.ArchivedSpecialists[i]; s.Kind != store.ResourceKind && booked[s.ID] > 0 {
			p.Specialists = append(p.Specialists, Use{SpecialistID: s.ID, Booked: booked[s.ID]})
		}
	}
	return nil
}

// calendarOf returns a specialist's calendar without the blocks that ended more than store.BlockMemory ago. A server
// that has read the schedule before still has them in memory, and the figures of all nodes must be the same.
func calendarOf(schedule *clinic.Schedule, s *store.Specialist, now time.Time) (*availability.Calendar, error) {
	isOld := func(b store.Block) bool { return !b.End.After(now.Add(-store.BlockMemory)) }
	blocks := schedule.Blocks[s.ID]
	if !slices.ContainsFunc(blocks, isOld) {
		return schedule.Calendars[s.ID], nil
	}
	recent := slices.DeleteFunc(slices.Clone(blocks), isOld)
	return availability.NewCalendar(*s, schedule.WeeklyHours[s.ID], schedule.Overrides[s.ID], recent)
}
