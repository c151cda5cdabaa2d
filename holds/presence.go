package holds

import (
	"context"
	"time"
)

// Present is the presence of one specialist.
type Present struct {
	SpecialistID string
	Online       bool // can be reached; always false in answers while Deactivated
	Deactivated  bool
	HeartbeatAt  time.Time // the last heartbeat; zero if there was none
	Load         int       // sessions in progress; never negative
	Max          int       // the maximum number of sessions at a time
}

// Apart is a Presence that may be served from the memory of one process. Alone reports whether it is now. It then
// lacks the changes that reached other processes.
type Apart interface{ Alone() bool }

// Presence records which specialists can take a patient now. It is the fast copy; the store has the durable one. It
// publishes nothing by itself: the caller that changes both copies publishes EventPresence once both are changed.
type Presence interface {
	// Online marks the specialist online with a heartbeat of now and this capacity. It reports whether that is a
	// change. Error: ErrDeactivated.
	Online(ctx context.Context, specialistID string, max int) (changed bool, err error)

	// Offline marks the specialist offline and reports whether that is a change. The load stays. For a deactivated
	// specialist it reports false, but Activate then does not bring them back online.
	Offline(ctx context.Context, specialistID string) (changed bool, err error)

	// OfflineUnheard is Offline for a specialist without a heartbeat for staleAfter. The check is part of the same
	// step and uses the clock that stamps the heartbeats. It returns false if the specialist is not online, is
	// deactivated, or has sent a heartbeat since.
	OfflineUnheard(ctx context.Context, specialistID string, staleAfter time.Duration) (changed bool, err error)

	// Deactivate hides the specialist from every answer and refuses Online and Beat until Activate restores them.
	// Online and deactivated are two sets: a specialist can be reached who is in the first and not in the second. A
	// specialist whom Activate brings back online has a heartbeat of now. Both are idempotent and report whether they
	// changed anything.
	Deactivate(ctx context.Context, specialistID string) (changed bool, err error)
	Activate(ctx context.Context, specialistID string) (changed bool, err error)

	// Beat renews the heartbeat. It never uses the database. Errors: ErrOffline, ErrDeactivated.
	Beat(ctx context.Context, specialistID string) error

	// SetMax changes the capacity of a specialist who is online, deactivated or not.
	SetMax(ctx context.Context, specialistID string, max int) error

	// Load adds delta to the number of sessions in progress and returns the new number, which is never below 0.
	Load(ctx context.Context, specialistID string, delta int) (int, error)

	// SetLoads replaces all loads in one step; a specialist without an entry has load 0. Reconciliation corrects
	// drift with it.
	SetLoads(ctx context.Context, loads map[string]int) error

	// Present returns the presence of one specialist, or the zero Present with the id for an unknown specialist.
	Present(ctx context.Context, specialistID string) (Present, error)

	// Available lists the specialists who are online, are not deactivated, have a load below their capacity, and, if
	// staleAfter > 0, have a heartbeat younger than staleAfter. The order is by load, then id; the result has at most
	// limit entries (0 = all).
	Available(ctx context.Context, staleAfter time.Duration, limit int) ([]Present, error)

	// Everyone lists all specialists who are online and not deactivated, by id.
	Everyone(ctx context.Context) ([]Present, error)

	// Count returns the number of specialists that Available would list, without listing them.
	Count(ctx context.Context, staleAfter time.Duration) (int, error)

	// Seed adds the presence in the durable mirror. It never changes an existing heartbeat and never takes a
	// specialist offline who is online here. Only here a Present may be Online and Deactivated: Activate brings them
	// back online.
	Seed(ctx context.Context, all []Present) error
}
