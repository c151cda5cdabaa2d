package store

import (
	"context"
	"time"
)

// Block is an interval during which a specialist takes no bookings, such as a meeting. Appointments in it stay booked.
// Blocks are independent: removing one does not change the others. The audit log records who created a block, and when.
type Block struct {
	ID           string
	SpecialistID string
	Start        time.Time `column:"start_at"` // [Start, End), of any length
	End          time.Time `column:"end_at"`
	Reason       string    // for the staff, never for patients
	SetID        string    // shared by blocks that were created together; empty means none
	Source       BlockSource
}

// BlockSource is the origin of a block.
type BlockSource string

const (
	BlockDesk BlockSource = "" // the desk created it
	// from the specialist's external calendar; PutBusyBlocks creates and removes it
	BlockCalendar BlockSource = "calendar"
)

// BlockMemory is how long Schedule includes a block after its end, so that the snapshot does not grow over the years.
const BlockMemory = 35 * 24 * time.Hour

// BlockWriter changes the blocks, which Schedule reads.
type BlockWriter interface {
	// PutBlock inserts or replaces by id. It returns ErrNotFound if there is no such specialist. It returns
	// ErrInvalid if the block does not end after its start.
	PutBlock(ctx context.Context, b Block) error

	// DeleteBlock removes one block and returns it. Errors: ErrNotFound.
	DeleteBlock(ctx context.Context, id string) (Block, error)

	// DeleteBlocks removes the blocks of a set and returns them, by start, then id. It returns ErrNotFound if the set
	// is empty.
	DeleteBlocks(ctx context.Context, setID string) ([]Block, error)
}
