package outbound

import (
	"context"
	"slices"
	"sync"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// # Openings, fetched ahead
//
// One question after the other, a spacing of the pacer apart and never while somebody waits to write, goes through the days of
// each appointment type up to its horizon, the nearest days of all types first. What is answered is believed by package booking
// until it is too old. A practice system that does not answer is asked again after a back-off, and what it said last counts on.

// openingDays is how many days one question asks about: an answer is limited to 1 MiB.
const openingDays = 14

// maxOpeningRest bounds the back-off after questions without an answer.
const maxOpeningRest = 5 * time.Minute

// openingsState is how the fetching goes.
type openingsState struct {
	mu     sync.Mutex
	failed time.Time // when the last question was not answered; zero: it was
	why    string
}

// OpeningsFailed says since when the practice system has not been answering about its openings, and why; zero: it answers.
func (out *Outbound) OpeningsFailed() (time.Time, string) {
	out.openings.mu.Lock()
	defer out.openings.mu.Unlock()
	return out.openings.failed, out.openings.why
}

func (out *Outbound) fetchesOpenings() bool {
	return out.Options.Upstream != nil && out.Options.Limits.OpeningsEvery > 0
}

// fetchOpenings goes through all types again and again, until ctx ends.
func (out *Outbound) fetchOpenings(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-out.queueReady: // and the pacer knows of the last write before the start
	}
	asks := upstream.NewPacer(out.Options.Pacer.Spacing())
	out.shareLine(asks, "upstream.openings")
	for inVain := 0; ctx.Err() == nil; {
		began := time.Now()
		err := out.fetchAll(ctx, asks)
		out.booking.ForgetOpenings(ctx)
		wait := out.Options.Limits.OpeningsEvery - time.Since(began)
		if inVain++; err == nil {
			inVain = 0
		} else {
			wait = min(store.Backoff(out.Options.Limits.Backoff, inVain), maxOpeningRest)
		}
		Sleep(ctx, max(wait, asks.Spacing()), nil)
	}
}

// fetchAll asks about all types once. It stops at the first question that is not answered.
func (out *Outbound) fetchAll(ctx context.Context, asks *upstream.Pacer) error {
	first, more := store.DateOf(time.Now().In(out.clinic.Zone())), true
	for offset := 0; more; offset += openingDays {
		more = false
		for _, id := range out.listedTypes() {
			days := out.openingHorizon(id) - offset
			if days <= 0 {
				continue
			}
			more = true
			from := first.AddDays(offset)
			err := out.fetchSome(ctx, asks, id, from, from.AddDays(min(days, openingDays)))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			out.noteOpenings(err)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// listedTypes are the ids of the active types that the practice system knows, in their order on the page.
func (out *Outbound) listedTypes() []string {
	s := out.clinic.Current()
	var ids []string
	for i := range s.AppointmentTypes {
		if t := &s.AppointmentTypes[i]; t.Active && t.UpstreamTypeID != "" {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// openingHorizon is how many days from today on a type can be booked; none if it is gone.
func (out *Outbound) openingHorizon(appointmentTypeID string) int {
	t := out.clinic.Current().Types[appointmentTypeID]
	if t == nil {
		return 0
	}
	return t.HorizonDays + 1
}

// fetchSome asks about some days of one type.
func (out *Outbound) fetchSome(ctx context.Context, asks *upstream.Pacer, appointmentTypeID string, from, end store.Date) error {
	s := out.clinic.Current()
	t := s.Types[appointmentTypeID]
	if t == nil {
		return nil
	}
	question, columns := QuestionFor(s, t, from, end)
	if len(columns) == 0 {
		return nil
	}
	for range 6 { // those who write go first, for a minute
		if out.Options.Pacer.Waiting() == 0 {
			break
		}
		Sleep(ctx, out.Options.Pacer.Spacing(), nil)
	}
	if err := asks.Wait(ctx, upstream.NoBound); err != nil {
		return err
	}
	bySpecialist, asked, err := out.AskOpenings(ctx, question, columns)
	if err != nil {
		return err
	}
	out.booking.LearnOpenings(ctx, appointmentTypeID, from, end, bySpecialist, asked)
	return nil
}

// noteOpenings keeps how the last question went, and logs when that changes.
func (out *Outbound) noteOpenings(err error) {
	why := ""
	if err != nil {
		why = words(err)
	}
	out.openings.mu.Lock()
	before := out.openings.failed
	switch {
	case err == nil:
		out.openings.failed, out.openings.why = time.Time{}, ""
	case before.IsZero():
		out.openings.failed, out.openings.why = out.Now(), why
	default:
		out.openings.why = why
	}
	out.openings.mu.Unlock()
	switch {
	case err != nil && before.IsZero():
		out.log.Warn("the practice system does not list its openings; what it listed last counts until it is too old", "reason", why, "max_age", out.Options.Limits.OpeningsMaxAge)
	case err == nil && !before.IsZero():
		out.log.Info("the practice system lists its openings again")
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

// AskOpenings asks the practice system, and returns what it has open by specialist id, and when it was asked. What is in columns
// of nobody here is left out. Errors: those of Upstream.GetOnlineReservations.
func (out *Outbound) AskOpenings(ctx context.Context, question upstream.Openings, columns map[string]string) (bySpecialist map[string][]upstream.Opening, asked time.Time, err error) {
	asked = time.Now()
	list, dropped, err := out.Options.Upstream.GetOnlineReservations(ctx, question)
	if err != nil {
		return nil, asked, err
	}
	if dropped > 0 {
		out.log.Warn("openings of the practice system could not be read and are not offered", "count", dropped)
	}
	bySpecialist = make(map[string][]upstream.Opening)
	for _, o := range list {
		if id, ours := columns[upstream.CanonicalGUID(o.ScheduleColumnGUID)]; ours {
			bySpecialist[id] = append(bySpecialist[id], o)
		}
	}
	return bySpecialist, asked, nil
}
