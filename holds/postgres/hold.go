package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"holdfast/holds"
	"holdfast/holds/node"
)

// endedFor is how long the database remembers which call ended a hold. It is longer than it takes to read a result
// back.
const endedFor = 5 * time.Second

// Claim implements holds.Table.
func (b *Backend) Claim(ctx context.Context, c holds.Claim) (holds.Hold, error) {
	if b.closed.Load() {
		return holds.Hold{}, holds.ErrClosed
	}
	if c.Unmeetable() {
		return holds.Hold{}, &holds.HeldError{}
	}
	needs, err := json.Marshal(append([][]string{}, c.Needs...))
	if err != nil {
		return holds.Hold{}, err
	}
	moving := make([]string, len(c.Moving))
	for i := range c.Moving {
		moving[i] = c.Moving[i].AppointmentID
	}
	id := node.NewID(time.Now())
	args := append([]any{id, c.Owner.String()}, spanArgs(&c.Span)...)
	args = append(args, node.Milliseconds(c.TTL), node.Milliseconds(c.MaxLife), c.Quota, c.Displace, b.booked != nil,
		c.Seats, string(needs), moving, c.Replaces.ID, c.Replaces.Owner.String())
	h, err := b.take(ctx, `SELECT word, until, COALESCE(hold::text, '')
		FROM holds_claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`, args)
	if err == nil || !errors.Is(err, holds.ErrUnavailable) {
		return h, err
	}
	// A repeated claim would conflict with the hold from this one.
	if h, call, look := b.readBack(ctx, id, err); look == nil && call == id {
		return h, nil
	}
	return holds.Hold{}, err
}

// spanArgs returns the arguments that identify a claim's time.
func spanArgs(s *holds.Span) []any {
	return []any{s.AppointmentTypeID, s.SpecialistID, s.SlotStart.UnixMilli(), s.SlotEnd.UnixMilli(),
		s.BusyStart.UnixMilli(), s.BusyEnd.UnixMilli()}
}

// take calls a function that returns a hold, a word, or the instant at which another client's hold expires.
func (b *Backend) take(ctx context.Context, text string, args []any) (holds.Hold, error) {
	var word, hold string
	var until int64
	if err := b.change(ctx, text, args, &word, &until, &hold); err != nil {
		return holds.Hold{}, err
	}
	if word == "held" {
		return holds.Hold{}, &holds.HeldError{Until: node.Instant(until)}
	}
	return answered(word, hold)
}

// answered converts a response, which is a hold or a status word.
func answered(word, hold string) (holds.Hold, error) {
	switch word {
	case "ok":
		h, _, err := node.ReadHold(hold)
		return h, err
	case "taken":
		return holds.Hold{}, holds.ErrTaken
	case "quota":
		return holds.Hold{}, holds.ErrQuota
	case "restarts":
		return holds.Hold{}, holds.ErrRestarts
	case "not found":
		return holds.Hold{}, holds.ErrNotFound
	case "not owner":
		return holds.Hold{}, holds.ErrNotOwner
	}
	return holds.Hold{}, fmt.Errorf("%w: the database answered %q", holds.ErrUnavailable, word)
}

const readHold = `SELECT holds_json(h)::text FROM holds_live h WHERE h.id = $1 AND h.deadline > holds_clock()`

// readBack reads a hold after the response to a call was lost, even if the caller has given up in the meantime. If the
// server refused the call or the backend is closed, readBack returns lost.
func (b *Backend) readBack(ctx context.Context, id string, lost error) (h holds.Hold, call string, err error) {
	if refused(lost) || errors.Is(lost, holds.ErrClosed) {
		return h, "", lost
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.lookBack)
	defer cancel()
	return b.hold(ctx, id)
}

// hold reads a live hold and the name of the call that last changed it.
func (b *Backend) hold(ctx context.Context, id string) (h holds.Hold, call string, err error) {
	var text string
	err = b.read(ctx, readHold, []any{id}, &text)
	switch {
	case errors.Is(err, errNoRow):
		return h, "", holds.ErrNotFound
	case err != nil:
		return h, "", err
	}
	return node.ReadHold(text)
}

// Extend implements holds.Table.
func (b *Backend) Extend(ctx context.Context, id string, owner holds.Owner, ttl time.Duration,
	restart bool) (holds.Hold, error) {
	return b.prolong(ctx, `SELECT word, COALESCE(hold::text, '') FROM holds_extend($1, $2, $3, $4, $5, $6)`, id, owner,
		node.Milliseconds(ttl), restart, holds.MaxRestarts)
}

// Pin implements holds.Table.
func (b *Backend) Pin(ctx context.Context, id string, owner holds.Owner, atLeast time.Duration) (holds.Hold, error) {
	return b.pin(ctx, id, owner, true, atLeast)
}

// Unpin implements holds.Table.
func (b *Backend) Unpin(ctx context.Context, id string, owner holds.Owner, grace time.Duration) (holds.Hold, error) {
	h, err := b.pin(ctx, id, owner, false, grace)
	if err == nil {
		b.sweeper.NotLater(h.ExpiresAt) // it may expire before any deadline in the events
	}
	return h, err
}

func (b *Backend) pin(ctx context.Context, id string, owner holds.Owner, pin bool,
	d time.Duration) (holds.Hold, error) {
	return b.prolong(ctx, `SELECT word, COALESCE(hold::text, '') FROM holds_pin($1, $2, $3, $4, $5)`, id, owner, pin,
		node.Milliseconds(d))
}

// Transfer implements holds.Table.
func (b *Backend) Transfer(ctx context.Context, id string, owner, to holds.Owner, ttl,
	maxLife time.Duration) (holds.Hold, error) {
	h, err := b.prolong(ctx, `SELECT word, COALESCE(hold::text, '') FROM holds_transfer($1, $2, $3, $4, $5, $6)`, id,
		owner,
		to.String(), node.Milliseconds(ttl), node.Milliseconds(maxLife))
	if err == nil {
		b.sweeper.NotLater(time.Now().Add(ttl)) // a pin may have set a later deadline
	}
	return h, err
}

// prolong calls a function that changes when a hold expires. If the response is lost, prolong reads from the hold
// whether the call was executed.
func (b *Backend) prolong(ctx context.Context, text, id string, owner holds.Owner, args ...any) (holds.Hold, error) {
	if b.closed.Load() {
		return holds.Hold{}, holds.ErrClosed
	}
	if !isID(id) {
		return holds.Hold{}, holds.ErrNotFound
	}
	call := newCall()
	var word, hold string
	err := b.change(ctx, text, append([]any{id, owner.String(), call}, args...), &word, &hold)
	if err == nil {
		return answered(word, hold)
	}
	h, last, look := b.readBack(ctx, id, err)
	switch {
	case look == nil && last == call:
		return h, nil
	case errors.Is(look, holds.ErrNotFound):
		return holds.Hold{}, look
	}
	return holds.Hold{}, err
}

// newCall returns a name for a call, which distinguishes its result from that of another call.
func newCall() string { return strconv.FormatUint(rand.Uint64(), 36) }

// isID reports whether a string has the form of a hold's id.
func isID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for _, c := range []byte(id) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || c == '-') {
			return false
		}
	}
	return true
}

// Confirm implements holds.Table.
func (b *Backend) Confirm(ctx context.Context, id string, owner holds.Owner) (bool, error) {
	return b.finish(ctx, id, owner, holds.EventConfirm, "")
}

// Release implements holds.Table.
func (b *Backend) Release(ctx context.Context, id string, owner holds.Owner, reason holds.Reason) (bool, error) {
	return b.finish(ctx, id, owner, holds.EventRelease, reason)
}

// finish ends a hold. The database then remembers for endedFor which call ended it, so that a lost result can be read
// back.
func (b *Backend) finish(ctx context.Context, id string, owner holds.Owner, kind holds.EventKind,
	reason holds.Reason) (bool, error) {
	if b.closed.Load() {
		return false, holds.ErrClosed
	}
	if !isID(id) {
		return false, nil
	}
	call, word := newCall(), ""
	err := b.change(ctx, `SELECT holds_finish($1, $2, $3, $4, $5, $6)`,
		[]any{id, owner.String(), call, string(kind), string(reason), node.Milliseconds(endedFor)}, &word)
	if err != nil {
		return b.finished(ctx, id, call, err)
	}
	switch word {
	case "ok":
		return true, nil
	case "not found":
		return false, nil
	}
	_, err = answered(word, "")
	return false, err
}

// finished checks which call ended a hold. If the hold is neither live nor among the recent ends, it did not exist.
func (b *Backend) finished(ctx context.Context, id, call string, lost error) (bool, error) {
	if refused(lost) || errors.Is(lost, holds.ErrClosed) {
		return false, lost
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.lookBack)
	defer cancel()
	var by string
	var live bool
	err := b.read(ctx, `SELECT COALESCE((SELECT call FROM holds_endings WHERE id = $1), ''),
		EXISTS (SELECT 1 FROM holds_live WHERE id = $1 AND deadline > holds_clock())`, []any{id}, &by, &live)
	if err != nil || live {
		return false, lost
	}
	return by == call, nil
}

// Hold implements holds.Table.
func (b *Backend) Hold(ctx context.Context, id string) (holds.Hold, error) {
	if b.closed.Load() {
		return holds.Hold{}, holds.ErrClosed
	}
	if !isID(id) {
		return holds.Hold{}, holds.ErrNotFound
	}
	h, _, err := b.hold(ctx, id)
	return h, err
}

// List implements holds.Table.
func (b *Backend) List(ctx context.Context, specialistIDs ...string) ([]holds.Hold, error) {
	all, err := b.texts(ctx,
		`SELECT holds_json(h)::text, row_number() OVER (ORDER BY h.specialist_id, h.slot_start, h.seat)
		FROM holds_live h WHERE h.deadline > (SELECT holds_clock()) AND ($1 OR h.specialist_id = ANY ($2)
			OR h.resources <> '{}' AND h.resources && $2)`, len(specialistIDs) == 0, specialistIDs)
	if err != nil {
		return nil, err
	}
	list := make([]holds.Hold, 0, len(all))
	for _, text := range all {
		h, _, err := node.ReadHold(text)
		if err != nil {
			return nil, b.translate(err)
		}
		list = append(list, h)
	}
	return list, nil
}
