package enginetest

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/request"
	"holdfast/engine/token"
	"holdfast/holds/memory"
)

// Visitor returns a visitor from the nth network.
func Visitor(n int) request.Visitor {
	return request.Visitor{Network: netip.AddrFrom4([4]byte{203, 0, byte(n >> 8), byte(n)})}
}

// PublicBooking returns a booking request from client n with its own time, email address and phone number.
func (c *TestClinic) PublicBooking(n int) booking.Request {
	r := BookingOf(n, "checkup")
	r.SlotStart = c.Start.Add(time.Duration(n) * 30 * time.Minute)
	r.Patient.Phone = fmt.Sprintf("030 %07d", n)
	return r
}

// Restarted opens a second engine on the same database, with its own live state.
func Restarted(t *testing.T, c *TestClinic, keys *token.Keyring) *engine.Engine {
	t.Helper()
	live := memory.New(memory.Options{})
	next, err := engine.New(context.Background(), engine.Options{Store: c.Store, Holds: live, Keyring: keys})
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { next.Run(run) })
	t.Cleanup(func() { stop(); running.Wait(); live.Close() })
	return next
}
