package engine_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/agent"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// The full proof takes 100,000 bookings and ten minutes: go test ./engine -run TestSimulation -bookings 100000
// -timeout 1h
var (
	simulatedBookings = flag.Int("bookings", 0,
		"how many bookings TestSimulation makes; 0: as many as it gets through in about fifteen seconds")
	simulationSeed = flag.Uint64("seed", 1, "the seed of TestSimulation")
)

// TestSimulation proves that each booking has exactly one upstream appointment. Agents book all day. A fifth of the
// writes end with an unknown outcome, of every possible kind. The upstream accepts five writes a minute and rejects the
// rest, and look-ups fail too. Bookings are moved and cancelled, and the server is restarted several times. In the end,
// every accepted booking exists upstream exactly once. No upstream appointment was reported as failed, and no two
// writes were less than ten seconds apart.
func TestSimulation(t *testing.T) {
	bookings := 1000
	if !clitest.InFull() {
		bookings = 120
	}
	if *simulatedBookings > 0 {
		bookings = *simulatedBookings
	}
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(*simulationSeed, 2))
		const chairs = 50
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Specialists: chairs, Upstream: &upstreamtest.Options{
			WritesPerMinute: 5, Decide: func(c upstreamtest.Call) upstreamtest.Step { return fate(r, c) },
		}})
		s := &simulation{TestPractice: p, chairs: chairs, first: p.SlotAt(48 * 30), accepted: map[string]bool{},
			from: map[string]place{}} // a month ahead, so that no booking becomes too late
		// The callers share one random source. The upstream draws from another under its lock.
		rnd := rand.New(rand.NewPCG(*simulationSeed, 3))
		for n := range bookings {
			// siblings are booked in pairs
			b := p.WishFor(n/2, n%chairs, s.first.Add(time.Duration(n/chairs)*30*time.Minute))
			b.ChildName = fmt.Sprintf("Child %d", n)
			s.book(b)
			// On average, there are fewer calls than the upstream accepts, but they come in bursts.
			if n%10 == 9 {
				time.Sleep(time.Duration(rnd.IntN(320)) * time.Second)
			} else {
				time.Sleep(time.Duration(rnd.IntN(4)) * time.Second)
			}
			if rnd.IntN(20) == 0 {
				s.changeOne(rnd, n)
			}
			if n%max(60, bookings/200) == 59 {
				p.RestartOften()
				s.starts = append(s.starts, time.Now())
			}
		}
		s.calls.Wait()
		p.Until(24*time.Hour, "settled", p.Settled)
		s.check()
	})
}

// fate decides the outcome of one call to the upstream.
func fate(r *rand.Rand, c upstreamtest.Call) upstreamtest.Step {
	unknown := []upstreamtest.Step{
		{Outcome: upstreamtest.LostApplied}, {Outcome: upstreamtest.LostNotApplied},
		{Outcome: upstreamtest.Late, Delay: time.Duration(r.IntN(80)) * time.Second},
		{Outcome: upstreamtest.Slow, Delay: time.Duration(r.IntN(60)) * time.Second},
		{Outcome: upstreamtest.Half, Applied: true}, {Outcome: upstreamtest.Half},
		{Outcome: upstreamtest.Garbage, Applied: true}, {Outcome: upstreamtest.WrongRoot},
		{Outcome: upstreamtest.ServerError, Applied: true}, {Outcome: upstreamtest.ServerError},
	}
	chance := r.IntN(100)
	switch {
	case c.Procedure == "SetAppointment" && chance < 20:
		return unknown[r.IntN(len(unknown))]
	case c.Procedure == "SetAppointment" && chance < 24:
		return upstreamtest.Step{Outcome: upstreamtest.RateLimited}
	case c.Procedure == "SetAppointment" && chance < 27:
		return upstreamtest.Step{Outcome: upstreamtest.OKNoGUID}
	case c.Procedure != "SetAppointment" && chance < 5:
		return upstreamtest.Step{Outcome: upstreamtest.Garbage, Applied: r.IntN(2) == 0}
	}
	return upstreamtest.Step{}
}

type simulation struct {
	*enginetest.TestPractice
	chairs int
	first  time.Time // the first slot that is booked
	calls  sync.WaitGroup
	starts []time.Time // when the server was restarted

	mu       sync.Mutex
	accepted map[string]bool  // keyed by patient, chair and start: the calls whose response was booked or received
	from     map[string]place // keyed by id: the place of an appointment before it was moved
	moved    int
	ended    int
}

func (s *simulation) book(b agent.BookRequest) {
	e := s.Engine
	s.calls.Go(func() {
		a, err := e.Agent.Book(context.Background(), enginetest.AgentKey, b)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil && (a.Outcome == agent.Confirmed || a.Outcome == agent.Queued) {
			s.accepted[b.PatientGUID+b.ScheduleColumnGUID+b.StartTime] = true
		}
	})
}

// changeOne cancels or moves a booking, whatever its state.
func (s *simulation) changeOne(r *rand.Rand, n int) {
	at := r.IntN(n + 1)
	start := s.first.Add(time.Duration(at/s.chairs) * 30 * time.Minute)
	list, _, err := s.Store.Appointments(context.Background(), store.AppointmentFilter{
		From: start, To: start.Add(time.Minute), SpecialistID: fmt.Sprintf("chair%d", at%s.chairs),
		Status: store.Confirmed,
	})
	if err != nil || len(list) == 0 {
		return
	}
	a := list[0]
	if r.IntN(2) == 0 {
		if _, err := s.Booking.Cancel(context.Background(),
			booking.CancelRequest{ID: a.ID, Actor: "system"}); err == nil {
			s.ended++
		}
		return
	}
	to := s.first.AddDate(0, 6, 0).Add(time.Duration(n) * 30 * time.Minute) // a time range without other bookings
	if _, err := s.Booking.Reschedule(context.Background(),
		booking.RescheduleRequest{ID: a.ID, SlotStart: to, Actor: "system", IgnoreHours: true}); err == nil {
		s.moved++
		s.from[a.ID] = placeOf(&a)
	}
}

// place is the patient, chair and start of an upstream appointment.
type place struct {
	patient, column string
	// in the clinic's local time, which is all that the upstream stores: one hour a year occurs twice
	start string
}

func placeOf(a *store.Appointment) place {
	return place{a.UpstreamPatientID, enginetest.ColumnGUID(chairOf(a.SpecialistID)),
		upstream.FormatTime(a.SlotStart, enginetest.PracticeZone)}
}

// check compares the appointments here with those in the upstream.
func (s *simulation) check() {
	t := s.T
	there := map[place]int{}
	for _, u := range s.Upstream.Appointments() {
		if !u.Cancelled {
			there[place{u.PatientGUID, u.ScheduleColumnGUID, upstream.FormatTime(u.Start, enginetest.PracticeZone)}]++
		}
	}
	var wanted, review, failed, twice, lost, wrong, known int
	for _, a := range s.Bookings() {
		at := placeOf(&a)
		n := there[at]
		delete(there, at)
		if s.accepted[a.UpstreamPatientID+at.column+at.start] {
			known++
		}
		switch {
		case a.UpstreamState == store.UpstreamReview:
			review++ // if the appointment was moved, its first booking may also be there
			delete(there, s.from[a.ID])
		case n > 1:
			twice++
			t.Errorf("the practice system has %s %d times", a.ID, n)
		case a.Status == store.Cancelled && n == 1:
			wrong++
			t.Errorf("%s was cancelled, but the practice system has it (%s)", a.ID, a.UpstreamState)
		case a.Status == store.Cancelled:
		case a.UpstreamState == store.UpstreamFailed && n == 1:
			wrong++
			t.Errorf("%s is reported as failed, but the practice system has it", a.ID)
		case a.UpstreamState == store.UpstreamFailed:
			failed++
			delete(there, s.from[a.ID]) // if the appointment was moved, its first booking stays there
			if tried := s.attempts(&a, at); tried < maxAttempts {
				t.Errorf("%s was given up after at most %d attempts, want %d", a.ID, tried, maxAttempts)
			}
		case n == 0:
			lost++
			t.Errorf("%s is not there (%s)", a.ID, a.UpstreamState)
		default:
			wanted++
			if a.UpstreamState != store.UpstreamConfirmed {
				t.Errorf("the practice system has %s, but it is shown as %s", a.ID, a.UpstreamState)
			}
		}
	}
	total, stray := len(s.Bookings()), 0
	for at, n := range there {
		stray += n
		t.Errorf("the practice system has %d at %v without an appointment here", n, at)
	}
	if failed > 1+total/10_000 {
		t.Errorf("%d of %d operations were given up, want hardly any: there was enough time", failed, total)
	}
	gap, writes := spacing(s.Upstream.Calls())
	if gap < 10*time.Second {
		t.Errorf("two writes were %s apart, want 10 s; the server was started at %v", gap, s.starts)
	}
	t.Logf("%d bookings, %d accepted in time, %d moved, %d cancelled: %d there once, %d for review, %d given up, %d twice, %d lost, %d wrong, %d stray; %d writes, never closer than %s",
		total, len(s.accepted), s.moved, s.ended, wanted, review, failed, twice, lost, wrong, stray, writes, gap)
	if review > total/20 {
		t.Errorf("%d of %d operations need a person, want few", review, total)
	}
}

// maxAttempts is how often the server tries a write by default before it gives up. About one attempt in four fails, so
// of a million bookings, one or two are given up.
const maxAttempts = 10

// attempts returns how often the server can have tried to book a at most: the writes that the upstream received for its
// place, and an attempt that each restart interrupted before its write.
func (s *simulation) attempts(a *store.Appointment, at place) (n int) {
	var last time.Time
	for _, c := range s.Upstream.Calls() {
		if c.Procedure == "SetAppointment" && at == (place{c.PatientGUID, c.ScheduleColumnGUID,
			upstream.FormatTime(c.Start, enginetest.PracticeZone)}) {
			n, last = n+1, c.At
		}
	}
	for _, at := range s.starts {
		if at.After(a.CreatedAt) && at.Before(last) {
			n++
		}
	}
	return n
}

// spacing returns the shortest time between two writes, ignoring the one quick retry after a rate limit.
func spacing(calls []upstreamtest.Call) (least time.Duration, writes int) {
	var last upstreamtest.Call
	least = time.Hour
	for _, c := range calls {
		if c.Procedure != "SetAppointment" {
			continue
		}
		quick := last.Outcome == upstreamtest.RateLimited && last.PatientGUID == c.PatientGUID &&
			last.Start.Equal(c.Start) && c.At.Sub(last.At) >= 5*time.Second
		if gap := c.At.Sub(last.At); writes > 0 && !quick && gap < least {
			least = gap
		}
		last = c
		writes++
	}
	return least, writes
}

func chairOf(specialistID string) int {
	var n int
	_, _ = fmt.Sscanf(specialistID, "chair%d", &n)
	return n
}
