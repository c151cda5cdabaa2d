package practice

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/occupancy"
	"holdfast/engine/timed"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// openingDays is the number of days per query, because a response may be at most 1 MiB.
const openingDays = 14

// maxOpeningRest is the longest back-off after queries that got no response.
const maxOpeningRest = 5 * time.Minute

// OpeningsFailed returns when the upstream stopped responding to queries for its openings, and why. The time is zero if
// it responds.
func (pr *Practice) OpeningsFailed() (since time.Time, reason string) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	return pr.failed, pr.failedBy
}

// fetchOpenings queries the openings for all types every OpeningsEvery, until ctx is done.
func (pr *Practice) fetchOpenings(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-pr.outbound.Ready(): // the pacer now includes the last write before startup
	}
	asks := upstream.NewPacer(pr.Options.Pacer.Spacing())
	pr.shareLine(asks, "upstream.openings")
	for inVain := 0; ctx.Err() == nil; {
		began := time.Now()
		err := pr.fetchAll(ctx, asks)
		pr.occupancy.ForgetOpenings(ctx)
		wait := pr.Options.Limits.OpeningsEvery - time.Since(began)
		if inVain++; err == nil {
			inVain = 0
		} else {
			wait = min(store.Backoff(pr.outbound.Options.Limits.Backoff, inVain), maxOpeningRest)
		}
		timed.Sleep(ctx, max(wait, asks.Spacing()), nil)
	}
}

// fetchAll queries the openings for all types once. It stops at the first query that gets no response.
func (pr *Practice) fetchAll(ctx context.Context, asks *upstream.Pacer) error {
	first, more := store.DateOf(time.Now().In(pr.clinic.Zone())), true
	for offset := 0; more; offset += openingDays {
		more = false
		for _, id := range pr.listedTypes() {
			days := pr.openingHorizon(id) - offset
			if days <= 0 {
				continue
			}
			more = true
			from := first.AddDays(offset)
			err := pr.fetchSome(ctx, asks, id, from, from.AddDays(min(days, openingDays)))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			pr.noteOpenings(err)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// listedTypes returns the ids of the active types that exist upstream, in page order.
func (pr *Practice) listedTypes() []string {
	s := pr.clinic.Current()
	var ids []string
	for i := range s.AppointmentTypes {
		if t := &s.AppointmentTypes[i]; t.Active && t.UpstreamTypeID != "" {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// openingHorizon returns the number of days, starting today, on which a type can be booked. It is 0 if the type has
// been archived.
func (pr *Practice) openingHorizon(appointmentTypeID string) int {
	t := pr.clinic.Current().Types[appointmentTypeID]
	if t == nil {
		return 0
	}
	return t.HorizonDays + 1
}

// fetchSome queries the openings for one type on the days in [from, end).
func (pr *Practice) fetchSome(ctx context.Context, asks *upstream.Pacer, appointmentTypeID string, from,
	end store.Date) error {
	s := pr.clinic.Current()
	t := s.Types[appointmentTypeID]
	if t == nil {
		return nil
	}
	question, columns := QuestionFor(s, t, from, end)
	if len(columns) == 0 {
		return nil
	}
	for range 6 { // writes go first, for at most six spacings
		if pr.Options.Pacer.Waiting() == 0 {
			break
		}
		timed.Sleep(ctx, pr.Options.Pacer.Spacing(), nil)
	}
	if err := asks.Wait(ctx, upstream.NoBound); err != nil {
		return err
	}
	bySpecialist, asked, err := pr.AskOpenings(ctx, question, columns)
	if err != nil {
		return err
	}
	pr.occupancy.LearnOpenings(ctx, appointmentTypeID, from, end, bySpecialist, asked)
	return nil
}

// noteOpenings stores the result of the last query and logs a change.
func (pr *Practice) noteOpenings(err error) {
	why := ""
	if err != nil {
		why = upstream.Words(err)
	}
	pr.mu.Lock()
	before := pr.failed
	switch {
	case err == nil:
		pr.failed, pr.failedBy = time.Time{}, ""
	case before.IsZero():
		pr.failed, pr.failedBy = pr.outbound.Now(), why
	default:
		pr.failedBy = why
	}
	pr.mu.Unlock()
	switch {
	case err != nil && before.IsZero():
		pr.log.Warn("failed to fetch openings; using the last ones until they expire", "reason", why, "max_age",
			pr.Options.Limits.OpeningsMaxAge)
	case err == nil && !before.IsZero():
		pr.log.Info("resumed fetching openings")
	}
}

// QuestionFor returns the query for one type's openings on the clinic's local days in [from, end). columns maps
// upstream columns to specialist ids. columns is empty if none of the specialists exist upstream.
func QuestionFor(s *clinic.Schedule, t *store.AppointmentType, from,
	end store.Date) (question upstream.Openings, columns map[string]string) {
	question = upstream.Openings{
		From: availability.StartOfDay(s.Zone, from), To: availability.StartOfDay(s.Zone, end).Add(-time.Second),
		Zone: s.Zone, AppointmentTypeGUIDs: []string{t.UpstreamTypeID},
	}
	columns = make(map[string]string)
	for _, a := range t.Specialists {
		p := s.SpecialistByID[a.SpecialistID]
		if p == nil || !p.Active || p.UpstreamColumnID == "" || p.UpstreamScheduleViewID == "" {
			continue
		}
		columns[upstream.CanonicalGUID(p.UpstreamColumnID)] = p.ID
		if !slices.ContainsFunc(question.ScheduleViewGUIDs, func(v string) bool {
			return upstream.EqualGUID(v, p.UpstreamScheduleViewID)
		}) {
			question.ScheduleViewGUIDs = append(question.ScheduleViewGUIDs, p.UpstreamScheduleViewID)
		}
	}
	return question, columns
}

// AskOpenings returns the upstream's openings by specialist id, and the time of the request. It leaves out columns that
// belong to other specialists. Errors: those of Upstream.GetOnlineReservations.
func (pr *Practice) AskOpenings(ctx context.Context, question upstream.Openings,
	columns map[string]string) (bySpecialist map[string][]occupancy.Interval, asked time.Time, err error) {
	asked = time.Now()
	list, dropped, err := pr.Options.Upstream.GetOnlineReservations(ctx, question)
	if err != nil {
		return nil, asked, err
	}
	if dropped > 0 {
		pr.log.Warn("unreadable openings skipped", "count", dropped)
	}
	bySpecialist = make(map[string][]occupancy.Interval)
	for _, o := range list {
		if id, ours := columns[upstream.CanonicalGUID(o.ScheduleColumnGUID)]; ours {
			bySpecialist[id] = append(bySpecialist[id], occupancy.Interval{From: o.Start,
				To: o.Start.Add(time.Duration(o.Minutes) * time.Minute)})
		}
	}
	return bySpecialist, asked, nil
}
