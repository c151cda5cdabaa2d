package store

import (
	"context"
	"time"
)

// BusyCalendar is a specialist's external calendar, which the server reads at intervals. While the specialist is busy
// in that calendar, none of their slots can be booked. Its events become blocks of the specialist, with BlockCalendar
// as their Source.
type BusyCalendar struct {
	SpecialistID string
	Address      string    // sealed, because anyone who has it can read the calendar
	SetAt        time.Time // when the address was set; each new address gets a new value
	AskedAt      time.Time `column:",null"` // when any process last requested it; zero means never
	ReadAt       time.Time `column:",null"` // when the calendar was last read in full; zero means never
	Failure      string    // a code for the failure of the last request; empty means it succeeded
	Unread       int       // number of events that the last read could not parse
	Tag          string    // the zone used for the last read, a space, and the ETag of its response
	Modified     string    // the Last-Modified of that response
}

// BusyCalendarReader reads busy calendars.
type BusyCalendarReader interface {
	// BusyCalendars lists all busy calendars by specialist.
	BusyCalendars(ctx context.Context) ([]BusyCalendar, error)
}

// BusyCalendarWriter changes the busy calendars.
type BusyCalendarWriter interface {
	// PutBusyCalendar inserts or replaces by specialist. It returns ErrNotFound if there is no such specialist.
	PutBusyCalendar(ctx context.Context, b BusyCalendar) error

	// DeleteBusyCalendar removes a specialist's calendar. It is idempotent. The blocks from the calendar are not
	// deleted.
	DeleteBusyCalendar(ctx context.Context, specialistID string) error

	// PutBusyBlocks replaces a specialist's blocks from the calendar with the given ones. It reads only their ID,
	// Start and End. A block for the same time keeps its id; a new one gets the given id. PutBusyBlocks reports
	// whether anything changed; if not, it publishes no change. It returns ErrNotFound if there is no such
	// specialist. It returns ErrInvalid if a block does not end after its start.
	PutBusyBlocks(ctx context.Context, specialistID string, blocks []Block) (changed bool, err error)
}

// CompareBlocks compares existing and wanted blocks by their times. It returns the existing blocks that are not wanted,
// and the wanted blocks that do not exist. Of several blocks for the same time, it keeps only one.
func CompareBlocks(there, wanted []Block) (gone, come []Block) {
	type span struct{ start, end int64 }
	of := func(b *Block) span { return span{b.Start.UnixMilli(), b.End.UnixMilli()} }
	open := make(map[span]bool, len(wanted)) // the value is true if a block with this span exists
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
