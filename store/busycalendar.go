package store

import (
	"context"
	"time"
)

// BusyCalendar is a specialist's own calendar at another place, which is read again and again: while the specialist is busy there, nothing
// is booked here. What it says becomes blocks of the specialist whose Source is BlockCalendar.
type BusyCalendar struct {
	SpecialistID string
	Address      string    // sealed: any holder can read the calendar
	SetAt        time.Time // when the address was given; it tells one address from the next
	AskedAt      time.Time // when it was last asked for, by whichever process; zero: never
	ReadAt       time.Time // when it was last read whole; zero: never
	Failure      string    // why it could not be read when it was last asked for, as a code; empty: it could
	Unread       int       // events in it that could not be understood when it was last read
	Tag          string    // the zone that was read in, a space, and the ETag of what was read
	Modified     string    // its Last-Modified
}

// BusyCalendarReader asks about busy calendars.
type BusyCalendarReader interface {
	// BusyCalendars lists all of them by specialist.
	BusyCalendars(ctx context.Context) ([]BusyCalendar, error)
}

// BusyCalendarWriter changes the busy calendars.
type BusyCalendarWriter interface {
	// PutBusyCalendar inserts or replaces by specialist. ErrNotFound if there is no such specialist.
	PutBusyCalendar(ctx context.Context, b BusyCalendar) error

	// DeleteBusyCalendar removes the one of a specialist; idempotent. The blocks that came of it stay.
	DeleteBusyCalendar(ctx context.Context, specialistID string) error

	// PutBusyBlocks makes the blocks of a specialist that came from the calendar those that are given, of which Start and End are taken. A
	// block for the same time keeps its id; a new one has the id that is given. It reports whether anything changed, and if not, no
	// change is told. ErrNotFound if there is no such specialist; ErrInvalid if one does not end after it starts.
	PutBusyBlocks(ctx context.Context, specialistID string, blocks []Block) (changed bool, err error)
}

// CompareBlocks says which of the blocks that are there are not wanted any more, and which that are wanted are not there yet, by
// when they are. One of two for the same time is enough.
func CompareBlocks(there, wanted []Block) (gone, come []Block) {
	type span struct{ start, end int64 }
	of := func(b *Block) span { return span{b.Start.UnixMilli(), b.End.UnixMilli()} }
	open := make(map[span]bool, len(wanted)) // and whether it is there
	for i := range wanted {
		open[of(&wanted[i])] = false
	}
	for i := range there {
		isThere, isWanted := open[of(&there[i])]
		if !isWanted || isThere {
			gone = append(gone, there[i])
			continue
		}
		open[of(&there[i])] = true
	}
	for i := range wanted {
		if !open[of(&wanted[i])] {
			open[of(&wanted[i])] = true
			come = append(come, wanted[i])
		}
	}
	return gone, come
}
