package holdstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/holds"
)

// Nodes configures how the suite opens several backends on one server.
type Nodes struct {
	// Server starts or empties the server that the nodes share, and returns a function that opens one more node on
	// it. The suite closes the nodes. booked reports whether a pinned hold that expired was booked; nil means that
	// none was.
	Server func(t testing.TB) func(booked func(holds.Hold) bool) holds.Backend
}

// RunNodes tests the interaction of several nodes on one server. Run tests the contract of each node.
func RunNodes(t *testing.T, n Nodes) {
	for _, part := range []struct {
		promise string
		prove   func(*nodes)
	}{
		{"a hold of one node is in the way on another, and its client's on both", (*nodes).oneTable},
		{"of racers on two nodes one has the slot", (*nodes).oneWinner},
		{"racers on two nodes neither share a time nor deadlock", (*nodes).racers},
		{"a lapse is published once however many nodes sweep", (*nodes).onceLapsed},
		{"a doubt passes to another node when the one that asks hangs", (*nodes).doubt},
		{"presence and selections are shared", (*nodes).present},
		{"a node gives no hold on time that another node has booked", (*nodes).booked},
		{"what comes from the feed stays on its node", (*nodes).fed},
		{"a node that closes takes nothing with it", (*nodes).leaving},
	} {
		t.Run(part.promise, func(t *testing.T) {
			t.Parallel()
			part.prove(&nodes{T: t, Nodes: n, another: n.Server(t)})
		})
	}
}

// nodes tests one guarantee that involves several nodes.
type nodes struct {
	*testing.T
	Nodes
	another func(booked func(holds.Hold) bool) holds.Backend
}

// open opens one more node.
func (n *nodes) open(booked func(holds.Hold) bool) holds.Backend {
	n.Helper()
	b := n.another(booked)
	n.Cleanup(func() {
		if err := b.Close(); err != nil {
			n.Error(err)
		}
	})
	return b
}

// noon is noon on a day years after all of the suite's holds have ended.
var noon = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)

// nodeWish returns a claim for half an hour from noon, with a TTL of one minute.
func nodeWish(specialistID string, owner holds.Owner) holds.Claim {
	end := noon.Add(30 * time.Minute)
	return holds.Claim{
		Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: specialistID, SlotStart: noon, SlotEnd: end,
			BusyStart: noon, BusyEnd: end},
		Owner: owner, Seats: []int{0}, TTL: time.Minute, MaxLife: time.Minute,
	}
}

func (n *nodes) claim(b holds.Backend, c holds.Claim) holds.Hold {
	n.Helper()
	h, err := b.Claim(n.Context(), c)
	if err != nil {
		n.Fatalf("claim of %s: got %v, want a hold", c.SpecialistID, err)
	}
	return h
}

// hearing receives a node's events, in order.
type hearing struct {
	n       *nodes
	watch   holds.Watch
	pending []holds.Event
}

func (n *nodes) hear(b holds.Backend) *hearing {
	n.Helper()
	w, err := b.Watch(n.Context())
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(w.Close)
	return &hearing{n: n, watch: w}
}

// next returns the next event. It fails after a minute without one.
func (h *hearing) next() (e holds.Event) {
	h.n.Helper()
	ctx, cancel := context.WithTimeout(h.n.Context(), 10*time.Minute)
	defer cancel()
	for len(h.pending) == 0 {
		var err error
		if h.pending, err = h.watch.Next(ctx, nil); err != nil {
			h.n.Fatalf("got %v, want an event", err)
		}
	}
	e, h.pending = h.pending[0], h.pending[1:]
	return e
}

func (n *nodes) oneTable() {
	a, b := n.open(nil), n.open(nil)
	heard := n.hear(b)
	h := n.claim(a, nodeWish("ada", amal))
	var held *holds.HeldError
	if _, err := b.Claim(n.Context(), nodeWish("ada", bela)); !errors.As(err, &held) || !held.Until.Equal(h.ExpiresAt) {
		n.Errorf("another client on the other node: got %v, want a HeldError until %v", err, h.ExpiresAt)
	}
	if e := heard.next(); e.Kind != holds.EventHold || e.HoldID != h.ID || e.Span != h.Span || !e.Owner.Is(amal) {
		n.Errorf("got %+v, want the hold %+v", e, h)
	}
	if list, err := b.List(n.Context()); err != nil || !slices.Equal(list, []holds.Hold{h}) {
		n.Errorf("got %+v, %v, want the hold", list, err)
	}
	if again, err := b.Claim(n.Context(), nodeWish("ada", amal)); err != nil || again.ID != h.ID {
		n.Errorf("its own client on another node: got %s, %v, want %s renewed", again.ID, err, h.ID)
	}
	if longer, err := b.Extend(n.Context(), h.ID, amal, time.Minute, false); err != nil || longer.ID != h.ID {
		n.Errorf("extended on another node: got %+v, %v, want %s", longer, err, h.ID)
	}
	if ok, err := b.Release(n.Context(), h.ID, amal, holds.ReasonReleased); !ok || err != nil {
		n.Errorf("released on another node: got %v, %v", ok, err)
	}
	if _, err := a.Hold(n.Context(), h.ID); !errors.Is(err, holds.ErrNotFound) {
		n.Errorf("on its first node: got %v, want it released", err)
	}
}

func (n *nodes) oneWinner() {
	both := []holds.Backend{n.open(nil), n.open(nil)}
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			_, err := both[i%2].Claim(n.Context(), nodeWish("ada", client(i)))
			var held *holds.HeldError
			switch {
			case err == nil:
				won.Add(1)
			case !errors.As(err, &held):
				n.Errorf("got %v, want a hold or a HeldError", err)
			}
		})
	}
	all.Wait()
	if got := won.Load(); got != 1 {
		n.Errorf("got %d winners, want 1", got)
	}
}

// racers makes clients race for overlapping times, each for several specialists simultaneously, under a quota and with
// displacement by staff. The backend must acquire all locks in the same order.
func (n *nodes) racers() {
	const clients, specialists, quota = 16, 4, 2
	both := []holds.Backend{n.open(nil), n.open(nil)}
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range clients * specialists {
		all.Go(func() {
			for round := range 10 {
				c := nodeWish(fmt.Sprintf("specialist-%d", (i+round)%specialists), client(i%clients))
				by := time.Duration(round%3) * 10 * time.Minute
				c.SlotStart, c.SlotEnd, c.BusyStart, c.BusyEnd = c.SlotStart.Add(by), c.SlotEnd.Add(by),
					c.BusyStart.Add(by), c.BusyEnd.Add(by)
				c.Quota, c.Displace = quota, i%8 == 0
				h, err := both[(i+round)%2].Claim(n.Context(), c)
				var held *holds.HeldError
				switch {
				case err == nil:
					won.Add(1)
					if round%3 == 0 {
						if _, err := both[round%2].Release(n.Context(), h.ID, c.Owner,
							holds.ReasonReleased); err != nil {
							n.Errorf("release: got %v", err)
						}
					}
				case !errors.As(err, &held) && !errors.Is(err, holds.ErrQuota):
					n.Errorf("got %v, want a hold, a HeldError or ErrQuota", err)
				}
			}
		})
	}
	all.Wait()
	list, err := both[0].List(n.Context())
	if err != nil || won.Load() < 10 {
		n.Fatalf("got %d successful claims, %v, want many", won.Load(), err)
	}
	of := map[holds.Owner]int{}
	for i := range list {
		of[list[i].Owner]++
		for j := range list[:i] {
			if list[i].Excludes(&list[j]) {
				n.Errorf("holds %s and %s conflict", list[i].ID, list[j].ID)
			}
		}
	}
	for owner, got := range of {
		if got > quota {
			n.Errorf("%s has %d holds, want at most %d", owner, got, quota)
		}
	}
}

// onceLapsed counts the expiry events that every node receives.
func (n *nodes) onceLapsed() {
	const count, holdsOf = 4, 200
	var all []holds.Backend
	var heard []*hearing
	for range count {
		b := n.open(nil)
		all, heard = append(all, b), append(heard, n.hear(b))
	}
	for i := range holdsOf {
		c := nodeWish(fmt.Sprintf("specialist-%d", i), amal)
		c.TTL = 300 * time.Millisecond
		n.claim(all[i%count], c)
	}
	for i, h := range heard {
		released := map[string]int{}
		for range 2 * holdsOf {
			if e := h.next(); e.Kind == holds.EventRelease {
				released[e.HoldID]++
			}
		}
		if len(released) != holdsOf {
			n.Errorf("node %d received %d expiries, want %d", i, len(released), holdsOf)
		}
	}
	n.claim(all[0], nodeWish("zoe", bela)) // published after every expiry, and on every node
	for i, h := range heard {
		if e := h.next(); e.SpecialistID != "zoe" {
			n.Errorf("node %d received %s of %s after the last expiry, want each expiry once", i, e.Kind, e.SpecialistID)
		}
	}
}

// doubt tests an in-doubt hold: it was pinned when it expired, and the node that took it hangs. The other node asks
// whether the hold was booked, and the first node's late result is not published again.
func (n *nodes) doubt() {
	answer := make(chan struct{})
	resume := sync.OnceFunc(func() { close(answer) })
	first := make(chan int, 1) // which node hangs
	var both []holds.Backend
	for i := range 2 {
		both = append(both, n.open(func(h holds.Hold) bool {
			select {
			case first <- i:
				<-answer
				return false
			default:
				return h.Pinned && h.Owner == amal
			}
		}))
	}
	n.Cleanup(resume) // otherwise its backend could not be closed
	heard := []*hearing{n.hear(both[0]), n.hear(both[1])}
	c := nodeWish("ada", amal)
	c.TTL = 3 * time.Second
	h := n.claim(both[0], c)
	if _, err := both[0].Pin(n.Context(), h.ID, amal, c.TTL); err != nil {
		n.Fatal(err)
	}
	told := func(i int, kind holds.EventKind) {
		n.Helper()
		if e := heard[i].next(); e.Kind != kind || e.HoldID != "" &&
			(e.HoldID != h.ID || !e.Owner.Is(amal) || e.Span != h.Span) {
			n.Errorf("node %d: got %+v, want one %s", i, e, kind)
		}
	}
	for i := range both {
		told(i, holds.EventHold)
		told(i, holds.EventConfirm)
	}
	hung := <-first
	resume()
	if err := both[hung].Close(); err != nil { // waits until the node has published all its events
		n.Error(err)
	}
	if err := both[1-hung].Publish(n.Context(), holds.Event{Kind: holds.EventPresence}); err != nil {
		n.Fatal(err)
	}
	told(1-hung, holds.EventPresence)
}

func (n *nodes) present() {
	a, b := n.open(nil), n.open(nil)
	ctx := n.Context()
	if changed, err := a.Online(ctx, "ada", 2); !changed || err != nil {
		n.Fatal(changed, err)
	}
	if changed, err := b.Online(ctx, "ada", 2); changed || err != nil {
		n.Errorf("on another node: got changed %v, %v, want false", changed, err)
	}
	if load, err := b.Load(ctx, "ada", 1); load != 1 || err != nil {
		n.Fatal(load, err)
	}
	if p, err := a.Present(ctx, "ada"); err != nil || !p.Online || p.Load != 1 || p.Max != 2 {
		n.Errorf("got %+v, %v, want ada online with a load of 1 of 2", p, err)
	}
	if _, err := a.Select(ctx, amal, nodeWish("ada", amal).Span); err != nil {
		n.Fatal(err)
	}
	if list, err := b.Selected(ctx, noon, noon.Add(time.Hour), "ada"); err != nil || len(list) != 1 ||
		list[0].Owner != amal {
		n.Errorf("got %+v, %v, want amal's selection", list, err)
	}
}

// booked tests that no node grants a hold on time that another node books. The node that books applies the change
// before it ends the hold. The other node has not received the change yet.
func (n *nodes) booked() {
	a, b := n.open(nil), n.open(nil)
	c := nodeWish("ada", amal)
	h := n.claim(a, c)
	if _, err := a.Pin(n.Context(), h.ID, amal, time.Minute); err != nil {
		n.Fatal(err)
	}
	appointment := holds.Booked{AppointmentID: "one", SpecialistID: "ada", SlotStart: c.SlotStart, SlotEnd: c.SlotEnd}
	bookUnderRace(n.T, func(i int) error {
		_, err := b.Claim(n.Context(), nodeWish("ada", client(i)))
		return err
	}, func() {
		if err := a.FollowBusy(n.Context(), 1, holds.Booked{}, appointment); err != nil {
			n.Error(err)
		}
		if ok, err := a.Confirm(n.Context(), h.ID, amal); !ok || err != nil {
			n.Errorf("confirm: got %v, %v, want true", ok, err)
		}
	})
	moving := nodeWish("ada", bela)
	moving.Moving = []holds.Booked{appointment}
	moved := n.claim(b, moving)
	if _, err := b.Release(n.Context(), moved.ID, bela, holds.ReasonReleased); err != nil {
		n.Fatal(err)
	}

	// Every node applies every change, but one node applies it later than the others. An old change from a slow node
	// has no effect.
	if err := b.FollowBusy(n.Context(), 2, appointment, holds.Booked{}); err != nil {
		n.Fatal(err)
	}
	again := n.claim(b, nodeWish("ada", bela))
	if err := a.FollowBusy(n.Context(), 1, holds.Booked{}, appointment); err != nil {
		n.Fatal(err)
	}
	if _, err := a.Release(n.Context(), again.ID, bela, holds.ReasonReleased); err != nil {
		n.Fatal(err)
	}
	n.claim(a, nodeWish("ada", caro))
}

// fed tests that a watcher receives a change from the feed only once. Every node follows the feed, so without a filter
// a watcher would receive the change once per node.
func (n *nodes) fed() {
	a, b := n.open(nil), n.open(nil)
	here, there := n.hear(a), n.hear(b)
	all := []holds.EventKind{holds.EventAppointment, holds.EventCancel, holds.EventBooked, holds.EventConfirm}
	for _, kind := range all {
		if err := a.Publish(n.Context(), holds.Event{Kind: kind}); err != nil {
			n.Fatal(err)
		}
	}
	for _, kind := range all[:3] {
		if e := here.next(); e.Kind != kind {
			n.Errorf("got %s, want %s", e.Kind, kind)
		}
	}
	if e := there.next(); e.Kind != holds.EventConfirm {
		n.Errorf("got %s on the other node, want only the confirmation", e.Kind)
	}
}

func (n *nodes) leaving() {
	a, b := n.open(nil), n.open(nil)
	heard := n.hear(b)
	short := nodeWish("bea", amal)
	short.TTL = 4 * time.Second
	h := n.claim(a, short)
	long := n.claim(a, nodeWish("ada", amal)) // on a busy machine, the short one can expire before the node has closed
	for _, want := range []string{h.ID, long.ID} {
		if e := heard.next(); e.HoldID != want {
			n.Errorf("got %+v, want the hold %s", e, want)
		}
	}
	if err := a.Close(); err != nil {
		n.Fatal(err)
	}
	var held *holds.HeldError
	if _, err := b.Claim(n.Context(), nodeWish("ada", bela)); !errors.As(err, &held) {
		n.Errorf("after its first node has stopped: got %v, want a HeldError", err)
	}
	if e := heard.next(); e.Kind != holds.EventRelease || e.HoldID != h.ID || e.Reason != holds.ReasonExpired {
		n.Errorf("got %+v, want the release of %s from any node", e, h.ID)
	}
}
