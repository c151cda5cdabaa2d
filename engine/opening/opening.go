// Package opening asks the practice-management system for what it has open, ahead of who wants to know.
//
// One question after the other, a spacing of the pacer apart and never while somebody waits to write, goes through the days of
// each appointment type up to its horizon, the nearest days of all types first. What is answered is kept by package occupancy, which
// believes it until it is too old. A practice system that does not answer is asked again after a back-off, and what it said last
// counts on.
package opening

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/occupancy"
	"holdfast/engine/outbound"
	"holdfast/engine/timed"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// openingDays is how many days one question asks about: an answer is limited to 1 MiB.
const openingDays = 14

// maxOpeningRest bounds the back-off after questions without an answer.
const maxOpeningRest = 5 * time.Minute

// Openings fetches what the practice system has open. It is safe for concurrent use.
type Openings struct {
	outbound *outbound.Outbound
	taken    *occupancy.Time
	clinic   *clinic.Clinic
	log      *slog.Logger

	mu     sync.Mutex
	failed time.Time // when the last question was not answered; zero: it was
	why    string
}

// New returns an Openings. Work is to be run for anything to be fetched ahead.
func New(out *outbound.Outbound, tm *occupancy.Time, c *clinic.Clinic, log *slog.Logger) *Openings {
	return &Openings{outbound: out, taken: tm, clinic: c, log: log}
}

// Failed says since when the practice system has not been answering about its openings, and why; zero: it answers.
func (op *Openings) Failed() (time.Time, string) {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.failed, op.why
}

// Work is what fetches openings ahead; nothing where there is no practice system, or it is not asked.
func (op *Openings) Work() []func(context.Context) {
	if op.outbound.Options.Upstream == nil || op.outbound.Options.Limits.OpeningsEvery <= 0 {
		return nil
	}
	return []func(context.Context){op.fetchOpenings}
}

// fetchOpenings goes through all types again and again, until ctx ends.
func (op *Openings) fetchOpenings(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-op.outbound.Ready(): // and the pacer knows of the last write before the start
	}
	asks := upstream.NewPacer(op.outbound.Options.Pacer.Spacing())
	op.outbound.ShareLine(asks, "upstream.openings")
	for inVain := 0; ctx.Err() == nil; {
		began := time.Now()
		err := op.fetchAll(ctx, asks)
		op.taken.ForgetOpenings(ctx)
		wait := op.outbound.Options.Limits.OpeningsEvery - time.Since(began)
		if inVain++; err == nil {
			inVain = 0
		} else {
			wait = min(store.Backoff(op.outbound.Options.Limits.Backoff, inVain), maxOpeningRest)
		}
		timed.Sleep(ctx, max(wait, asks.Spacing()), nil)
	}
}

// fetchAll asks about all types once. It stops at the first question that is not answered.
func (op *Openings) fetchAll(ctx context.Context, asks *upstream.Pacer) error {
	first, more := store.DateOf(time.Now().In(op.clinic.Zone())), true
	for offset := 0; more; offset += openingDays {
		more = false
		for _, id := range op.listedTypes() {
			days := op.openingHorizon(id) - offset
			if days <= 0 {
				continue
			}
			more = true
			from := first.AddDays(offset)
			err := op.fetchSome(ctx, asks, id, from, from.AddDays(min(days, openingDays)))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			op.noteOpenings(err)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// listedTypes are the ids of the active types that the practice system knows, in their order on the page.
func (op *Openings) listedTypes() []string {
	s := op.clinic.Current()
	var ids []string
	for i := range s.AppointmentTypes {
		if t := &s.AppointmentTypes[i]; t.Active && t.UpstreamTypeID != "" {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// openingHorizon is how many days from today on a type can be booked; none if it is gone.
func (op *Openings) openingHorizon(appointmentTypeID string) int {
	t := op.clinic.Current().Types[appointmentTypeID]
	if t == nil {
		return 0
	}
	return t.HorizonDays + 1
}

// fetchSome asks about some days of one type.
func (op *Openings) fetchSome(ctx context.Context, asks *upstream.Pacer, appointmentTypeID string, from, end store.Date) error {
	s := op.clinic.Current()
	t := s.Types[appointmentTypeID]
	if t == nil {
		return nil
	}
	question, columns := QuestionFor(s, t, from, end)
	if len(columns) == 0 {
		return nil
	}
	for range 6 { // those who write go first, for a minute
		if op.outbound.Options.Pacer.Waiting() == 0 {
			break
		}
		timed.Sleep(ctx, op.outbound.Options.Pacer.Spacing(), nil)
	}
	if err := asks.Wait(ctx, upstream.NoBound); err != nil {
		return err
	}
	bySpecialist, asked, err := op.Ask(ctx, question, columns)
	if err != nil {
		return err
	}
	op.taken.LearnOpenings(ctx, appointmentTypeID, from, end, bySpecialist, asked)
	return nil
}

// noteOpenings keeps how the last question went, and logs when that changes.
func (op *Openings) noteOpenings(err error) {
	why := ""
	if err != nil {
		why = upstream.Words(err)
	}
	op.mu.Lock()
	before := op.failed
	switch {
	case err == nil:
		op.failed, op.why = time.Time{}, ""
	case before.IsZero():
		op.failed, op.why = op.outbound.Now(), why
	default:
		op.why = why
	}
	op.mu.Unlock()
	switch {
	case err != nil && before.IsZero():
		op.log.Warn("openings not fetched; using the last ones until they are too old", "reason", why, "max_age", op.outbound.Options.Limits.OpeningsMaxAge)
	case err == nil && !before.IsZero():
		op.log.Info("openings fetched again")
	}
}

// QuestionFor is the question to the practice system about the openings of one type on local days of the clinic, from inclusive,
// end exclusive, and the specialist ids by the columns that it knows them under. There are no columns if it knows nobody.
func QuestionFor(s *clinic.Schedule, t *store.AppointmentType, from, end store.Date) (question upstream.Openings, columns map[string]string) {
	question = upstream.Openings{
		From: availability.StartOfDay(s.Zone, from), To: availability.StartOfDay(s.Zone, end).Add(-time.Second), Zone: s.Zone, AppointmentTypeGUIDs: []string{t.UpstreamTypeID},
	}
	columns = make(map[string]string)
	for _, a := range t.Specialists {
		p := s.SpecialistByID[a.SpecialistID]
		if p == nil || !p.Active || p.UpstreamColumnID == "" || p.UpstreamScheduleViewID == "" {
			continue
		}
		columns[upstream.CanonicalGUID(p.UpstreamColumnID)] = p.ID
		if !slices.ContainsFunc(question.ScheduleViewGUIDs, func(v string) bool { return upstream.EqualGUID(v, p.UpstreamScheduleViewID) }) {
			question.ScheduleViewGUIDs = append(question.ScheduleViewGUIDs, p.UpstreamScheduleViewID)
		}
	}
	return question, columns
}

// Ask asks the practice system, and returns what it has open by specialist id, and when it was asked. What is in columns
// of nobody here is left out. Errors: those of Upstream.GetOnlineReservations.
func (op *Openings) Ask(ctx context.Context, question upstream.Openings, columns map[string]string) (bySpecialist map[string][]upstream.Opening, asked time.Time, err error) {
	asked = time.Now()
	list, dropped, err := op.outbound.Options.Upstream.GetOnlineReservations(ctx, question)
	if err != nil {
		return nil, asked, err
	}
	if dropped > 0 {
		op.log.Warn("openings unreadable; not offered", "count", dropped)
	}
	bySpecialist = make(map[string][]upstream.Opening)
	for _, o := range list {
		if id, ours := columns[upstream.CanonicalGUID(o.ScheduleColumnGUID)]; ours {
			bySpecialist[id] = append(bySpecialist[id], o)
		}
	}
	return bySpecialist, asked, nil
}
