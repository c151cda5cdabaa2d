package redis

import (
	"context"
	"fmt"
	"time"

	"holdfast/holds/node"

	"holdfast/holds"
)

// leaseTime is how long after its last ping a node with its own database has exclusive use of this Redis.
const leaseTime = 30 * time.Second

const leaseKey = "holdfast:lease"

// LeaseError reports that another node, with its own database, uses this Redis. Two such nodes would share holds but
// not appointments, so nothing would protect the bookings. It wraps holds.ErrUnavailable.
type LeaseError struct {
	Holder string
	Left   time.Duration // until the lease expires, if that node no longer runs
}

func (e *LeaseError) Error() string {
	return fmt.Sprintf(
		"another node with a different database uses this Redis (%s); the lease of that node expires in %v unless "+
			"the node renews it",
		e.Holder, e.Left.Round(time.Second),
	)
}

// Unwrap returns holds.ErrUnavailable.
func (e *LeaseError) Unwrap() error { return holds.ErrUnavailable }

// Ping returns nil if Redis is writable and its events are being received. It renews the lease, or returns a
// *LeaseError.
func (b *Backend) Ping(ctx context.Context) error {
	reply, err := b.run(ctx, pingScript, []string{"holdfast:health:ping", leaseKey}, b.lease,
		node.Milliseconds(leaseTime))
	if err != nil {
		return err
	}
	if number(reply, 0) != 1 {
		return &LeaseError{Holder: text(reply, 1), Left: time.Duration(number(reply, 2)) * time.Millisecond}
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	return b.ear.Wait(ctx, b.done)
}

// HasLease reports whether the lease of Options.Lease is valid: this process, or another with the same lease, has
// pinged this Redis within leaseTime.
func (b *Backend) HasLease(ctx context.Context) (bool, error) {
	reply, err := b.run(ctx, leasedScript, []string{leaseKey}, b.lease)
	return err == nil && number(reply, 0) == 1, err
}

// leave releases the lease, so that the next node does not wait for its expiry.
func (b *Backend) leave() {
	if b.lease == "" {
		return
	}
	if _, err := b.run(context.Background(), leaveScript, []string{leaseKey}, b.lease); err != nil {
		b.logger.Warn("failed to release the lease on Redis; it expires on its own", "error", err)
	}
}
