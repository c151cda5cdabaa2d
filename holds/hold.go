package holds

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Span is the stretch of one specialist's time that a hold or an appointment takes: the slot that the patient sees and
// the busy interval, which is the slot widened by the appointment type's own buffers. Both are half open, [start, end).
type Span struct {
	AppointmentTypeID string
	SpecialistID      string
	SlotStart         time.Time
	SlotEnd           time.Time
	BusyStart         time.Time
	BusyEnd           time.Time
	Seat              int
}

// Conflicts reports whether two spans cannot both stand. It is the guarantee's predicate, word for word what the
// database enforces: one's busy interval meets the other's slot, unless they are different seats of the very same group
// session. Two buffers may overlap each other, so the gap between two appointments is the larger of the two, not
// their sum. The relation is symmetric.
func (s *Span) Conflicts(o *Span) bool {
	if s.SpecialistID != o.SpecialistID {
		return false
	}
	meet := (o.BusyStart.Before(s.SlotEnd) && s.SlotStart.Before(o.BusyEnd)) ||
		(o.SlotStart.Before(s.BusyEnd) && s.BusyStart.Before(o.SlotEnd))
	return meet && !(s.SameGroup(o) && s.Seat != o.Seat)
}

// SameGroup reports whether two spans are one session: the same type, specialist, start and end.
func (s *Span) SameGroup(o *Span) bool {
	return s.AppointmentTypeID == o.AppointmentTypeID && s.SpecialistID == o.SpecialistID &&
		s.SlotStart.Equal(o.SlotStart) && s.SlotEnd.Equal(o.SlotEnd)
}

// IDs are some ids with a space between each, so that what has them can be compared.
type IDs string

// IDsOf joins ids.
func IDsOf(ids []string) IDs { return IDs(strings.Join(ids, " ")) }

// List is the ids.
func (ids IDs) List() []string { return strings.Fields(string(ids)) }

// Hold is a short exclusive claim of one client on one span, and on the same stretch of the time of some resources: rooms and devices,
// which nobody shares and nobody claims by themselves.
type Hold struct {
	ID string // UUIDv7; by itself it opens nothing
	Span
	Resources    IDs // that it takes besides its specialist, one of each of its claim's Needs
	Owner        Owner
	ExpiresAt    time.Time // lapses then unless extended; UTC
	MaxExpiresAt time.Time // Extend never goes past it
	Restarts     int       // how often the maximum life was begun anew
	Pinned       bool      // its booking is being written
}

// MaxRestarts is how often Extend may begin a hold's maximum life anew (WCAG 2.2.1: at least ten extensions).
const MaxRestarts = 10

// Claim asks for a hold.
type Claim struct {
	Span     // Seat is ignored; see Seats
	Owner    Owner
	Seats    []int         // the seats not yet booked, in the order to try; {0} where nobody shares
	Needs    [][]string    // groups of resources: one of each is taken as well, of those not yet booked, in the order to try
	TTL      time.Duration // > 0
	MaxLife  time.Duration // ≥ TTL; the longest the hold can live without a restart
	Quota    int           // live holds the client may have, this one included; 0 = no limit
	Displace bool          // staff: other clients' conflicting holds are released with ReasonDisplaced
	Moving   []Booked      // appointments that this claim is to move; their own time is not taken for it
}

// Excludes reports whether two holds cannot both stand: their spans conflict, or meet and both take a resource, which nobody shares.
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

// Unmeetable reports whether there is nothing to try: no seat, or no resource of some group.
func (c *Claim) Unmeetable() bool {
	return len(c.Seats) == 0 || slices.ContainsFunc(c.Needs, func(group []string) bool { return len(group) == 0 })
}

// Remains is what is left of a hold that another backend takes over.
type Remains struct {
	Hold
	LapsesAt time.Time     // without its pin; UTC
	Life     time.Duration // MaxLife of its claim, for a restart
}

// Restorer is a Backend that can take over what another one held.
type Restorer interface {
	// Restore puts a hold where it was, with the time that it has left, its restarts and its pin. It returns the hold
	// as it is here, under the same id if the backend can keep it. A live hold with that id is set to what is left; another
	// one of the same owner on the same slot gives way, with ReasonReleased. *HeldError: somebody else's is in the way.
	Restore(ctx context.Context, r Remains) (Hold, error)

	// RestoreSelection is Select for what a selection has left.
	RestoreSelection(ctx context.Context, s Selection) error

	// RestorePresent sets who is present as they were elsewhere. A later heartbeat stays, and so does the load. Here a
	// Present may be Online and Deactivated, as in Seed; who is Deactivated only is brought back by Activate if they were
	// online here.
	RestorePresent(ctx context.Context, p Present) error
}

// Restored is what became of a hold that was to be taken over: the hold as it is here, or the error of Restore.
type Restored struct {
	Hold Hold
	Err  error
}

// ManyRestorer is a Restorer that takes over many holds in less time than one after another.
type ManyRestorer interface {
	Restorer

	// RestoreAll is Restore for each of all, in their order, in one step. ErrUnavailable: nothing is known of any of them; Restore
	// may be asked for each then.
	RestoreAll(ctx context.Context, all []Remains) ([]Restored, error)
}

// Table is who holds what.
//
// Each call is one atomic step. A hold that has reached its ExpiresAt does not exist for any call, whether or not its
// release event was published yet: correctness never waits for a sweeper.
type Table interface {
	// Claim takes the span for one client, or says who has it.
	//
	// Of any number of concurrent claims whose spans conflict, exactly one returns a Hold; the others return a
	// *HeldError with the latest end among the holds in their way. For a group session the first of Seats that no
	// other hold has is taken. ErrQuota: the client already has Quota live holds; a conflict is reported before
	// a quota. A repeat by the same client for the same type, slot and specialist returns the hold it has, renewed to
	// TTL from now (within its MaxExpiresAt, with EventHeartbeat) but never shortened, and counts once against the
	// quota. A client's own other holds conflict like anybody's.
	//
	// ErrTaken: the time is booked, by a change that Busy received or by an appointment in the database. Displace does
	// not change that. Only the appointments in Moving do not count. Claim reports a conflict with a hold first, and
	// ErrTaken before a quota. A refused claim publishes no event. A repeat returns its existing hold, booked or not.
	//
	// With Displace, unpinned holds in the way are released with ReasonDisplaced in the same step; pinned ones
	// still refuse. A seat that nobody holds is taken before one that somebody has to give up, and a claim that is
	// refused displaces nobody.
	//
	// ErrUnavailable may be a *LostError: then a hold may have been made.
	//
	// With Needs, the hold takes one resource of each group for the same slot and buffers: the first that no other hold has, whoever
	// its specialist is, and none twice. It takes the specialist and a resource of every group, or nothing: where a group has none, the
	// claim is refused as for a conflict. Whatever changes or ends the hold does so for all of them at once.
	//
	// An empty Seats or an empty group of Needs is a *HeldError with a zero Until: all is booked, whatever the client holds.
	Claim(ctx context.Context, c Claim) (Hold, error)

	// Extend lets a hold live for ttl from now, never past its MaxExpiresAt and never shorter than it would have.
	// With restart, MaxExpiresAt is first moved to MaxLife from now; ErrRestarts after MaxRestarts of those.
	// ErrNotFound: unknown or lapsed. ErrNotOwner.
	Extend(ctx context.Context, id string, owner Owner, ttl time.Duration, restart bool) (Hold, error)

	// Pin keeps a hold from lapsing for at least the given time, while its booking is written; MaxExpiresAt does
	// not bound it. ErrNotFound, ErrNotOwner.
	Pin(ctx context.Context, id string, owner Owner, atLeast time.Duration) (Hold, error)

	// Unpin ends a pin: the hold lapses when it would have without it, or after grace if that is past already.
	// ErrNotFound, ErrNotOwner.
	Unpin(ctx context.Context, id string, owner Owner, grace time.Duration) (Hold, error)

	// Transfer gives a hold to another owner in one step, so that no claim takes its time in between. It keeps its id, is not
	// pinned, lapses after ttl, and has maxLife (≥ ttl) as its longest life from now. It publishes EventHeartbeat for the new owner
	// and counts against no quota. ErrNotFound, ErrNotOwner.
	Transfer(ctx context.Context, id string, owner, to Owner, ttl, maxLife time.Duration) (Hold, error)

	// Confirm removes a hold whose booking is durable and publishes EventConfirm. It is idempotent and reports
	// whether the hold was there. ErrNotOwner.
	Confirm(ctx context.Context, id string, owner Owner) (bool, error)

	// Release removes a hold and publishes EventRelease with the reason. It is idempotent and reports whether the
	// hold was there. ErrNotOwner.
	Release(ctx context.Context, id string, owner Owner, reason Reason) (bool, error)

	// Hold returns one live hold. ErrNotFound.
	Hold(ctx context.Context, id string) (Hold, error)

	// List returns the live holds of these specialists and those that take these resources, each once, or all if none are given, by
	// specialist, slot start and seat.
	List(ctx context.Context, specialistIDs ...string) ([]Hold, error)

	// Publish tells every watcher of something the table did not do itself: EventCancel, EventConfirm of a booking
	// made without a hold, EventAvailability. The backend sets Seq. Where several processes share a table, kinds that
	// each of them learns FromFeed are told to the watchers of this one.
	Publish(ctx context.Context, e Event) error

	// Epoch names this run of the event numbering; event numbers of different epochs cannot be compared.
	Epoch() string

	// Watch follows the events of these specialists and resources, of all if none are given, from now on; an event that names no
	// specialist concerns every watch. Everything published after Watch returns is seen, so a caller that watches
	// first and lists second misses nothing; an event that the list already shows is recognised by its hold id.
	// ErrClosed.
	Watch(ctx context.Context, specialistIDs ...string) (Watch, error)
}

// Watch is one watcher's place in the stream of events. Its queue is bounded: a watcher that falls too far behind is
// cut off and told, and the others are unharmed. One goroutine may use it at a time.
type Watch interface {
	// Next waits for events and appends those that are there to buf[:0], in order, each exactly once. It returns
	// ErrSlow if events were lost, ErrClosed if the backend was closed, or ctx's error.
	Next(ctx context.Context, buf []Event) ([]Event, error)

	// Close gives up the place. It is idempotent.
	Close()
}
