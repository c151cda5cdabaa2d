package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/holds"
	"holdfast/holds/node"
)

var _ holds.Sealer = (*Backend)(nil)

const (
	epochKey  = "holdfast:epoch"
	serverKey = "holdfast:epoch:server"
)

// Enter implements holds.Homely.
func (b *Backend) Enter(epoch uint64) { b.epoch.Store(epoch) }

// under returns the epoch for this node's changes, in the scripts' format.
func (b *Backend) under() string {
	if epoch := b.epoch.Load(); epoch != 0 {
		return strconv.FormatUint(epoch, 10)
	}
	return ""
}

// Whole implements holds.Homely.
func (b *Backend) Whole(ctx context.Context, epoch uint64) (bool, error) {
	reply, err := b.run(ctx, sameScript, []string{epochKey, serverKey}, epoch)
	return number(reply, 0) == 1, err
}

// LatestEpoch implements holds.Sealer.
func (b *Backend) LatestEpoch(ctx context.Context) (epoch uint64, open bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	known, err := b.client.Get(ctx, epochKey).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, false, b.translate(err)
	}
	digits, _, closed := strings.Cut(known, ":")
	epoch, _ = strconv.ParseUint(digits, 10, 64) // a value that is not a number counts as epoch 0
	return epoch, !closed, nil
}

// Seal implements holds.Sealer.
func (b *Backend) Seal(ctx context.Context, before, epoch uint64) (whole bool, err error) {
	reply, err := b.run(ctx, sealScript, []string{epochKey, serverKey}, before, epoch)
	if err == nil && number(reply, 0) < 0 {
		err = holds.ErrMoved
	}
	return number(reply, 0) == 1, err
}

// Snapshot implements holds.Homely.
func (b *Backend) Snapshot(ctx context.Context) (s holds.Snapshot, err error) {
	s.Asked = time.Now()
	reply, err := b.run(ctx, snapshotScript, nil)
	if err != nil {
		return s, err
	}
	s.At = node.Instant(number(reply, 0))
	live := list(reply, 1)
	for i := range live {
		r, err := node.ReadRemains(text(live, i))
		if err != nil {
			return s, b.translate(err)
		}
		s.Holds = append(s.Holds, r)
	}
	if s.Selections, err = b.selections(list(reply, 2)); err != nil {
		return s, err
	}
	s.Present = presentOf(list(reply, 3))
	return s, nil
}

// list returns the list at index i of a reply.
func list(reply []any, i int) []any {
	if i < len(reply) {
		if l, ok := reply[i].([]any); ok {
			return l
		}
	}
	return nil
}

const (
	clearedAtOnce = 1000 // the maximum number of holds and selections that one script removes
	fillers       = 16   // concurrent calls while a home is filled
)

// Fill implements holds.Homely.
func (b *Backend) Fill(ctx context.Context, epoch uint64, s holds.Snapshot, _ holds.Origin) ([]holds.Restored, error) {
	who := newCall()
	for left := int64(0); left == 0; {
		reply, err := b.run(ctx, clearScript, []string{epochKey}, epoch, who, clearedAtOnce)
		if err != nil {
			return nil, err
		}
		if left = number(reply, 0); left < 0 {
			return nil, holds.ErrMoved
		}
	}
	s = s.Local()
	under := strconv.FormatUint(epoch, 10) + ":" + who
	restored := make([]holds.Restored, len(s.Holds))
	err := atOnce(len(s.Holds), func(i int) error {
		h, err := b.restore(ctx, under, s.Holds[i])
		restored[i] = holds.Restored{Hold: h, Err: err}
		var held *holds.HeldError
		if errors.As(err, &held) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = atOnce(len(s.Selections), func(i int) error {
		x := &s.Selections[i]
		_, err := b.selectFor(ctx, under, x.Owner, x.Span, max(time.Millisecond, time.Until(x.ExpiresAt)))
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := b.seed(ctx, under, s.Present); err != nil {
		return nil, err
	}
	reply, err := b.run(ctx, openScript, []string{epochKey, serverKey}, epoch, who)
	if err == nil && number(reply, 0) != 1 {
		err = fmt.Errorf("%w: another node is filling Redis", holds.ErrMoved)
	}
	return restored, err
}

// atOnce calls do for every index below n, up to fillers at a time. After the first error, it starts no more calls. It
// returns the first error, or holds.ErrMoved if one of the calls returned that.
func atOnce(n int, do func(i int) error) error {
	var next atomic.Int64
	var first error
	var mu sync.Mutex
	var all sync.WaitGroup
	for range min(n, fillers) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					next.Store(int64(n))
					mu.Lock()
					if first == nil || errors.Is(err, holds.ErrMoved) {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return first
}
