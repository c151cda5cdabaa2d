package holds

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Span is the part of one specialist's time that a hold or an appointment occupies: the slot that the patient sees, and
// the busy interval, which is the slot extended by the appointment type's buffers. Both are half-open, [start, end).
type Span struct {
	AppointmentTypeID string
	SpecialistID      string
	SlotStart         time.Time
	SlotEnd           time.Time
	BusyStart         time.Time
	BusyEnd           time.Time
	Seat              int
}

// Conflicts reports whether the two spans cannot both be booked. It applies the predicate of the guarantee, which the
// database enforces too: the busy interval of one overlaps the slot of the other, and they are not two seats of the
// same group session. Two buffers may overlap, so the gap between two appointments is the larger of the two buffers,
// not their sum. The relation is symmetric.
func (s *Span) Conflicts(o *Span) bool {
	if s.SpecialistID != o.SpecialistID {
		return false
	}
	meet := (o.BusyStart.Before(s.SlotEnd) && s.SlotStart.Before(o.BusyEnd)) ||
		(o.SlotStart.Before(s.BusyEnd) && s.BusyStart.Before(o.SlotEnd))
	return meet && !(s.SameGroup(o) && s.Seat != o.Seat)
}

// SameGroup reports whether two spans are in the same session: the same type, specialist, start and end.
func (s *Span) SameGroup(o *Span) bool {
	return s.AppointmentTypeID == o.AppointmentTypeID && s.SpecialistID == o.SpecialistID &&
		s.SlotStart.Equal(o.SlotStart) && s.SlotEnd.Equal(o.SlotEnd)
}

// IDs is a list of ids, separated by spaces. As a string it is comparable.
type IDs string

// IDsOf joins ids.
func IDsOf(ids []string) IDs { return IDs(strings.Join(ids, " ")) }

// List returns the ids.
func (ids IDs) List() []string { return strings.Fields(string(ids)) }

// Hold is a short exclusive claim by one client on one span. It can also claim resources for the same time: rooms and
// devices, which are never shared and are only claimed together with a specialist.
type Hold struct {
	ID string // UUIDv7; it grants no access by itself
	Span
	// the resources that it takes in addition to its specialist: one from each group in its claim's Needs
	Resources    IDs
	Owner        Owner
	ExpiresAt    time.Time // the hold expires at this instant unless it is extended; UTC
	MaxExpiresAt time.Time // Extend never sets ExpiresAt later than this; UTC
	Restarts     int       // the number of times that the maximum lifetime was restarted
	Pinned       bool      // its booking is being written
}

// MaxRestarts is the maximum number of times that Extend can restart the maximum lifetime of a hold. WCAG 2.2.1
// requires at least ten extensions.
const MaxRestarts = 10

// Claim requests a hold.
type Claim struct {
	Span  // Seat is ignored; see Seats
	Owner Owner
	Seats []int // the seats that are not booked, in the order to try; {0} unless the type is a group session
	// groups of resources that are not booked, in the order to try; the hold takes one from each group
	Needs    [][]string
	TTL      time.Duration // > 0
	MaxLife  time.Duration // ≥ TTL; the maximum lifetime of the hold without a restart
	Quota    int           // the maximum number of live holds for the client, including this one; 0 = no limit
	Displace bool          // staff: other clients' conflicting holds are released with ReasonDisplaced
	Replaces Replaced      // a hold that the new hold replaces; the zero value is none
	Moving   []Booked      // appointments that this claim will move; their current time counts as free for it
}

// Replaced names a hold that a claim replaces. Its owner can differ from the owner of the claim.
type Replaced struct {
	ID    string
	Owner Owner
}

// Excludes reports whether the two holds cannot both exist: their spans conflict, or their times conflict and both take
// the same resource.
func (h *Hold) Excludes(o *Hold) bool {
	for _, id := range h.Resources.List() {
		mine, theirs := h.Span, o.Span
		mine.SpecialistID, mine.Seat, theirs.SpecialistID, theirs.Seat = id, 0, id, 0
		if slices.Contains(o.Resources.List(), id) && mine.Conflicts(&theirs) {
			return true
		}
	}
	return h.Conflicts(&o.Span)
}

// Unmeetable reports whether the claim has nothing to try: no seat, or a group without a resource.
func (c *Claim) Unmeetable() bool {
	return len(c.Seats) == 0 || slices.ContainsFunc(c.Needs, func(group []string) bool { return len(group) == 0 })
}

// Remains is a hold that another backend takes over, with its remaining time.
type Remains struct {
	Hold
	LapsesAt time.Time     // when it would expire without a pin; UTC
	Life     time.Duration // MaxLife of its claim; a restart needs it
}

// Restorer is a Backend that can take over the holds, selections and presence of another Backend.
type Restorer interface {
	// Restore adds a hold with its remaining time, its restarts and its pin. It returns the hold as this backend stores
	// it, under the same id if the backend supports that. If a live hold has that id, Restore updates it. If the same
	// owner has another hold on the same slot, Restore releases that hold with ReasonReleased. If another client's hold
	// conflicts, it returns a *HeldError. Restore does not check booked time.
	Restore(ctx context.Context, r Remains) (Hold, error)

	// RestoreSelection is like Select, but the selection keeps its remaining time.
	RestoreSelection(ctx context.Context, s Selection) error

	// RestorePresent copies a specialist's presence from another backend. It does not change the load, and it keeps
	// this backend's heartbeat if that is later. As in Seed, a Present can be Online and Deactivated. If it is only
	// Deactivated and the specialist was online in this backend, Activate brings them back online.
	RestorePresent(ctx context.Context, p Present) error
}

// Restored is the result of one Restore: the hold as this backend stores it, or the error.
type Restored struct {
	Hold Hold
	Err  error
}

// ManyRestorer is a Restorer that takes over many holds in one step.
type ManyRestorer interface {
	Restorer

	// RestoreAll restores each hold as Restore does, in order and in one step. If it returns ErrUnavailable, the
	// outcome of every hold is unknown, and the caller can call Restore for each of them.
	RestoreAll(ctx context.Context, all []Remains) ([]Restored, error)
}

// Table is the table of holds.
//
// Each call is one atomic step. Once a hold's ExpiresAt is reached, no call sees the hold, even if its release event
// has not been published yet. Correctness never depends on a sweeper.
type Table interface {
	// Claim reserves the span for one client.
	//
	// Of any number of concurrent claims whose spans conflict, exactly one returns a Hold. The others return a
	// *HeldError with the instant at which the last of the conflicting holds expires. In a group session, Claim takes
	// the first of Seats that no other hold has. It returns ErrQuota if the client already has Quota live holds. Claim
	// reports a conflict before a quota.
	//
	// If the same client claims the same type, slot and specialist again, Claim returns the existing hold. It renews
	// the hold to TTL from now, never past its MaxExpiresAt and never earlier than before, and publishes
	// EventHeartbeat. The hold counts once against the quota. Other holds of the same client conflict like those of any
	// client.
	//
	// ErrTaken means that the time is booked, by a change that Busy received or by an appointment in the database.
	// Displace does not change that. Appointments in Moving are ignored. Claim checks for conflicting holds first, then
	// for booked time, then the quota. A refused claim publishes no event. A repeated claim returns the existing hold,
	// whether or not the time is booked.
	//
	// With Displace, Claim releases the conflicting unpinned holds with ReasonDisplaced, in the same step. A pinned
	// hold still refuses the claim. Claim prefers a seat without a hold over a seat whose hold it would have to
	// displace. A refused claim displaces no hold. The releases are published before the new hold.
	//
	// With Replaces, Claim ends that hold with ReasonReleased, in the same step and wherever it is. Until then it does
	// not conflict with the claim, and it does not count against the quota. A refused claim leaves it unchanged, so its
	// owner always has one of the two holds. Claim publishes the new hold before the release, so that no watcher
	// considers their common time free in between: the two holds are the only ones that overlap in the order of the
	// events. If the hold does not exist, is pinned, or is the one that a repeated claim returns, Claim ignores
	// Replaces. ErrNotOwner means that it belongs to another owner.
	//
	// ErrUnavailable can be a *LostError: then the hold might exist.
	//
	// With Needs, the hold takes one resource from each group for the same slot and buffers: the first one that no
	// other hold has, whichever specialist that hold is for. It never takes a resource twice. Claim takes the
	// specialist and a resource from every group, or none of them: if a group has no free resource, Claim returns a
	// *HeldError. A change or the end of the hold applies to all of them in the same step.
	//
	// If Seats or a group of Needs is empty, everything is booked: Claim returns a *HeldError with a zero Until, even
	// if the client has a hold.
	Claim(ctx context.Context, c Claim) (Hold, error)

	// Extend sets a hold to expire ttl from now, never past its MaxExpiresAt and never earlier than before. With
	// restart, it first sets MaxExpiresAt to MaxLife from now, or returns ErrRestarts after MaxRestarts restarts. It
	// returns ErrNotFound if the hold is unknown or has expired, and ErrNotOwner if it belongs to another client.
	Extend(ctx context.Context, id string, owner Owner, ttl time.Duration, restart bool) (Hold, error)

	// Pin prevents a hold from expiring for at least the given time, while its booking is being written. MaxExpiresAt
	// does not limit a pin. Errors: ErrNotFound, ErrNotOwner.
	Pin(ctx context.Context, id string, owner Owner, atLeast time.Duration) (Hold, error)

	// Unpin ends a pin. The hold then expires when it would have expired without the pin, or after grace if that time
	// has passed. Errors: ErrNotFound, ErrNotOwner.
	Unpin(ctx context.Context, id string, owner Owner, grace time.Duration) (Hold, error)

	// Transfer assigns a hold to another owner in one step, so that no claim takes its time in between. The hold
	// keeps its id, is not pinned, expires after ttl, and has a maximum lifetime of maxLife (≥ ttl) from now.
	// Transfer publishes EventHeartbeat for the new owner. It checks no quota. Errors: ErrNotFound, ErrNotOwner.
	Transfer(ctx context.Context, id string, owner, to Owner, ttl, maxLife time.Duration) (Hold, error)

	// Confirm removes a hold whose booking is durable and publishes EventConfirm. It is idempotent and reports whether
	// the hold existed. Error: ErrNotOwner.
	Confirm(ctx context.Context, id string, owner Owner) (bool, error)

	// Release removes a hold and publishes EventRelease with the reason. It is idempotent and reports whether the hold
	// existed. Error: ErrNotOwner.
	Release(ctx context.Context, id string, owner Owner, reason Reason) (bool, error)

	// Hold returns one live hold. Error: ErrNotFound.
	Hold(ctx context.Context, id string) (Hold, error)

	// List returns the live holds of these specialists or resources, each once, ordered by specialist, slot start and
	// seat. Without ids it returns all live holds.
	List(ctx context.Context, specialistIDs ...string) ([]Hold, error)

	// Publish sends every watcher an event that the table did not cause: EventCancel, EventAvailability, or
	// EventConfirm for a booking without a hold. The backend sets Seq. If several processes share a table, Publish
	// sends the kinds for which FromFeed is true only to the watchers of this process, because every process receives
	// the feed.
	Publish(ctx context.Context, e Event) error

	// Epoch names this run of the event numbering. Event numbers of different epochs cannot be compared.
	Epoch() string

	// Watch subscribes to the events of these specialists and resources, or to all events if none are given. An event
	// that names no specialist goes to every watch. The watch receives every event that is published after Watch
	// returns. So a caller that watches first and then lists misses nothing. If the list already includes an event, the
	// hold's id shows that. Error: ErrClosed.
	Watch(ctx context.Context, specialistIDs ...string) (Watch, error)
}

// Watch is one subscription to the events. Its queue is bounded. The backend cuts off a watcher that falls too far
// behind, and Next then returns ErrSlow. Other watchers are not affected. Only one goroutine at a time may use a Watch.
type Watch interface {
	// Next waits for events and appends them to buf[:0], in order, each exactly once. It returns ErrSlow if events were
	// lost, ErrClosed if the backend was closed, or ctx's error.
	Next(ctx context.Context, buf []Event) ([]Event, error)

	// Close ends the subscription. It is idempotent.
	Close()
}
