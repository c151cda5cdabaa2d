package engine

import (
	"context"
	"strings"
	"time"

	"holdfast/store"
)

// maxBlock is the longest a block may be. Whoever is away for longer has overrides, or is switched off.
const maxBlock = 366 * 24 * time.Hour

// BlockEntry is one block in a ClinicFile. Its id makes importing it twice the same as once.
type BlockEntry struct {
	ID     string    `json:"id"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Reason string    `json:"reason,omitempty"`
}

// Blocks lists the blocks of one specialist by start, those included that ended within store.BlockMemory.
// store.ErrNotFound.
func (e *Engine) Blocks(specialistID string) ([]store.Block, error) {
	s := e.Current()
	if s.specialists[specialistID] == nil {
		return nil, store.ErrNotFound
	}
	return s.Blocks[specialistID], nil
}

// CreateBlock keeps a stretch of a specialist's time free of bookings. What is booked in it stays, and so do other blocks.
// It shows in the very next listing. Instants are kept to the second. store.ErrNotFound, *ValidationError.
func (e *Engine) CreateBlock(ctx context.Context, actor Actor, b store.Block, once *Once) (store.Block, error) {
	if _, err := e.Specialist(b.SpecialistID); err != nil {
		return b, err
	}
	b.ID = newID()
	var m mistakes
	checkBlock(&m, "", &b)
	if len(m) == 0 && b.End.Before(time.Now().Add(-store.BlockMemory)) {
		m.add("end", "is too long ago for a block to be of use")
	}
	if err := m.err(); err != nil {
		return b, err
	}
	return b, e.changeSchedule(ctx, &scheduleChange{
		actor: actor, action: "block.created", subject: "specialist:" + b.SpecialistID, reason: b.Reason, after: b,
		once: once, result: b,
	}, func(tx store.Tx) error { return tx.PutBlock(ctx, b) })
}

// DeleteBlock opens the time of one block again, as far as the hours and other blocks do. store.ErrNotFound, also for a
// block that Blocks no longer names.
func (e *Engine) DeleteBlock(ctx context.Context, actor Actor, id string) error {
	c := scheduleChange{actor: actor, action: "block.deleted"}
	return e.changeSchedule(ctx, &c, func(tx store.Tx) error {
		b, err := tx.DeleteBlock(ctx, id)
		if err == nil && b.End.Before(time.Now().Add(-store.BlockMemory)) {
			err = store.ErrNotFound
		}
		c.subject, c.before = "specialist:"+b.SpecialistID, b
		return err
	})
}

// checkBlock refuses what cannot be meant.
func checkBlock(m *mistakes, at string, b *store.Block) {
	checkID(m, at+"id", b.ID)
	b.Reason = strings.TrimSpace(b.Reason)
	checkText(m, at+"reason", b.Reason, 500, true)
	b.Start, b.End = b.Start.UTC().Truncate(time.Second), b.End.UTC().Truncate(time.Second)
	outside := func(at time.Time) bool { return at.Year() < 2000 || at.Year() > 2200 }
	const instant = "must be an instant like 2026-11-23T09:00:00Z, between the years 2000 and 2200"
	switch length := b.End.Sub(b.Start); {
	case outside(b.Start):
		m.add(at+"start", instant)
	case outside(b.End):
		m.add(at+"end", instant)
	case length <= 0:
		m.add(at+"end", "must be later than start")
	case length > maxBlock:
		m.add(at+"end", "must be at most 366 days after start")
	}
}

// addBlock checks a block of a file and keeps it for the import.
func (r *importRows) addBlock(m *mistakes, at string, b store.Block) {
	checkBlock(m, at, &b)
	if r.blockIDs[b.ID] {
		m.add(at+"id", "%q is in the file twice", clip(b.ID))
	}
	r.blockIDs[b.ID] = true
	r.blocks = append(r.blocks, b)
}
