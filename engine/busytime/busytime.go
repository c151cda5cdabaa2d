// Package busytime reads the external calendars of specialists, using the secret address of an .ics file. While a
// specialist is busy in that calendar, no client can book that specialist here.
//
// # Stored data
//
// The package stores only a calendar's busy times, as blocks whose Source is the calendar, and looks ahead by at most
// Ahead. It does not read the subjects of events. The address is sealed with the keys of secret.key. An appointment
// that overlaps such a block stays booked, and State lists it as a conflict.
//
// # Reading
//
// A calendar is read every 15 minutes, by the first process that claims it in the database. If a calendar cannot be
// read, the last version remains in use, and State contains its age and the reason for the failure. A new version
// replaces the last one in one transaction.
package busytime

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/ical"
	"holdfast/engine/notice"
	"holdfast/engine/record"
	"holdfast/engine/timed"
	"holdfast/engine/token"
	"holdfast/engine/upstream"
	"holdfast/store"
)

const (
	Every  = 15 * time.Minute    // the time between two reads of a calendar
	Ahead  = 90 * 24 * time.Hour // measured from the beginning of today
	TooOld = 24 * time.Hour      // an older version is out of date

	look       = time.Minute // the time between two checks for calendars that are due
	atOnce     = 4
	maxAddress = 2000
)

// The reasons why a calendar could not be read. If a server responds with another status, the reason is FailedStatus
// followed by the status code.
const (
	FailedPrivate     = "private_address"
	FailedInsecure    = "insecure"
	FailedUnreachable = "unreachable"
	FailedTooLarge    = "too_large"
	FailedNoCalendar  = "not_a_calendar"
	FailedSealed      = "address_unreadable" // secret.key has changed
	FailedStatus      = "status_"
)

// ErrNone reports that the specialist has no external calendar.
var ErrNone = errors.New("the specialist has no external calendar")

// Options are the parameters of New.
type Options struct {
	Store   store.Store
	Clinic  *clinic.Clinic
	Logger  *slog.Logger
	Fetcher *notice.Fetcher // default: a Fetcher that connects only to public addresses
	Keys    *token.Keys
}

// Calendars reads specialists' external calendars. It is safe for concurrent use.
type Calendars struct {
	Options
}

// New returns a Calendars. The caller must call Run, which reads the calendars.
func New(o Options) *Calendars {
	if o.Fetcher == nil {
		o.Fetcher = notice.NewFetcher(notice.FetchOptions{})
	}
	return &Calendars{o}
}

// State is the state of a specialist's external calendar.
type State struct {
	IsSet     bool
	Host      string // the host of the address; empty if the address cannot be unsealed
	SetAt     time.Time
	AskedAt   time.Time // time of the last attempt to read; zero means none yet
	ReadAt    time.Time // time of the last successful read; zero means never
	Failure   string    // why the last read failed; empty means it succeeded
	Unread    int       // events that could not be parsed
	IsOld     bool      // the stored version is out of date
	Blocks    int       // number of busy times that have not ended
	Conflicts []store.Appointment
}

// Of returns the state of a specialist's external calendar, with the appointments that conflict with it. Errors:
// store.ErrNotFound.
func (ca *Calendars) Of(ctx context.Context, specialistID string) (State, error) {
	now := time.Now()
	blocks, err := ca.Clinic.Blocks(specialistID)
	if err != nil {
		return State{}, err
	}
	b, err := find(ctx, ca.Store, specialistID)
	if errors.Is(err, ErrNone) {
		return State{}, nil
	}
	if err != nil {
		return State{}, err
	}
	s := State{IsSet: true, SetAt: b.SetAt, AskedAt: b.AskedAt, ReadAt: b.ReadAt, Failure: b.Failure, Unread: b.Unread}
	s.IsOld = now.Sub(availability.Later(b.ReadAt, b.SetAt)) > TooOld || b.ReadAt.IsZero() && b.Failure != ""
	if address, ok := ca.open(&b); ok {
		if u, err := url.Parse(address); err == nil {
			s.Host = u.Hostname()
		}
	}
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(b store.Block) bool {
		return b.Source != store.BlockCalendar || !b.End.After(now)
	})
	s.Blocks = len(blocks)
	s.Conflicts, err = ca.conflicts(ctx, specialistID, blocks, now)
	return s, err
}

// conflicts lists the future appointments that overlap one of the blocks, by start.
func (ca *Calendars) conflicts(ctx context.Context, specialistID string, blocks []store.Block,
	now time.Time) (all []store.Appointment, err error) {
	if len(blocks) == 0 {
		return nil, nil
	}
	filter := store.AppointmentFilter{SpecialistID: specialistID, Status: store.Confirmed, From: now,
		To: now.Add(Ahead), Limit: 500}
	for {
		page, next, err := ca.Store.Appointments(ctx, filter)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if a := &page[i]; slices.ContainsFunc(blocks, func(b store.Block) bool {
				return b.Start.Before(a.SlotEnd) && a.SlotStart.Before(b.End)
			}) {
				all = append(all, *a)
			}
		}
		if filter.Cursor = next; next == "" {
			return all, nil
		}
	}
}

func find(ctx context.Context, r store.BusyCalendarReader, specialistID string) (store.BusyCalendar, error) {
	all, err := r.BusyCalendars(ctx)
	if err != nil {
		return store.BusyCalendar{}, err
	}
	i := slices.IndexFunc(all, func(b store.BusyCalendar) bool { return b.SpecialistID == specialistID })
	if i < 0 {
		return store.BusyCalendar{}, ErrNone
	}
	return all[i], nil
}

// about returns the purpose that a specialist's address is sealed for.
func about(specialistID string) string { return "busy calendar of " + specialistID }

func (ca *Calendars) open(b *store.BusyCalendar) (address string, ok bool) {
	return ca.Keys.Current().Open(b.Address, about(b.SpecialistID))
}

// Set sets the address of a specialist's external calendar, replacing any earlier one. The busy times of the earlier
// calendar remain in effect until the new one has been read. Errors: store.ErrNotFound, *record.ValidationError.
func (ca *Calendars) Set(ctx context.Context, actor record.Actor, specialistID, address string) error {
	address = strings.TrimSpace(address)
	if rest, ok := strings.CutPrefix(address, "webcal://"); ok {
		address = "https://" + rest
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || len(address) > maxAddress:
		return record.Invalid("url",
			"must be the address of a calendar, like https://calendar.example.org/secret/basic.ics")
	case u.Scheme == "http" && !ca.Fetcher.AllowsPrivate():
		return record.Invalid("url",
			"must begin with https:// or webcal://: the address gives access to the calendar, so the connection "+
				"must be encrypted")
	}
	b := store.BusyCalendar{SpecialistID: specialistID, Address: ca.Keys.Current().Seal(address, about(specialistID)),
		SetAt: record.Now()}
	return ca.Clinic.ChangeSchedule(ctx, &clinic.ScheduleChange{Actor: actor,
		Action: record.ActionSpecialistBusyCalendarSet, Subject: "specialist:" + specialistID},
		func(tx store.Tx) error { return tx.PutBusyCalendar(ctx, b) })
}

// Remove deletes the calendar's address and its busy times. If there is no calendar, it returns nil. Errors:
// store.ErrNotFound.
func (ca *Calendars) Remove(ctx context.Context, actor record.Actor, specialistID string) error {
	return ca.Clinic.ChangeSchedule(ctx, &clinic.ScheduleChange{Actor: actor,
		Action: record.ActionSpecialistBusyCalendarRemoved, Subject: "specialist:" + specialistID},
		func(tx store.Tx) error {
			if _, err := tx.PutBusyBlocks(ctx, specialistID, nil); err != nil {
				return err
			}
			return tx.DeleteBusyCalendar(ctx, specialistID)
		})
}

// Seal seals all addresses with the current key. Call it before a rotation replaces that key. An address that cannot be
// unsealed is left unchanged.
func (ca *Calendars) Seal(ctx context.Context) error {
	return ca.Store.Write(ctx, func(tx store.Tx) error {
		all, err := tx.BusyCalendars(ctx)
		if err != nil {
			return err
		}
		for _, b := range all {
			address, ok := ca.open(&b)
			if !ok { // the address must be entered again
				continue
			}
			b.Address = ca.Keys.Current().Seal(address, about(b.SpecialistID))
			if err := tx.PutBusyCalendar(ctx, b); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		return nil
	})
}

// Run reads calendars as they become due, until ctx is done.
func (ca *Calendars) Run(ctx context.Context) {
	ca.round(ctx)
	timed.Every(ctx, look, func(time.Time) { ca.round(ctx) })
}

func (ca *Calendars) round(ctx context.Context) {
	all, err := ca.Store.BusyCalendars(ctx)
	if err != nil {
		if ctx.Err() == nil {
			ca.Logger.Warn("failed to load the list of external calendars; retrying in 1 minute", "error", err)
		}
		return
	}
	room := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for _, b := range all {
		if p, err := ca.Clinic.Specialist(b.SpecialistID); err != nil || !p.Active || !due(&b, time.Now()) {
			continue
		}
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			if err := ca.read(ctx, b.SpecialistID, false); err != nil && ctx.Err() == nil && !errors.Is(err, ErrNone) {
				ca.Logger.Warn("failed to store the busy times from a specialist's calendar",
					"specialist", b.SpecialistID, "error", err)
			}
		})
	}
	running.Wait()
}

// due reports whether the last read is at least Every ago, or is in the future because a clock was set back.
func due(b *store.BusyCalendar, now time.Time) bool {
	since := now.Sub(b.AskedAt)
	return b.AskedAt.IsZero() || since >= Every || since < -Every
}

// Read reads a specialist's calendar immediately. If the calendar cannot be read, it returns nil, and Of returns the
// reason. Errors: ErrNone.
func (ca *Calendars) Read(ctx context.Context, specialistID string) error {
	return ca.read(ctx, specialistID, true)
}

// read fetches a calendar and stores its busy times. If several processes call it at the same time, only one of them
// fetches the calendar, unless isNow is set.
func (ca *Calendars) read(ctx context.Context, specialistID string, isNow bool) error {
	now := record.Now()
	var b store.BusyCalendar
	var isOurs bool
	err := ca.Store.Write(ctx, func(tx store.Tx) (err error) {
		if b, err = find(ctx, tx, specialistID); err != nil {
			return err
		}
		if isOurs = isNow || due(&b, now); !isOurs {
			return nil
		}
		claimed := b
		claimed.AskedAt = now
		return tx.PutBusyCalendar(ctx, claimed)
	})
	if err != nil || !isOurs {
		return err
	}
	p, err := ca.Clinic.Specialist(specialistID)
	if err != nil {
		return err
	}
	after, busy, isNew := ca.ask(ctx, b, &p, now)
	if ctx.Err() != nil { // cancelled, so the error is not about the calendar
		return ctx.Err()
	}
	blocks := make([]store.Block, len(busy))
	for i, s := range busy {
		blocks[i] = store.Block{ID: record.NewID(), Start: s.Start, End: s.End}
	}
	return ca.Store.Write(context.WithoutCancel(ctx), func(tx store.Tx) error {
		there, err := find(ctx, tx, specialistID)
		if errors.Is(err, ErrNone) || err == nil && !there.SetAt.Equal(b.SetAt) {
			return nil // the calendar was removed or replaced during the read
		}
		if err != nil {
			return err
		}
		after.AskedAt, after.Address = availability.Later(there.AskedAt, now), there.Address
		if err := tx.PutBusyCalendar(ctx, after); err != nil || !isNew {
			return err
		}
		_, err = tx.PutBusyBlocks(ctx, specialistID, blocks)
		return err
	})
}

// ask fetches a specialist's calendar and returns its new state. If isNew is true, busy replaces the stored busy times.
func (ca *Calendars) ask(ctx context.Context, b store.BusyCalendar, p *store.Specialist,
	now time.Time) (after store.BusyCalendar, busy []ical.Span, isNew bool) {
	after = b
	address, ok := ca.open(&b)
	if !ok {
		after.Failure = FailedSealed
		return after, nil, false
	}
	readIn, tag, _ := strings.Cut(b.Tag, " ")
	modified := b.Modified
	// the zone has changed, or a new day has begun and repeated events must be expanded for it
	if readIn != p.Timezone || !today(b.ReadAt).Equal(today(now)) {
		tag, modified = "", ""
	}
	got, err := ca.Fetcher.Fetch(ctx, address, "text/calendar, */*;q=0.1", tag, modified)
	if err == nil && got.IsUnchanged {
		after.ReadAt, after.Failure = now, ""
		return after, nil, false
	}
	unread := 0
	if err == nil {
		var zone *time.Location
		if zone, err = time.LoadLocation(p.Timezone); err == nil {
			from := today(now).Add(-24 * time.Hour)
			busy, unread, err = ical.Busy(got.Text, ical.Query{Home: zone,
				From: from, To: from.Add(24*time.Hour + Ahead), Zone: upstream.Zone, IsOwn: func(id string) bool {
					_, err := ca.Store.Appointment(ctx, id)
					return err == nil
				}})
		}
	}
	if after.Failure = failure(err); err != nil {
		ca.Logger.Info("failed to read a specialist's calendar; using the last version",
			"specialist", b.SpecialistID, "why", after.Failure)
		return after, nil, false
	}
	after.ReadAt, after.Unread, after.Tag, after.Modified = now, unread, p.Timezone+" "+got.Tag, got.Modified
	return after, busy, true
}

// today returns the start of an instant's UTC day.
func today(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }

// failure returns the code of the reason why a calendar could not be read, or an empty string for nil.
func failure(err error) string {
	var status *notice.FetchStatusError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &status):
		return FailedStatus + strconv.Itoa(status.Status)
	case errors.Is(err, notice.ErrFetchPrivate):
		return FailedPrivate
	case errors.Is(err, notice.ErrFetchInsecure):
		return FailedInsecure
	case errors.Is(err, notice.ErrFetchTooLarge), errors.Is(err, ical.ErrTooMuch):
		return FailedTooLarge
	case errors.Is(err, notice.ErrFetchUnreachable):
		return FailedUnreachable
	}
	return FailedNoCalendar
}
