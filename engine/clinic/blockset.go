package clinic

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/record"
	"holdfast/store"
)

// MaxBlocks is the maximum number of blocks that one form creates: the number of specialists times the number of days.
const MaxBlocks = 2000

// maxRepeat is the maximum number of days after its first day that a block can be repeated.
const maxRepeat = 2 * 366

// BlockForm describes blocks that are created together: for one, several or all specialists, once, on several days, or
// every few weeks. Dates and times are in the clinic's local time, regardless of a specialist's zone.
type BlockForm struct {
	SpecialistIDs []string // empty means all specialists who are active now; specialists added later are not blocked
	Spans         []BlockSpan
	EveryWeeks    int // with Until: repeat each span after this many weeks, 1 to 52
	Until         store.Date
}

// BlockSpan is one period: whole days, or from a time on the first day to a time on the last day.
type BlockSpan struct {
	Title      string
	From, To   store.Date // both included
	Start, End store.TimeOfDay
	Whole      bool // Start and End are ignored
}

// blockSet is the audit entry for blocks that were created or removed together.
type blockSet struct {
	SetID         string       `json:"setId,omitempty"`
	Blocks        int          `json:"blocks"`
	SpecialistIDs []string     `json:"specialistIds"`
	First         []BlockEntry `json:"first"` // at most ten of them
}

func auditedSet(list []store.Block) blockSet {
	s := blockSet{SetID: list[0].SetID, Blocks: len(list)}
	for i := range list {
		if !slices.Contains(s.SpecialistIDs, list[i].SpecialistID) {
			s.SpecialistIDs = append(s.SpecialistIDs, list[i].SpecialistID)
		}
		if i < 10 {
			s.First = append(s.First, blockEntry(&list[i]))
		}
	}
	return s
}

// PlanBlocks lists the blocks that a form would create, by start, then specialist. It does not write anything. Errors:
// *ValidationError.
func (cl *Clinic) PlanBlocks(f BlockForm) ([]store.Block, error) {
	s := cl.Current()
	ids := f.SpecialistIDs
	if len(ids) == 0 {
		for i := range s.Specialists {
			if s.Specialists[i].Active {
				ids = append(ids, s.Specialists[i].ID)
			}
		}
	}
	if err := f.check(s, ids); err != nil {
		return nil, err
	}
	setID := record.NewID()
	var all []store.Block
	for i := range f.Spans {
		at := fmt.Sprintf("spans[%d].", i)
		for b := range f.repeats(&f.Spans[i], s.Zone) {
			for _, id := range ids {
				b.ID, b.SetID, b.SpecialistID = record.NewID(), setID, id
				if err := checkPlanned(at, &b); err != nil {
					return nil, err
				}
				all = append(all, b)
			}
			if len(all) > MaxBlocks {
				return nil, record.Invalid("spans",
					"that would be more than %d blocks (specialists times days); choose fewer days", MaxBlocks)
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Start.Before(all[j].Start) })
	if len(all) == 1 {
		all[0].SetID = ""
	}
	if all[len(all)-1].End.Before(time.Now().Add(-store.BlockMemory)) {
		return nil, record.Invalid("spans[0].to", "is too far in the past for a block")
	}
	return all, nil
}

// check checks the form and the specialists that it is for, but not the blocks that it creates.
func (f *BlockForm) check(s *Schedule, ids []string) error {
	var m record.Mistakes
	for i, id := range ids {
		if s.SpecialistByID[id] == nil || slices.Contains(ids[:i], id) {
			m.Add(indexed("specialistIds", i), "no specialist has this id, or the id is in the list twice")
		}
	}
	switch {
	case len(ids) == 0:
		m.Add("specialistIds", "the clinic has no specialists yet")
	case len(f.Spans) == 0:
		m.Add("spans", "enter a start and an end")
	case len(f.Spans) > MaxBlocks:
		m.Add("spans", "must be at most %d", MaxBlocks)
	}
	if f.EveryWeeks != 0 || f.Until != (store.Date{}) {
		switch {
		case f.EveryWeeks < 1 || f.EveryWeeks > 52:
			m.Add("repeat.everyWeeks", "must be from 1 to 52")
		case len(f.Spans) > 0 && (f.Until.Before(f.Spans[0].From) || f.Spans[0].From.DaysUntil(f.Until) > maxRepeat):
			m.Add("repeat.until", "must be a date at most two years after the first day")
		}
	}
	return m.Err()
}

// repeats returns the span and its repetitions until f.Until as blocks without ids and specialists.
func (f *BlockForm) repeats(span *BlockSpan, zone *time.Location) iter.Seq[store.Block] {
	return func(yield func(store.Block) bool) {
		for days := 0; ; days += 7 * f.EveryWeeks {
			from, to := span.From.AddDays(days), span.To.AddDays(days)
			if days > 0 && f.Until.Before(from) {
				return
			}
			b := store.Block{Reason: span.Title, Start: availability.WallTime(zone, from, span.Start),
				End: availability.WallTime(zone, to, span.End)}
			if span.Whole {
				b.Start, b.End = availability.StartOfDay(zone, from), availability.StartOfDay(zone, to.AddDays(1))
			}
			if !yield(b) || f.EveryWeeks == 0 {
				return
			}
		}
	}
}

// checkPlanned checks a block of a form. Its errors have the field names of the form.
func checkPlanned(at string, b *store.Block) error {
	var m record.Mistakes
	checkBlock(&m, at, b)
	for i := range m {
		m[i].Field = strings.NewReplacer(at+"start", at+"from", at+"end", at+"to", at+"reason", at+"title").
			Replace(m[i].Field)
	}
	return m.Err()
}

// CreateBlocks creates either all blocks of a form or none. Existing appointments and other blocks in that time do not
// change. Errors: *ValidationError.
func (cl *Clinic) CreateBlocks(ctx context.Context, actor record.Actor, f BlockForm,
	once *record.Once) ([]store.Block, error) {
	all, err := cl.PlanBlocks(f)
	if err != nil {
		return nil, err
	}
	c := ScheduleChange{Actor: actor, Action: record.ActionBlocksCreated, Subject: "blocks",
		reason: strings.TrimSpace(f.Spans[0].Title), after: auditedSet(all), once: once, result: all}
	return all, cl.ChangeSchedule(ctx, &c, func(tx store.Tx) error {
		for _, b := range all {
			if err := tx.PutBlock(ctx, b); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteBlockSet removes all blocks that one form created. reaches reports whether the caller is allowed to change a
// specialist's calendar. If it returns false for any specialist concerned, DeleteBlockSet removes nothing and returns
// record.ErrForbidden. Errors: store.ErrNotFound.
func (cl *Clinic) DeleteBlockSet(ctx context.Context, actor record.Actor, setID string,
	reaches func(specialistID string) bool) error {
	c := ScheduleChange{Actor: actor, Action: record.ActionBlocksDeleted, Subject: "blocks"}
	return cl.ChangeSchedule(ctx, &c, func(tx store.Tx) error {
		all, err := tx.DeleteBlocks(ctx, setID)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all, func(b store.Block) bool { return !reaches(b.SpecialistID) }) {
			return record.ErrForbidden
		}
		c.before = auditedSet(all)
		return nil
	})
}

// BlocksWith returns a block and all blocks that were created with it, including those that ended within
// store.BlockMemory. Errors: store.ErrNotFound.
func (cl *Clinic) BlocksWith(id string) ([]store.Block, error) {
	s := cl.Current()
	var named *store.Block
	for _, list := range s.Blocks {
		for i := range list {
			if list[i].ID == id {
				named = &list[i]
			}
		}
	}
	switch {
	case named == nil:
		return nil, store.ErrNotFound
	case named.SetID == "":
		return []store.Block{*named}, nil
	}
	var all []store.Block
	for i := range s.Specialists {
		for _, b := range s.Blocks[s.Specialists[i].ID] {
			if b.SetID == named.SetID {
				all = append(all, b)
			}
		}
	}
	return all, nil
}
