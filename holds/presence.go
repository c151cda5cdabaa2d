package holds

import (
	"context"
	"time"
)

// Present is the presence of one specialist.
type Present struct {
	SpecialistID string
	Online       bool // can be reached; always false in results while Deactivated
	Deactivated  bool
	HeartbeatAt  time.Time // the last heartbeat; zero if there was none
	Load         int       // sessions in progress; never negative
	Max          int       // the maximum number of sessions at a time
}

// Apart is a Presence that can be served from the memory of one process. Alone reports whether it currently is. The
// presence then lacks the changes that reached other processes.
type Apart interface{ Alone() bool }

// Presence records which specialists can take a patient now. It is the fast copy; the durable copy is in the store. It
// publishes nothing by itself: the caller that changes both copies publishes EventPresence once both have changed.
type Presence interface {
	// Online marks the specialist online with this capacity and a current heartbeat. It reports whether that changed
	// anything. Error: ErrDeactivated.
	Online(ctx context.Context, specialistID string, max int) (changed bool, err error)

	// Offline marks the specialist offline and reports whether that changed anything. The load does not change. For a
	// deactivated specialist it reports false, but Activate then does not bring them back online.
	Offline(ctx context.Context, specialistID string) (changed bool, err error)

	// OfflineUnheard is Offline for a specialist who has sent no heartbeat for staleAfter. The check is part of the
	// same step and uses the clock that stamps the heartbeats. It returns false if the specialist is not online, is
	// deactivated, or has sent a heartbeat in that time.
	OfflineUnheard(ctx context.Context, specialistID string, staleAfter time.Duration) (changed bool, err error)

	// Deactivate hides the specialist from every list and refuses Online and Beat until Activate restores them. Online
	// and deactivated are two sets: specialists in the first but not in the second can be reached. A specialist whom
	// Activate brings back online gets a current heartbeat. Both are idempotent and report whether they changed
	// anything.
	Deactivate(ctx context.Context, specialistID string) (changed bool, err error)
	Activate(ctx context.Context, specialistID string) (changed bool, err error)

	// Beat renews the heartbeat. It never uses the database. Errors: ErrOffline, ErrDeactivated.
	Beat(ctx context.Context, specialistID string) error

	// SetMax changes the capacity of a specialist who is online, deactivated or not.
	SetMax(ctx context.Context, specialistID string, max int) error

	// Load adds delta to the number of sessions in progress and returns the new number, which is never below 0.
	Load(ctx context.Context, specialistID string, delta int) (int, error)

	// SetLoads replaces all loads in one step; a specialist without an entry gets load 0. Reconciliation uses it to
	// correct drift.
	SetLoads(ctx context.Context, loads map[string]int) error

	// Present returns the presence of one specialist, or the zero Present with the id for an unknown specialist.
	Present(ctx context.Context, specialistID string) (Present, error)

	// Available lists the specialists who are online, are not deactivated, have a load below their capacity, and, if
	// staleAfter > 0, have sent a heartbeat within staleAfter. They are sorted by load, then id. At most limit
	// specialists are returned (0 = all).
	Available(ctx context.Context, staleAfter time.Duration, limit int) ([]Present, error)

	// Everyone lists all specialists who are online and not deactivated, by id.
	Everyone(ctx context.Context) ([]Present, error)

	// Count returns the number of specialists that Available would list, without listing them.
	Count(ctx context.Context, staleAfter time.Duration) (int, error)

	// Seed adds the presence from the durable mirror. It never changes an existing heartbeat and never takes offline a
	// specialist who is online here. Only in this call can a Present be both Online and Deactivated: Activate brings
	// them back online.
	Seed(ctx context.Context, all []Present) error
}
