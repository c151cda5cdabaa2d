// Package clinic manages the schedule that everything else depends on: the clinic and its settings, specialists,
// appointment types, weekly hours, overrides and blocks. It also imports and exports all of them as a clinic file.
//
// # The snapshot in memory
//
// Current returns one immutable snapshot of the whole schedule, prepared for look-ups. When the store's feed delivers a
// change, FollowSchedule replaces the whole snapshot before that change's Write returns. After startup, nothing else
// replaces it. So callers find their own change in the next listing, and readers never see half of a change.
//
// # Generations
//
// Each appointment type has a generation. It identifies the state of everything that the type's slots are computed
// from. The generation changes after that state changes, and readers read the generation before the state. So a list
// computed from an older state is never found under the newer generation.
//
// # Changes
//
// Every change is one Write. Its preconditions, such as an unused name or an existing specialist, are checked in that
// Write, because writes run one after another. The audit entry and the saved response are committed with the change. A
// *record.ValidationError lists all mistakes together, each with its JSON path.
package clinic

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/engine/record"
	"holdfast/engine/words"
	"holdfast/store"
)

// Clinic reads and changes the schedule. It is safe for concurrent use.
type Clinic struct {
	store    store.Store
	log      *slog.Logger
	events   record.Publisher
	hooks    Hooks
	words    *words.Catalog
	schedule scheduleCache

	givenURL   string                 // Options.BaseURL
	guessedURL atomic.Pointer[string] // see GuessBaseURL
}

// Hooks are functions of higher-level packages that are called when the schedule changes. All of them are required.
type Hooks struct {
	// SpecialistChanged runs after the commit that stored or archived a specialist. The calls are in the order of this
	// node's commits.
	SpecialistChanged func(context.Context, store.Specialist)
}

// Options are the parameters of New.
type Options struct {
	Store   store.Store
	Logger  *slog.Logger
	Events  record.Publisher
	BaseURL string // the address of the pages; see ParseBaseURL. If empty, the settings decide
	Hooks   Hooks
	Words   *words.Catalog // the user-facing texts; nil means the built-in texts
}

// New returns a Clinic without a schedule. Call ReadSchedule before its other methods. New fails if BaseURL is not
// valid.
func New(o Options) (*Clinic, error) {
	given, err := ParseBaseURL(o.BaseURL)
	if err != nil {
		return nil, err
	}
	cl := &Clinic{store: o.Store, log: o.Logger, events: o.Events, hooks: o.Hooks, words: o.Words, givenURL: given}
	if cl.words == nil {
		cl.words = words.Embedded()
	}
	cl.schedule.clock.Store(uint64(time.Now().UnixMilli()))
	return cl, nil
}

// Words returns the user-facing texts in all languages.
func (cl *Clinic) Words() *words.Catalog { return cl.words }

// languages returns the tags of the languages of the texts, sorted.
func (cl *Clinic) languages() []string { return slices.Sorted(slices.Values(cl.words.Tags())) }

// UpdateClinic calls edit to change the clinic itself, without its settings. Errors: *ValidationError.
func (cl *Clinic) UpdateClinic(ctx context.Context, actor record.Actor, edit func(*store.Clinic)) (store.Clinic,
	error) {
	var after store.Clinic
	c := ScheduleChange{Actor: actor, Action: record.ActionClinicChanged, Subject: "clinic"}
	err := cl.changeStored(ctx, &c, func(tx store.Tx, s *store.Schedule) error {
		after = s.Clinic
		edit(&after)
		var m record.Mistakes
		cl.CheckClinic(&m, "", "contact.", &after)
		if err := m.Err(); err != nil {
			return err
		}
		after.Settings = s.Clinic.Settings
		c.before, c.after = clinicEntry(&s.Clinic), clinicEntry(&after)
		return tx.PutClinic(ctx, after)
	})
	return after, err
}

// UpdateSettings is like EditSettings, for an edit that cannot fail. Errors: *ValidationError.
func (cl *Clinic) UpdateSettings(ctx context.Context, actor record.Actor, edit func(*Settings)) (Settings, error) {
	return cl.EditSettings(ctx, actor, func(s *Settings) error { edit(s); return nil })
}

// EditSettings calls edit with the stored settings and stores the result. No other change to the settings can happen
// between the read and the write. If edit returns an error, EditSettings returns that error and stores nothing. Errors:
// *ValidationError.
func (cl *Clinic) EditSettings(ctx context.Context, actor record.Actor, edit func(*Settings) error) (Settings, error) {
	var after Settings
	c := ScheduleChange{Actor: actor, Action: record.ActionSettingsChanged, Subject: "clinic"}
	err := cl.changeStored(ctx, &c, func(tx store.Tx, s *store.Schedule) error {
		before, err := readSettings(s.Clinic.Settings)
		if err != nil {
			return err
		}
		after = before
		if err := edit(&after); err != nil {
			return err
		}
		var m record.Mistakes
		checkSettings(&m, cl.languages(), &after, &before)
		after.checkUse(&m, s, time.Now())
		if err := checkVisited(ctx, &m, tx, s, after.Places); err != nil {
			return err
		}
		if err := m.Err(); err != nil {
			return err
		}
		c.before, c.after = before.audited(), after.audited()
		if s.Clinic.Settings, err = after.stored(); err != nil {
			return err
		}
		if err := tx.PutClinic(ctx, s.Clinic); err != nil {
			return err
		}
		return clearPlaces(ctx, tx, s, after.Places)
	})
	return after, err
}

// StoredSchedule returns the schedule in the state that the transaction sees. Base a change on it, not on Current.
func StoredSchedule(ctx context.Context, tx store.Tx) (store.Schedule, error) {
	s, err := tx.Schedule(ctx)
	s.Clinic.Timezone = cmp.Or(s.Clinic.Timezone, unsetZone)
	return s, err
}

// CheckClinic trims and checks the clinic itself. at is the prefix of its field names in the received document;
// contact is the prefix of its contact fields.
func (cl *Clinic) CheckClinic(m *record.Mistakes, at, contact string, c *store.Clinic) {
	checkClinic(m, cl.languages(), at, contact, c)
}

func checkClinic(m *record.Mistakes, languages []string, at, contact string, c *store.Clinic) {
	for _, s := range []*string{&c.Name, &c.Locale, &c.Phone, &c.Email, &c.Address, &c.Website} {
		*s = strings.TrimSpace(*s)
	}
	if c.Name == "" {
		m.Add(at+"name", "give the clinic a name")
	}
	record.CheckText(m, at+"name", c.Name, 200, false)
	record.CheckText(m, contact+"address", c.Address, 500, true)
	checkZone(m, at+"timezone", c.Timezone)
	if c.Locale == "" {
		c.Locale = "en"
	}
	if base, _, _ := strings.Cut(c.Locale, "-"); !record.ValidLocale(c.Locale) ||
		!slices.Contains(languages, strings.ToLower(base)) {
		m.Add(at+"locale", "must be a language that the server has texts in (%s), optionally with a region, as in de-AT",
			strings.Join(languages, ", "))
	}
	if c.Phone != "" {
		record.CheckPhone(m, contact+"phone", c.Phone)
	}
	if c.Email != "" {
		record.CheckEmail(m, contact+"email", c.Email)
	}
	if c.Website != "" && (len(c.Website) > 500 || !strings.HasPrefix(c.Website, "https://") &&
		!strings.HasPrefix(c.Website, "http://")) {
		m.Add(contact+"website", "must be an address like https://example.org")
	}
	record.CheckText(m, contact+"website", c.Website, 500, false)
}
