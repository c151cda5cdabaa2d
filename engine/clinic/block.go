package clinic

import (
	"context"
	"slices"
	"strings"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// maxBlock is the longest duration of a block. For a longer absence, use overrides or deactivate the specialist.
const maxBlock = 366 * 24 * time.Hour

// BlockEntry is one block in a File. Its id lets the same file be imported repeatedly without creating the block again.
type BlockEntry struct {
	ID     string    `json:"id"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Reason string    `json:"reason,omitempty"`
	SetID  string    `json:"setId,omitempty"`
}

// blockEntry converts a block to its form in a File and in the audit log.
func blockEntry(b *store.Block) BlockEntry {
	return BlockEntry{b.ID, b.Start, b.End, b.Reason, b.SetID}
}

// Blocks lists the blocks of one specialist by start, including those that ended within store.BlockMemory. Errors:
// store.ErrNotFound.
func (cl *Clinic) Blocks(specialistID string) ([]store.Block, error) {
	s := cl.Current()
	if s.SpecialistByID[specialistID] == nil {
		return nil, store.ErrNotFound
	}
	return s.Blocks[specialistID], nil
}

// BlocksOf returns the blocks of a specialist, whether archived or not, that did not end more than store.BlockMemory
// ago.
func (s *Schedule) BlocksOf(specialistID string) []store.Block {
	if list := s.Blocks[specialistID]; len(list) > 0 {
		return list
	}
	var list []store.Block
	for _, b := range s.ArchivedBlocks {
		if b.SpecialistID == specialistID {
			list = append(list, b)
		}
	}
	return list
}

// HasBlock reports whether a specialist, whether archived or not, has the block with this id. It returns false for a
// block that ended more than store.BlockMemory ago.
func (s *Schedule) HasBlock(specialistID, id string) bool {
	return slices.ContainsFunc(s.BlocksOf(specialistID), func(b store.Block) bool { return b.ID == id })
}

// CreateBlock blocks a period of a specialist's time, so that it cannot be booked. Existing appointments and other
// blocks in that period do not change. The next listing reflects the block. Instants are truncated to the second. A
// block without an id gets one. Errors: store.ErrNotFound, *ValidationError.
func (cl *Clinic) CreateBlock(ctx context.Context, actor record.Actor, b store.Block,
	once *record.Once) (store.Block, error) {
	if _, err := cl.Specialist(b.SpecialistID); err != nil {
		return b, err
	}
	if b.ID == "" {
		b.ID = record.NewID()
	}
	var m record.Mistakes
	checkBlock(&m, "", &b)
	if len(m) == 0 && b.End.Before(time.Now().Add(-store.BlockMemory)) {
		m.Add("end", "is too far in the past for a block")
	}
	if err := m.Err(); err != nil {
		return b, err
	}
	return b, cl.ChangeSchedule(ctx, &ScheduleChange{
		Actor: actor, Action: record.ActionBlockCreated, Subject: "specialist:" + b.SpecialistID, reason: b.Reason,
		after: blockEntry(&b), once: once, result: b,
	}, func(tx store.Tx) error { return tx.PutBlock(ctx, b) })
}

// DeleteBlock removes one block, so that its time can be booked again where the hours and other blocks allow it.
// Errors: store.ErrNotFound, including for a block that ended more than store.BlockMemory ago; *ValidationError for a
// block from an external calendar.
func (cl *Clinic) DeleteBlock(ctx context.Context, actor record.Actor, id string) error {
	c := ScheduleChange{Actor: actor, Action: record.ActionBlockDeleted}
	return cl.ChangeSchedule(ctx, &c, func(tx store.Tx) error {
		b, err := tx.DeleteBlock(ctx, id)
		if err == nil && b.End.Before(time.Now().Add(-store.BlockMemory)) {
			err = store.ErrNotFound
		}
		if err == nil && b.Source == store.BlockCalendar {
			err = record.Invalid("id", "comes from the specialist's external calendar; delete the event there")
		}
		c.Subject, c.before = "specialist:"+b.SpecialistID, blockEntry(&b)
		return err
	})
}

// checkBlock trims and checks one block. It prefixes field names with at.
func checkBlock(m *record.Mistakes, at string, b *store.Block) {
	record.CheckID(m, at+"id", b.ID)
	if b.SetID != "" {
		record.CheckID(m, at+"setId", b.SetID)
	}
	b.Reason = strings.TrimSpace(b.Reason)
	record.CheckText(m, at+"reason", b.Reason, 500, true)
	b.Start, b.End = b.Start.UTC().Truncate(time.Second), b.End.UTC().Truncate(time.Second)
	outside := func(at time.Time) bool { return at.Year() < 2000 || at.Year() > 2200 }
	const instant = "must be a time such as 2026-11-23T09:00:00Z, between the years 2000 and 2200"
	switch length := b.End.Sub(b.Start); {
	case outside(b.Start):
		m.Add(at+"start", instant)
	case outside(b.End):
		m.Add(at+"end", instant)
	case length <= 0:
		m.Add(at+"end", "must be later than start")
	case length > maxBlock:
		m.Add(at+"end", "must be at most 366 days after start")
	}
}

// addBlock checks a block in a file and adds it to the import.
func (r *importRows) addBlock(m *record.Mistakes, at string, b store.Block) {
	checkBlock(m, at, &b)
	if r.blockIDs[b.ID] {
		m.Add(at+"id", "%q occurs twice in the file", record.Clip(b.ID))
	}
	r.blockIDs[b.ID] = true
	r.blocks = append(r.blocks, b)
}
