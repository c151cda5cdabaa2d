package holds

import (
	"context"
	"time"
)

// Present is the presence of one specialist.
type Present struct {
	SpecialistID string
	Online       bool // can be reached; false while Deactivated, in every answer
	Deactivated  bool
	HeartbeatAt  time.Time // last one; zero if never
	Load         int       // sessions in progress; never negative
	Max          int       // most sessions at a time
}

// Apart is a Presence that may be served from the memory of one process. Alone reports whether it is now: what reached other processes
// is not known then.
type Apart interface{ Alone() bool }

// Presence is who can take a patient now. It holds the fast copy; the store has the durable one. It publishes nothing by
// itself: whoever changes both copies publishes EventPresence once both are changed.
type Presence interface {
	// Online marks the specialist online with a heartbeat of now and this capacity. It reports whether that is a
	// change. ErrDeactivated.
	Online(ctx context.Context, specialistID string, max int) (changed bool, err error)

	// Offline marks the specialist offline and reports whether that is a change. The load stays. For somebody who is
	// deactivated it is none, but Activate does not bring them back online then.
	Offline(ctx context.Context, specialistID string) (changed bool, err error)

	// OfflineUnheard is Offline for whoever has not been heard of for staleAfter, which is decided in the same step and by the
	// clock that heartbeats are kept by. False for who is not online, is deactivated, or was heard of since.
	OfflineUnheard(ctx context.Context, specialistID string, staleAfter time.Duration) (changed bool, err error)

	// Deactivate hides the specialist from every answer and refuses Online and Beat until Activate, which restores what it
	// took: online and deactivated are two sets, and who can be reached is in the first and not in the second. Whoever is
	// online again has a heartbeat of now. Both are idempotent and report whether they changed anything.
	Deactivate(ctx context.Context, specialistID string) (changed bool, err error)
	Activate(ctx context.Context, specialistID string) (changed bool, err error)

	// Beat renews the heartbeat. ErrOffline, ErrDeactivated. It never touches the database.
	Beat(ctx context.Context, specialistID string) error

	// SetMax changes the capacity of a specialist who is online, deactivated or not.
	SetMax(ctx context.Context, specialistID string, max int) error

	// Load adds delta to the number of sessions in progress and returns the new number, which is never below 0.
	Load(ctx context.Context, specialistID string, delta int) (int, error)

	// SetLoads replaces all loads at once; who is not named has none. Reconciliation heals drift with it.
	SetLoads(ctx context.Context, loads map[string]int) error

	// Present returns what is known of one specialist; the zero Present, with the id, if nothing is.
	Present(ctx context.Context, specialistID string) (Present, error)

	// Available lists who is online, not deactivated, has a load below their capacity, and, if staleAfter > 0, a
	// heartbeat younger than it; by load, then id; at most limit (0 = all).
	Available(ctx context.Context, staleAfter time.Duration, limit int) ([]Present, error)

	// Everyone lists all who are online and not deactivated, by id.
	Everyone(ctx context.Context) ([]Present, error)

	// Count says how many Available would list, without listing them.
	Count(ctx context.Context, staleAfter time.Duration) (int, error)

	// Seed adds what the durable mirror remembers. It never moves an existing heartbeat and never takes anybody
	// offline who is online here. Here alone, a Present may be Online and Deactivated: Activate brings them back.
	Seed(ctx context.Context, all []Present) error
}
