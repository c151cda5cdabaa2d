package holdstest

import (
	"testing"

	"holdfast/holds"
)

// seat tests how the clients of one session share it.
func (h Harness) seat(t *testing.T) {
	group := func(p *proof, c holds.Owner, seats ...int) holds.Claim {
		wish := p.wish("ada", "09:00", c)
		wish.AppointmentTypeID, wish.Seats = "yoga", seats
		return wish
	}
	h.prove(t, "seats are assigned in the given order, and a refusal has the earliest expiry", func(p *proof) {
		first := p.claim(group(p, amal, 2, 0))
		wish := group(p, bela, 2, 0)
		wish.TTL = p.seconds(20)
		second := p.claim(wish)
		if first.Seat != 2 || second.Seat != 0 {
			p.Errorf("got seats %d and %d, want 2 and 0", first.Seat, second.Seat)
		}
		p.near("Until", p.refused(group(p, caro, 2, 0)), second.ExpiresAt)
		if again := p.claim(group(p, amal, 2, 0)); again.ID != first.ID || again.Seat != 2 {
			p.Errorf("second claim: got seat %d of %s, want 2 of %s", again.Seat, again.ID, first.ID)
		}
		if third := p.claim(group(p, caro, 2, 0, 1)); third.Seat != 1 {
			p.Errorf("got seat %d, want 1", third.Seat)
		}
	})
	h.prove(t, "of 30 clients that claim ten seats concurrently, ten get one each", func(p *proof) {
		seats := map[int]bool{}
		p.race(30, func(i int) func() {
			got, err := p.Claim(p.ctx, group(p, client(i), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9))
			return func() {
				if err == nil {
					seats[got.Seat] = true
				}
			}
		})
		if len(seats) != 10 || len(p.list()) != 10 {
			p.Errorf("got %d seats in %d holds, want 10 in 10", len(seats), len(p.list()))
		}
	})
	h.prove(t, "an empty list of seats is refused as held without an expiry, even for a client with a hold", func(p *proof) {
		p.claim(group(p, amal, 0))
		if until := p.refused(group(p, amal)); !until.IsZero() {
			p.Errorf("got until %v, want the zero time", until)
		}
	})
}
