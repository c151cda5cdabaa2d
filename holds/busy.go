package holds

import (
	"context"
	"time"
)

// BusyTick is the resolution of Busy.
const BusyTick = 5 * time.Minute

// Busy is the fast pre-check of taken time: one bit per BusyTick per specialist and UTC day. Only ticks wholly inside
// an appointment are set, so a hit is always a true conflict; a miss proves nothing and the database decides.
//
// Only appointments that share their time with nobody may be marked: not seats of a group session, not overbooks.
type Busy interface {
	// MarkBusy sets the ticks wholly inside [from, to).
	MarkBusy(ctx context.Context, specialistID string, from, to time.Time) error

	// ClearBusy clears the ticks wholly inside [from, to).
	ClearBusy(ctx context.Context, specialistID string, from, to time.Time) error

	// IsBusy reports whether any tick that overlaps [from, to) is set.
	IsBusy(ctx context.Context, specialistID string, from, to time.Time) (bool, error)
}
