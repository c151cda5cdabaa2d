package web

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/presence"
	"holdfast/engine/timed"
	"holdfast/holds"
)

// Limits restrict how many holds, session requests and connections the public can have at the same time. They should
// stop a script, but not the people in a waiting room who share one address. A limit of 0 means its default. Each node
// counts separately.
type Limits struct {
	HoldsPerAddress int // live holds from one address; default 200
	HoldsPerDay     int // live holds with one specialist on one UTC day; default 100
	// the percentage of a specialist's seats on one day, and in one week, that one address may hold, but at least
	// minHoldShare seats; default 20
	HoldShare          int
	SessionsPerAddress int // waiting session requests from one address; default 10
	Streams            int // live streams in all, with or without Options.RateLimit; default 20,000
	StreamsPerAddress  int // live streams to one address; default 200
	IdlePerAddress     int // idle connections from one address; default 256

	// ConnectionsPerAddress is the maximum number of connections from one address, except streams. Default 1024.
	ConnectionsPerAddress int
}

func (l Limits) withDefaults() Limits {
	for _, x := range []struct {
		to    *int
		value int
	}{{&l.HoldsPerAddress, 200}, {&l.HoldsPerDay, 100}, {&l.HoldShare, 20}, {&l.SessionsPerAddress, 10},
		{&l.Streams, 20_000}, {&l.StreamsPerAddress, 200}, {&l.IdlePerAddress, 256},
		{&l.ConnectionsPerAddress, 1024}} {
		if *x.to == 0 {
			*x.to = x.value
		}
	}
	return l
}

// minHoldShare is the number of seats on one day, or in one week, that one address can always hold, enough for two
// people in one household.
const minHoldShare = 2

// holdLimit limits the number of live holds in each group, or of other entries that expire. It stores only the last
// known expiry of each hold. If a group seems full, holdLimit calls end to check which holds are still live. A nil
// *holdLimit limits nothing.
type holdLimit[K comparable] struct {
	end func(ctx context.Context, id string) (time.Time, bool) // returns the expiry of a hold, and whether it is live

	mu  sync.Mutex
	all map[K]*heldGroup
}

type heldGroup struct {
	ends   map[string]time.Time // by hold
	looked time.Time            // when the holds were last checked
}

func newHoldLimit[K comparable](end func(context.Context, string) (time.Time, bool)) *holdLimit[K] {
	return &holdLimit[K]{end: end, all: make(map[K]*heldGroup)}
}

// admit adds a hold to a group, or updates the expiry of a hold that is in the group already. It returns false if the
// group is full.
func (h *holdLimit[K]) admit(ctx context.Context, key K, most int, id string, end, now time.Time) bool {
	if h == nil || h.count(key, most, id, end) {
		return true
	}
	h.mu.Lock()
	g := h.all[key]
	ask := g != nil && now.Sub(g.looked) >= time.Second // limits the checks to one per second
	if ask {
		g.looked = now
	}
	h.mu.Unlock()
	if ask {
		h.refresh(ctx, key, time.Time{})
	}
	return h.count(key, most, id, end)
}

// hasRoom reports whether admit would accept another hold that replaces the hold with the id instead, if that is in the
// group. It counts nothing.
func (h *holdLimit[K]) hasRoom(ctx context.Context, key K, most int, instead string, now time.Time) bool {
	if h == nil {
		return true
	}
	h.mu.Lock()
	g := h.all[key]
	if g != nil && !g.ends[instead].IsZero() {
		most++
	}
	full := g != nil && len(g.ends) >= most
	ask := full && now.Sub(g.looked) >= time.Second // limits the checks to one per second
	if ask {
		g.looked = now
	}
	h.mu.Unlock()
	if !ask {
		return !full
	}
	h.refresh(ctx, key, time.Time{})
	h.mu.Lock()
	defer h.mu.Unlock()
	g = h.all[key]
	return g == nil || len(g.ends) < most
}

// drop removes a hold that has ended from a group.
func (h *holdLimit[K]) drop(key K, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.all[key]; g != nil {
		delete(g.ends, id)
	}
}

// size returns the number of known holds of a group.
func (h *holdLimit[K]) size(key K) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.all[key]; g != nil {
		return len(g.ends)
	}
	return 0
}

// isAny reports whether any group has at least most holds.
func (h *holdLimit[K]) isAny(most int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.all {
		if len(g.ends) >= most {
			return true
		}
	}
	return false
}

func (h *holdLimit[K]) count(key K, most int, id string, end time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.all[key]
	if g == nil {
		g = &heldGroup{ends: make(map[string]time.Time)}
		h.all[key] = g
	}
	if _, known := g.ends[id]; !known && len(g.ends) >= most {
		return false
	}
	g.ends[id] = end
	return true
}

// refresh checks the holds of a group whose last known expiry is earlier than before, or all holds if before is zero.
// It removes the holds that are no longer live and updates the expiry of the others. It does not hold the lock while it
// calls end.
func (h *holdLimit[K]) refresh(ctx context.Context, key K, before time.Time) {
	var due []string
	h.mu.Lock()
	if g := h.all[key]; g != nil {
		for id, end := range g.ends {
			if before.IsZero() || end.Before(before) {
				due = append(due, id)
			}
		}
	}
	h.mu.Unlock()
	for _, id := range due {
		end, live := h.end(ctx, id)
		h.mu.Lock()
		if g := h.all[key]; g != nil {
			if delete(g.ends, id); live {
				g.ends[id] = end
			}
			if len(g.ends) == 0 {
				delete(h.all, key)
			}
		}
		h.mu.Unlock()
	}
}

// forget removes expired holds once a minute until ctx ends.
func (h *holdLimit[K]) forget(ctx context.Context) {
	timed.Every(ctx, time.Minute, func(now time.Time) {
		h.mu.Lock()
		keys := make([]K, 0, len(h.all))
		for key := range h.all {
			keys = append(keys, key)
		}
		h.mu.Unlock()
		for _, key := range keys {
			h.refresh(ctx, key, now)
		}
	})
}

// heldDay is one specialist's UTC day.
type heldDay struct {
	specialistID string
	day          int64 // days since 1970-01-01
}

// heldShare is the group of one network's holds with one specialist in one day or one week.
type heldShare struct {
	network      netip.Addr
	specialistID string
	week         bool
	period       int64
}

// Problems for requests that exceed the limits of the public.
var (
	errHoldsOfAddress = errRateLimited.with(
		"Too many holds from this network. Book or release one, or try again after Retry-After seconds.",
	)
	errHoldsOfDay = errRateLimited.with(
		"Too many times on this day are on hold. Choose another day, or try again after Retry-After seconds.",
	)
	errShareOfDay = errRateLimited.with(
		"Too many holds for this day from this network. Book or release one, or choose another day.",
	)
	errShareOfWeek = errRateLimited.with(
		"Too many holds for this week from this network. Book or release one, or choose another week.",
	)
	errSessionsOfAddress = errRateLimited.with(
		"Too many waiting session requests from this network. Try again after Retry-After seconds.",
	)
)

// holdLimit returns booking.HoldRequest.Limit for the caller, or nil if no limit applies. instead is the id of the hold
// that the new one replaces, or empty.
func (s *Server) holdLimit(c *call, instead string) func(*holds.Span) error {
	if c.caller.trusted() || s.byAddress == nil {
		return nil
	}
	return func(span *holds.Span) error {
		if address := s.address(c.r); address.IsValid() {
			from := network(address)
			day, week := s.engine.Booking.RoomAround(span)
			if !s.byShare.hasRoom(c.ctx(), heldShare{from, span.SpecialistID, false, day.Period}, s.limits.shareOf(day),
				instead, c.started) {
				return errShareOfDay.again(10 * time.Second)
			}
			if !s.byShare.hasRoom(c.ctx(), heldShare{from, span.SpecialistID, true, week.Period},
				s.limits.shareOf(week), instead, c.started) {
				return errShareOfWeek.again(10 * time.Second)
			}
		}
		if !s.byDay.hasRoom(c.ctx(), heldDay{span.SpecialistID, span.SlotStart.Unix() / 86400}, s.limits.HoldsPerDay,
			instead, c.started) {
			return errHoldsOfDay.again(10 * time.Second)
		}
		return nil
	}
}

// mayHold returns booking.TimeslotsRequest.MayHold for the caller, or nil if no limit applies. The returned function
// caches its result for each specialist and day of the listing.
func (s *Server) mayHold(c *call) func(*holds.Span) bool {
	limit := s.holdLimit(c, "")
	if limit == nil {
		return nil
	}
	holdsShare := false
	if address := s.address(c.r); address.IsValid() {
		holdsShare = s.byAddress.size(network(address)) >= minHoldShare
	}
	if !holdsShare && !s.byDay.isAny(s.limits.HoldsPerDay) {
		return nil
	}
	type localDay struct {
		heldDay
		local int64
	}
	known := make(map[localDay]bool)
	return func(span *holds.Span) bool {
		day := localDay{heldDay{span.SpecialistID, span.SlotStart.Unix() / 86400}, s.engine.Booking.DayAround(span)}
		may, ok := known[day]
		if !ok {
			may = limit(span) == nil
			known[day] = may
		}
		return may
	}
}

// admitHold counts a public hold, and no longer counts the hold with the id instead, which it has replaced. If there
// are too many, it releases the hold and returns an error.
func (s *Server) admitHold(c *call, h *holds.Hold, instead string) error {
	if c.caller.trusted() || s.byAddress == nil {
		return nil
	}
	if instead != "" {
		s.dropHeld(c, h, instead)
	}
	refusal, ok := s.tooManyHeld(c, h)
	if ok {
		return nil
	}
	if err := s.engine.Booking.ReclaimHold(c.ctx(), h); err != nil {
		return err
	}
	return refusal.again(10 * time.Second)
}

// dropHeld no longer counts the hold with the id instead in the limits for h, which has replaced it.
func (s *Server) dropHeld(c *call, h *holds.Hold, instead string) {
	if _, live := s.engine.Booking.HoldEnd(c.ctx(), instead); live {
		return
	}
	if address := s.address(c.r); address.IsValid() {
		from := network(address)
		day, week := s.engine.Booking.RoomAround(&h.Span)
		s.byAddress.drop(from, instead)
		s.byShare.drop(heldShare{from, h.SpecialistID, false, day.Period}, instead)
		s.byShare.drop(heldShare{from, h.SpecialistID, true, week.Period}, instead)
	}
	s.byDay.drop(heldDay{h.SpecialistID, h.SlotStart.Unix() / 86400}, instead)
}

// tooManyHeld counts a hold in every limit. If a limit is reached, it returns the refusal and false.
func (s *Server) tooManyHeld(c *call, h *holds.Hold) (refusal problem, ok bool) {
	if address := s.address(c.r); address.IsValid() {
		from := network(address)
		if !s.byAddress.admit(c.ctx(), from, s.limits.HoldsPerAddress, h.ID, h.ExpiresAt, c.started) {
			return errHoldsOfAddress, false
		}
		day, week := s.engine.Booking.RoomAround(&h.Span)
		if !s.byShare.admit(c.ctx(), heldShare{from, h.SpecialistID, false, day.Period}, s.limits.shareOf(day), h.ID,
			h.ExpiresAt, c.started) {
			return errShareOfDay, false
		}
		if !s.byShare.admit(c.ctx(), heldShare{from, h.SpecialistID, true, week.Period}, s.limits.shareOf(week), h.ID,
			h.ExpiresAt, c.started) {
			return errShareOfWeek, false
		}
	}
	return errHoldsOfDay, s.byDay.admit(c.ctx(), heldDay{h.SpecialistID, h.SlotStart.Unix() / 86400},
		s.limits.HoldsPerDay, h.ID, h.ExpiresAt, c.started)
}

// shareOf returns the number of seats that one address can hold.
func (l *Limits) shareOf(r booking.Room) int { return max(minHoldShare, r.Seats*l.HoldShare/100) }

// admitSession counts a session request of the public before it is created. A client can have only one waiting request,
// so the client's owner identifies the request.
func (s *Server) admitSession(c *call) error {
	address := s.address(c.r)
	if c.caller.trusted() || s.bySession == nil || !address.IsValid() || c.client == "" {
		return nil
	}
	if s.bySession.admit(c.ctx(), network(address), s.limits.SessionsPerAddress, c.client.Owner().String(),
		c.started.Add(presence.SessionRequestTTL), c.started) {
		return nil
	}
	return errSessionsOfAddress.again(10 * time.Second)
}

// admitPoll limits the public polls that renew a selection. They have a separate bucket, so that polls never use up the
// writes of their network address.
func (s *Server) admitPoll(c *call) error {
	if c.caller.trusted() {
		return nil
	}
	return c.limited(s.polls, s.address(c.r))
}

// network returns the network that counts as one address: an IPv4 address, or the /64 of an IPv6 address, because one
// household or server usually has a whole /64.
func network(address netip.Addr) netip.Addr {
	if address.Is6() && !address.Is4In6() {
		prefix, _ := address.WithZone("").Prefix(64)
		return prefix.Addr()
	}
	return address.Unmap()
}
