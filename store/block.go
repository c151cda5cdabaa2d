package store

import (
	"context"
	"time"
)

// Block is a stretch of time in which a specialist takes no bookings: a meeting, an afternoon away.
// What is booked in it stays. Each block is a thing of its own, so taking one away leaves the others as they are. Who made
// it and when is in the audit log.
type Block struct {
	ID           string
	SpecialistID string
	Start        time.Time // [Start, End), of any length
	End          time.Time
	Reason       string // for the staff, never for patients
	SetID        string // of those that were made with one form and go together; empty: it stands alone
	Source       BlockSource
}

// BlockSource is where a block came from.
type BlockSource string

const (
	BlockDesk     BlockSource = ""         // the desk created it
	BlockCalendar BlockSource = "calendar" // the specialist's own calendar elsewhere has it, and says when it is over
)

// BlockMemory is how long Schedule names a block after it ended, so that the snapshot does not grow with the years.
const BlockMemory = 35 * 24 * time.Hour

// BlockWriter changes the blocks, which Schedule reads.
type BlockWriter interface {
	// PutBlock inserts or replaces by id. ErrNotFound if there is no such specialist; ErrInvalid if it does not end
	// after it starts.
	PutBlock(ctx context.Context, b Block) error

	// DeleteBlock removes one block and returns it. ErrNotFound.
	DeleteBlock(ctx context.Context, id string) (Block, error)

	// DeleteBlocks removes the blocks of a set and returns them, by start, then id. ErrNotFound if there is none.
	DeleteBlocks(ctx context.Context, setID string) ([]Block, error)
}
