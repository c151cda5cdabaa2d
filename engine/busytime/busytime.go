// Package busytime reads the calendars that specialists have elsewhere, by the secret address of an .ics file: while they are busy there,
// nothing is booked here.
//
// # What is kept
//
// Of a calendar only when somebody is busy is kept, as blocks whose Source is the calendar, at most Ahead; what the events are about is
// not even looked at. The address is sealed with the keys of secret.key. What is in a block already booked stays booked: it is a conflict,
// and shown as one.
//
// # When it is read
//
// Every quarter of an hour, by whichever process comes first, which says so in the database before it asks. A calendar that cannot be
// read leaves what was read before; how old that is, and why, is told. What is read takes the place of what was, in one transaction.
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
	Every  = 15 * time.Minute    // between two questions
	Ahead  = 90 * 24 * time.Hour // from the beginning of today
	TooOld = 24 * time.Hour      // what was read longer ago is not to be relied on

	look       = time.Minute // between two looks for what is due
	atOnce     = 4
	maxAddress = 2000
)

// Failures are why a calendar could not be read. One of a server that answered otherwise is FailedStatus and the number.
const (
	FailedPrivate     = "private_address"
	FailedInsecure    = "insecure"
	FailedUnreachable = "unreachable"
	FailedTooLarge    = "too_large"
	FailedNoCalendar  = "not_a_calendar"
	FailedSealed      = "address_unreadable" // secret.key is another one
	FailedStatus      = "status_"
)

// ErrNone: the specialist has no calendar elsewhere that is read.
var ErrNone = errors.New("no calendar of the specialist is read")

// Options are what Calendars are made of.
type Options struct {
	Store   store.Store
	Clinic  *clinic.Clinic
	Logger  *slog.Logger
	Fetcher *notice.Fetcher // default: one that goes to public addresses
	Keys    *token.Keys
}

// Calendars reads specialists' calendars elsewhere. It is safe for concurrent use.
type Calendars struct {
	Options
}

// New returns Calendars. Work is to be run for anything to be read by itself.
func New(o Options) *Calendars {
	if o.Fetcher == nil {
		o.Fetcher = notice.NewFetcher(notice.FetchOptions{})
	}
	return &Calendars{o}
}

// State is how it is with a specialist's calendar elsewhere.
type State struct {
	IsSet     bool
	Host      string // of the address; empty if that cannot be read
	SetAt     time.Time
	AskedAt   time.Time // zero: not yet
	ReadAt    time.Time // zero: never
	Failure   string    // why the last question was in vain; empty: it was not
	Unread    int       // events that were not understood
	IsOld     bool      // what is known of it is not to be relied on
	Blocks    int       // stretches of busy time from now on
	Conflicts []store.Appointment
}

// Of says how it is with a specialist's calendar elsewhere, and which appointments it is at odds with. store.ErrNotFound.
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
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(b store.Block) bool { return b.Source != store.BlockCalendar || !b.End.After(now) })
	s.Blocks = len(blocks)
	s.Conflicts, err = ca.conflicts(ctx, specialistID, blocks, now)
	return s, err
}

// conflicts are the appointments to come that lie in one of the blocks, by start.
func (ca *Calendars) conflicts(ctx context.Context, specialistID string, blocks []store.Block, now time.Time) (all []store.Appointment, err error) {
	if len(blocks) == 0 {
		return nil, nil
	}
	filter := store.AppointmentFilter{SpecialistID: specialistID, Status: store.Confirmed, From: now, To: now.Add(Ahead), Limit: 500}
	for {
		page, next, err := ca.Store.Appointments(ctx, filter)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if a := &page[i]; slices.ContainsFunc(blocks, func(b store.Block) bool { return b.Start.Before(a.SlotEnd) && a.SlotStart.Before(b.End) }) {
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

// about is what an address is sealed for.
func about(specialistID string) string { return "busy calendar of " + specialistID }

func (ca *Calendars) open(b *store.BusyCalendar) (address string, ok bool) {
	return ca.Keys.Current().Open(b.Address, about(b.SpecialistID))
}

// Set has the calendar at an address read from now on, in place of another. What was read of that counts until this one
// was read. store.ErrNotFound, *record.ValidationError.
func (ca *Calendars) Set(ctx context.Context, actor record.Actor, specialistID, address string) error {
	address = strings.TrimSpace(address)
	if rest, ok := strings.CutPrefix(address, "webcal://"); ok {
		address = "https://" + rest
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || len(address) > maxAddress:
		return record.Invalid("url", "must be the address of a calendar, like https://calendar.example.org/secret/basic.ics")
	case u.Scheme == "http" && !ca.Fetcher.AllowsPrivate():
		return record.Invalid("url", "must begin with https:// or webcal://: whoever has this address reads the calendar, so nobody on the way may")
	}
	b := store.BusyCalendar{SpecialistID: specialistID, Address: ca.Keys.Current().Seal(address, about(specialistID)), SetAt: record.Now()}
	return ca.Clinic.ChangeSchedule(ctx, &clinic.ScheduleChange{Actor: actor, Action: record.ActionSpecialistBusyCalendarSet, Subject: "specialist:" + specialistID},
		func(tx store.Tx) error { return tx.PutBusyCalendar(ctx, b) })
}

// Remove ends the reading, and what was read no longer counts. Removing none is no error. store.ErrNotFound.
func (ca *Calendars) Remove(ctx context.Context, actor record.Actor, specialistID string) error {
	return ca.Clinic.ChangeSchedule(ctx, &clinic.ScheduleChange{Actor: actor, Action: record.ActionSpecialistBusyCalendarRemoved, Subject: "specialist:" + specialistID},
		func(tx store.Tx) error {
			if _, err := tx.PutBusyBlocks(ctx, specialistID, nil); err != nil {
				return err
			}
			return tx.DeleteBusyCalendar(ctx, specialistID)
		})
}

// Seal seals all addresses with the key that signs now, before that is replaced.
func (ca *Calendars) Seal(ctx context.Context) error {
	return ca.Store.Write(ctx, func(tx store.Tx) error {
		all, err := tx.BusyCalendars(ctx)
		if err != nil {
			return err
		}
		for _, b := range all {
			address, ok := ca.open(&b)
			if !ok { // it is to be typed again
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

// Run reads what is due, until ctx ends.
func (ca *Calendars) Run(ctx context.Context) {
	ca.round(ctx)
	timed.Every(ctx, look, func(time.Time) { ca.round(ctx) })
}

func (ca *Calendars) round(ctx context.Context) {
	all, err := ca.Store.BusyCalendars(ctx)
	if err != nil {
		if ctx.Err() == nil {
			ca.Logger.Warn("calendars to read not loaded; retrying in a minute", "error", err)
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
				ca.Logger.Warn("busy times of a specialist's calendar not stored", "specialist", b.SpecialistID, "error", err)
			}
		})
	}
	running.Wait()
}

// due: nobody has asked lately, or a clock was set back.
func due(b *store.BusyCalendar, now time.Time) bool {
	since := now.Sub(b.AskedAt)
	return b.AskedAt.IsZero() || since >= Every || since < -Every
}

// Read reads a specialist's calendar now. That it cannot be read is no error: Of says so. ErrNone.
func (ca *Calendars) Read(ctx context.Context, specialistID string) error {
	return ca.read(ctx, specialistID, true)
}

// read asks for a calendar and keeps what it says. Of several processes one asks, unless it is to be now.
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
	if ctx.Err() != nil { // nothing was found out about the calendar
		return ctx.Err()
	}
	blocks := make([]store.Block, len(busy))
	for i, s := range busy {
		blocks[i] = store.Block{ID: record.NewID(), Start: s.Start, End: s.End}
	}
	return ca.Store.Write(context.WithoutCancel(ctx), func(tx store.Tx) error {
		there, err := find(ctx, tx, specialistID)
		if errors.Is(err, ErrNone) || err == nil && !there.SetAt.Equal(b.SetAt) {
			return nil // it was removed meanwhile, or is another
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

// ask reads the calendar of a specialist, and says what is known of it then. isNew: busy takes the place of what was.
func (ca *Calendars) ask(ctx context.Context, b store.BusyCalendar, p *store.Specialist, now time.Time) (after store.BusyCalendar, busy []ical.Span, isNew bool) {
	after = b
	address, ok := ca.open(&b)
	if !ok {
		after.Failure = FailedSealed
		return after, nil, false
	}
	readIn, tag, _ := strings.Cut(b.Tag, " ")
	modified := b.Modified
	if readIn != p.Timezone || !today(b.ReadAt).Equal(today(now)) { // its days begin elsewhere, or a new day is ahead, and repetitions are in it
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
			busy, unread, err = ical.Busy(got.Text, ical.Query{Home: zone, From: from, To: from.Add(24*time.Hour + Ahead), Zone: upstream.Zone, IsOwn: func(id string) bool {
				_, err := ca.Store.Appointment(ctx, id)
				return err == nil
			}})
		}
	}
	if after.Failure = failure(err); err != nil {
		ca.Logger.Info("specialist's calendar not read; using the last version", "specialist", b.SpecialistID, "why", after.Failure)
		return after, nil, false
	}
	after.ReadAt, after.Unread, after.Tag, after.Modified = now, unread, p.Timezone+" "+got.Tag, got.Modified
	return after, busy, true
}

// today returns the beginning of the UTC day of an instant.
func today(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }

// failure is the code of why a calendar could not be read; empty for nil.
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
