package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/holds"
	"holdfast/holds/node"
)

const (
	deadlinesKey  = "holds:deadlines"
	doubtsKey     = "holds:doubts"
	selectionsKey = "selections:deadlines"
)

// endedFor is how long Redis remembers which call ended a hold. It is longer than it takes to read a result back.
const endedFor = 2 * time.Second

// Claim implements holds.Table.
func (b *Backend) Claim(ctx context.Context, c holds.Claim) (holds.Hold, error) {
	if b.closed.Load() {
		return holds.Hold{}, holds.ErrClosed
	}
	if c.Unmeetable() {
		return holds.Hold{}, &holds.HeldError{}
	}
	if err := plain(append(slices.Concat(c.Needs...), c.AppointmentTypeID, c.SpecialistID)...); err != nil {
		return holds.Hold{}, err
	}
	needs := ""
	if len(c.Needs) > 0 {
		groups, err := json.Marshal(c.Needs)
		if err != nil {
			return holds.Hold{}, err
		}
		needs = string(groups)
	}
	if err := b.settleMarks(ctx); err != nil {
		return holds.Hold{}, err
	}
	id, owner := node.NewID(time.Now()), c.Owner.String()
	bitmaps, ticks := checkedTicks(&c)
	keys := []string{
		"specialist:" + c.SpecialistID + ":holds", "client:" + owner + ":holds",
		holdKey(&c.Span),
	}
	keys = append(keys, bitmaps...)
	args := make([]any, 17, 18+len(c.Seats))
	copy(args, []any{
		id, owner, c.AppointmentTypeID, c.SpecialistID, c.SlotStart.UnixMilli(), c.SlotEnd.UnixMilli(),
		c.BusyStart.UnixMilli(), c.BusyEnd.UnixMilli(), node.Milliseconds(c.TTL), node.Milliseconds(c.MaxLife), c.Quota,
		c.Displace, b.booked != nil, needs, ticks, c.Replaces.ID, c.Replaces.Owner.String(),
	})
	for _, seat := range c.Seats {
		args = append(args, seat)
	}
	reply, err := b.change(ctx, claimScript, keys, args...)
	if err != nil {
		return b.claimed(ctx, id, err)
	}
	switch text(reply, 0) {
	case "new":
		h := holds.Hold{ID: id, Span: c.Span, Owner: c.Owner, ExpiresAt: node.Instant(number(reply, 2)),
			MaxExpiresAt: node.Instant(number(reply, 3))}
		h.Seat, h.Resources = int(number(reply, 1)), holds.IDs(text(reply, 4))
		h.SlotStart, h.SlotEnd, h.BusyStart, h.BusyEnd = exact(h.SlotStart), exact(h.SlotEnd), exact(h.BusyStart),
			exact(h.BusyEnd)
		return h, nil
	case "held":
		return holds.Hold{}, &holds.HeldError{Until: node.Instant(number(reply, 1))}
	}
	return b.answered(reply)
}

// holdKey returns the key of seat 0.
func holdKey(s *holds.Span) string {
	return "hold:" + s.AppointmentTypeID + ":" + s.SlotStart.UTC().Format(time.RFC3339Nano) + ":" + s.SpecialistID
}

// exact rounds t to milliseconds, the precision used in Redis.
func exact(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// claimed looks for the hold of a claim whose response was lost. A repeated claim would conflict with that hold.
func (b *Backend) claimed(ctx context.Context, id string, lost error) (holds.Hold, error) {
	if h, call, err := b.readBack(ctx, id, lost); err == nil && call == id {
		return h, nil
	}
	if refused(lost) || errors.Is(lost, holds.ErrClosed) {
		return holds.Hold{}, lost
	}
	return holds.Hold{}, &holds.LostError{ID: id, Err: lost}
}

// readBack reads a hold after the response to a call was lost, even if the caller has given up in the meantime. If
// Redis refused the call or the backend is closed, readBack returns lost.
func (b *Backend) readBack(ctx context.Context, id string, lost error) (h holds.Hold, call string, err error) {
	if refused(lost) || errors.Is(lost, holds.ErrClosed) {
		return h, "", lost
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.lookBack)
	defer cancel()
	reply, err := b.run(ctx, holdScript, []string{"hold-id:" + id}, id)
	if err != nil {
		return h, "", err
	}
	if text(reply, 0) != "ok" {
		return h, "", holds.ErrNotFound
	}
	return node.ReadHold(text(reply, 1))
}

// answered converts a response, which is a hold or a status word.
func (b *Backend) answered(reply []any) (holds.Hold, error) {
	switch word := text(reply, 0); word {
	case "ok", "own":
		h, _, err := node.ReadHold(text(reply, 1))
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
	default:
		return holds.Hold{}, fmt.Errorf("%w: a script answered %q", holds.ErrUnavailable, word)
	}
}

// Extend implements holds.Table.
func (b *Backend) Extend(ctx context.Context, id string, owner holds.Owner, ttl time.Duration,
	restart bool) (holds.Hold, error) {
	return b.prolong(ctx, extendScript, id, owner, node.Milliseconds(ttl), restart, holds.MaxRestarts)
}

// Pin implements holds.Table.
func (b *Backend) Pin(ctx context.Context, id string, owner holds.Owner, atLeast time.Duration) (holds.Hold, error) {
	return b.prolong(ctx, pinScript, id, owner, "pin", node.Milliseconds(atLeast))
}

// Unpin implements holds.Table.
func (b *Backend) Unpin(ctx context.Context, id string, owner holds.Owner, grace time.Duration) (holds.Hold, error) {
	h, err := b.prolong(ctx, pinScript, id, owner, "unpin", node.Milliseconds(grace))
	if err == nil {
		b.sweeper.NotLater(time.Now().Add(time.Until(h.ExpiresAt))) // it may expire before any deadline in the events
	}
	return h, err
}

// Transfer implements holds.Table.
func (b *Backend) Transfer(ctx context.Context, id string, owner, to holds.Owner, ttl,
	maxLife time.Duration) (holds.Hold, error) {
	h, err := b.prolong(ctx, transferScript, id, owner, to.String(), node.Milliseconds(ttl), node.Milliseconds(maxLife))
	if err == nil {
		b.sweeper.NotLater(time.Now().Add(ttl)) // a pin may have set a later deadline
	}
	return h, err
}

// prolong runs a script that changes when a hold expires. If the response is lost, prolong reads from the hold whether
// the call was executed.
func (b *Backend) prolong(ctx context.Context, s lua, id string, owner holds.Owner, args ...any) (holds.Hold, error) {
	call := newCall()
	reply, err := b.change(ctx, s, []string{"hold-id:" + id}, append([]any{id, owner.String(), call}, args...)...)
	if err == nil {
		return b.answered(reply)
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

// Confirm implements holds.Table. It sets the appointment's bit before it ends the hold, so every claim finds one of
// the two.
func (b *Backend) Confirm(ctx context.Context, id string, owner holds.Owner) (bool, error) {
	if err := b.settleMarks(ctx); err != nil {
		return false, err
	}
	return b.finish(ctx, id, owner, holds.EventConfirm, "")
}

// Release implements holds.Table.
func (b *Backend) Release(ctx context.Context, id string, owner holds.Owner, reason holds.Reason) (bool, error) {
	return b.finish(ctx, id, owner, holds.EventRelease, reason)
}

// finish ends a hold. The key for the hold's id then records for endedFor which call ended the hold, so that a lost
// result can be read back.
func (b *Backend) finish(ctx context.Context, id string, owner holds.Owner, kind holds.EventKind,
	reason holds.Reason) (bool, error) {
	call := newCall()
	reply, err := b.change(ctx, finishScript, []string{"hold-id:" + id}, id, owner.String(), call, string(kind),
		string(reason),
		node.Milliseconds(endedFor))
	if err != nil {
		return b.finished(ctx, id, call, err)
	}
	_, err = b.answered(append(reply, "{}"))
	if errors.Is(err, holds.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (b *Backend) finished(ctx context.Context, id, call string, lost error) (bool, error) {
	if refused(lost) || errors.Is(lost, holds.ErrClosed) {
		return false, lost
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.lookBack)
	defer cancel()
	was, err := b.client.Get(ctx, "hold-id:"+id).Result()
	switch {
	case was == "ended by "+call:
		return true, nil
	case errors.Is(err, redis.Nil), strings.HasPrefix(was, "ended by "):
		return false, nil
	}
	return false, lost
}

// Hold implements holds.Table.
func (b *Backend) Hold(ctx context.Context, id string) (holds.Hold, error) {
	reply, err := b.run(ctx, holdScript, []string{"hold-id:" + id}, id)
	if err != nil {
		return holds.Hold{}, err
	}
	return b.answered(reply)
}

// List implements holds.Table.
func (b *Backend) List(ctx context.Context, specialistIDs ...string) ([]holds.Hold, error) {
	reply, err := b.run(ctx, listScript, keysOf(specialistIDs, "specialist:", ":holds", deadlinesKey))
	if err != nil {
		return nil, err
	}
	list := make([]holds.Hold, 0, len(reply))
	for i := range reply {
		h, _, err := node.ReadHold(text(reply, i))
		if err != nil {
			return nil, b.translate(err)
		}
		list = append(list, h)
	}
	slices.SortFunc(list, func(x, y holds.Hold) int {
		return cmp.Or(strings.Compare(x.SpecialistID, y.SpecialistID), x.SlotStart.Compare(y.SlotStart), x.Seat-y.Seat)
	})
	return list, nil
}

// keysOf returns one key for each distinct specialist, or the key for all if no specialist is given.
func keysOf(specialistIDs []string, before, after, all string) []string {
	if len(specialistIDs) == 0 {
		return []string{all}
	}
	ids := slices.Compact(slices.Sorted(slices.Values(specialistIDs)))
	for i, id := range ids {
		ids[i] = before + id + after
	}
	return ids
}
