package memory

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/holds"
	"holdfast/holds/holdstest"
)

func TestBackend(t *testing.T) {
	holdstest.Run(t, holdstest.Harness{Open: open, Virtual: true, Queue: 1024})
}

// open is New with a small watcher queue. After the test, the whole backend is checked.
func open(t testing.TB, booked func(holds.Hold) bool) holds.Backend {
	b := New(Options{Booked: booked, WatchQueue: 1024})
	t.Cleanup(func() { check(t, b) })
	return b
}

// check verifies that all data that the backend stores twice is consistent, and that no data of ended holds is left.
// The backend has been closed, so nothing changes.
func check(t testing.TB, b *Backend) {
	t.Helper()
	chained := map[*record]bool{}
	for i := range b.clients {
		cs, n := &b.clients[i], 0
		for k, first := range cs.chains {
			for r := first; r != nil; r = r.next {
				own, id := b.identify(r.Owner)
				if own != cs || r.own != cs || r.hash != id.hash || *cs.chain(r.hash) != first {
					t.Errorf("hold %s is in chain %d of another client", r.ID, k)
				}
				if r.next != nil && r.next.previous != r || r == first && r.previous != nil {
					t.Errorf("hold %s has wrong links in its chain", r.ID)
				}
				chained[r] = true
				n++
			}
		}
		if n != cs.count {
			t.Errorf("got %d holds in the chains, want %d", n, cs.count)
		}
	}
	for i := range b.shards {
		s := &b.shards[i]
		for _, r := range s.gone {
			if !chained[r] {
				t.Errorf("hold %s waits for the sweeper, but is in no chain", r.ID)
			}
			delete(chained, r)
		}
		inTable := 0
		for n, r := range s.table {
			if r == nil {
				continue
			}
			inTable++
			if at, ok := b.placeIn(r.ID); !ok || at != r.at || at.shard() != i || at.number() != n {
				t.Errorf("hold %s is at index %d of shard %d", r.ID, n, i)
			}
			if s.deadlines[r.place] != (due{r.deadline(), r}) || r.place > 0 &&
				s.deadlines[(r.place-1)/2].at > r.deadline() {
				t.Errorf("hold %s has the wrong place among the deadlines", r.ID)
			}
			if !chained[r] || r.gone.Load() {
				t.Errorf("hold %s is not in its client's chain", r.ID)
			}
			delete(chained, r)
		}
		if inTable != len(s.deadlines) || inTable+len(s.vacant) != len(s.table) {
			t.Errorf("shard %d: %d holds, %d deadlines, %d vacant of %d", i, inTable, len(s.deadlines), len(s.vacant),
				len(s.table))
		}
		for id, of := range s.specialists {
			inTable -= len(of.holds)
			for n, r := range of.holds {
				if r.SpecialistID != id || n > 0 && r.before(of.holds[n-1]) {
					t.Errorf("hold %s has the wrong place in its list", r.ID)
				}
				for _, other := range of.holds[:n] {
					if other.Conflicts(&r.Span) {
						t.Errorf("holds %s and %s conflict", r.ID, other.ID)
					}
				}
			}
		}
		if inTable != 0 {
			t.Errorf("shard %d has %d holds more than its specialists", i, inTable)
		}
	}
	for r := range chained {
		t.Errorf("hold %s has ended, but is in its client's chain", r.ID)
	}
	if n := b.log.Watching(); n > 0 {
		t.Errorf("%d watches remain", n)
	}
	listed := 0
	for _, of := range b.selections.specialists {
		listed += len(of)
	}
	onRing := 0
	for s := b.selections.ends.next; s != &b.selections.ends; s = s.next {
		onRing++
	}
	if n := len(b.selections.byOwner); n != listed || n != onRing {
		t.Errorf("%d selections, %d by specialist, %d by deadline", n, listed, onRing)
	}
	for i, one := range b.presence.order {
		if !one.Online || one.Deactivated || b.presence.byID[one.SpecialistID] != one || i > 0 &&
			byLoad(b.presence.order[i-1], one) >= 0 {
			t.Errorf("%s has the wrong place in the list of online specialists", one.SpecialistID)
		}
	}
}

// TestBusyTimeIsBounded: booked time of past days is dropped when a new day begins, and a day without booked time needs
// no memory.
func TestBusyTimeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{})
		defer b.Close()
		book := func(busy bool) {
			start := time.Now().Truncate(time.Hour)
			if err := b.setBusy("ada", holds.TicksTouching(start, start.Add(time.Hour)), busy); err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			book(true)
			time.Sleep(24 * time.Hour)
		}
		of := b.shardOf("ada").of("ada")
		if n := len(of.busy); n != pastDays+1 {
			t.Errorf("got the booked time of %d days, want %d", n, pastDays+1)
		}
		book(true)
		book(false)
		if n := len(of.busy); n != pastDays {
			t.Errorf("got the booked time of %d days without today, want %d", n, pastDays)
		}
	})
}

// TestClaimFollowsEndOfLapsedHold: a hold on the claim's room that expires while the claim waits for its locks has
// ended when the claim has them, so its end is published before the claim.
func TestClaimFollowsEndOfLapsedHold(t *testing.T) {
	b := New(Options{})
	defer b.Close()
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 2)
	c := holds.Claim{Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: "ada", SlotStart: day,
		SlotEnd: day.Add(time.Hour), BusyStart: day, BusyEnd: day.Add(time.Hour)},
		Owner: holds.ClientID("client-number-0001").Owner(), Seats: []int{0}, Needs: [][]string{{"room"}},
		TTL: time.Hour}
	h, err := b.Claim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s := b.shardOf("ada")
	s.enter()
	at, _ := b.placeIn(h.ID)
	r := s.hold(h.ID, at)
	r.expires = 0 // it expires now, and the sweeper is not woken
	s.deadlines.changed(r)
	b.resources.keep(r)
	s.Unlock()
	for i := 0; b.shardOf(c.SpecialistID) == b.shardOf("ada"); i++ {
		c.SpecialistID = fmt.Sprintf("bob-%d", i)
	}
	_, leave := b.enterFor(b.shardOf(c.SpecialistID), &c)
	left := len(b.resources.of["room"])
	leave()
	if left != 0 {
		t.Errorf("%d expired holds on the room have not ended", left)
	}
}

// TestTransferBetweenNeighbors: a hold can be transferred between two owners that share a lock.
func TestTransferBetweenNeighbors(t *testing.T) {
	b := New(Options{})
	defer b.Close()
	giver := holds.ClientID("client-number-0000").Owner()
	chains, _ := b.identify(giver)
	for i := 1; ; i++ {
		taker := holds.ClientID(fmt.Sprintf("client-number-%04d", i)).Owner()
		if other, _ := b.identify(taker); other != chains {
			continue
		}
		day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 2)
		span := holds.Span{AppointmentTypeID: "checkup", SpecialistID: "ada", SlotStart: day,
			SlotEnd: day.Add(time.Hour), BusyStart: day, BusyEnd: day.Add(time.Hour)}
		h, err := b.Claim(t.Context(), holds.Claim{Span: span, Owner: giver, Seats: []int{0}, TTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		h, err = b.Transfer(t.Context(), h.ID, giver, taker, time.Hour, time.Hour)
		if err != nil || h.Owner != taker {
			t.Errorf("got %+v, %v, want a hold of the second owner", h, err)
		}
		return
	}
}
