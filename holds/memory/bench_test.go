package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/holds"
)

var ctx = context.Background()

// wish returns a claim for half an hour of a specialist's time, n half hours from now.
func wish(specialistID string, n int, owner holds.Owner) holds.Claim {
	start := time.Now().UTC().Truncate(time.Hour).Add(time.Duration(n) * 30 * time.Minute)
	end := start.Add(30 * time.Minute)
	return holds.Claim{Owner: owner, Seats: []int{0}, TTL: 30 * time.Second, MaxLife: 15 * time.Minute, Quota: 3,
		Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: specialistID,
			SlotStart: start, SlotEnd: end, BusyStart: start, BusyEnd: end}}
}

func name(i int) holds.Owner { return holds.ClientID(fmt.Sprintf("client-%026d", i)).Owner() }

// drain reads a watch of all events, as the process's single stream hub does, until the watch is
// closed.
func drain(b *testing.B, t *Backend, each func([]holds.Event)) (done func()) {
	w, err := t.Watch(ctx)
	if err != nil {
		b.Fatal(err)
	}
	stop, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		var buf []holds.Event
		for {
			if buf, err = w.Next(stop, buf); err != nil {
				return
			}
			each(buf)
		}
	})
	return func() { cancel(); reading.Wait(); w.Close() }
}

func claimRelease(b *testing.B, t *Backend, c holds.Claim) {
	h, err := t.Claim(ctx, c)
	if err != nil {
		b.Fatal(err)
	}
	if ok, err := t.Release(ctx, h.ID, c.Owner, holds.ReasonReleased); !ok || err != nil {
		b.Fatal(ok, err)
	}
}

func BenchmarkClaimRelease(b *testing.B) {
	b.Run("no watcher", func(b *testing.B) {
		t := New(Options{})
		defer t.Close()
		c := wish("ada", 0, name(0))
		b.ReportAllocs()
		for b.Loop() {
			claimRelease(b, t, c)
		}
	})
	b.Run("one watcher", func(b *testing.B) {
		t := New(Options{})
		defer t.Close()
		var once sync.Once
		saw := make(chan struct{})
		done := drain(b, t, func([]holds.Event) { once.Do(func() { close(saw) }) })
		c := wish("ada", 0, name(0))
		b.ReportAllocs()
		for b.Loop() {
			claimRelease(b, t, c)
		}
		b.StopTimer()
		<-saw
		done()
	})
	b.Run("a thousand watchers with other topics", func(b *testing.B) {
		t := New(Options{})
		defer t.Close()
		stop, cancel := context.WithCancel(ctx)
		var reading sync.WaitGroup
		for i := range 1000 {
			w, err := t.Watch(ctx, fmt.Sprintf("specialist-%d", i))
			if err != nil {
				b.Fatal(err)
			}
			reading.Go(func() { _, _ = w.Next(stop, nil); w.Close() })
		}
		c := wish("ada", 0, name(0))
		b.ReportAllocs()
		for b.Loop() {
			claimRelease(b, t, c)
		}
		cancel()
		reading.Wait()
	})
}

// BenchmarkClaimParallel32 runs 32 clients, each claiming and releasing holds on 32 specialists in turn, with one
// watcher.
func BenchmarkClaimParallel32(b *testing.B) {
	t := New(Options{})
	defer t.Close()
	done := drain(b, t, func([]holds.Event) {})
	defer done()
	const clients = 32
	var all sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	for i := range clients {
		all.Go(func() {
			var wishes [clients]holds.Claim
			for n := range wishes {
				wishes[n] = wish(fmt.Sprintf("specialist-%d", n), i, name(i))
			}
			for n := i; left.Add(-1) >= 0; n++ {
				claimRelease(b, t, wishes[n%clients])
			}
		})
	}
	all.Wait()
}

// BenchmarkClaimCrowded measures a claim and its release for a specialist who has a thousand other holds, and a refused
// claim.
func BenchmarkClaimCrowded(b *testing.B) {
	t := New(Options{})
	defer t.Close()
	for i := range 1000 {
		c := wish("ada", i, name(i))
		c.TTL = 15 * time.Minute
		if _, err := t.Claim(ctx, c); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("free", func(b *testing.B) {
		c := wish("ada", 1000, name(5000))
		for b.Loop() {
			claimRelease(b, t, c)
		}
	})
	b.Run("held", func(b *testing.B) {
		c := wish("ada", 500, name(5000))
		for b.Loop() {
			if _, err := t.Claim(ctx, c); err == nil {
				b.Fatal("a claim of a held time succeeded")
			}
		}
	})
}

// BenchmarkLapse100k lets 100,000 holds expire at one instant while four clients continue to claim. It reports how
// late the last release reached a watcher, and the slowest claim during that time.
func BenchmarkLapse100k(b *testing.B) {
	for range b.N {
		lapseAtOnce(b, New(Options{}), 100_000, 4*time.Second, func() {})
	}
}

// perSpecialist is how many holds each specialist has when there are many specialists.
const perSpecialist = 50

// lapseAtOnce lets n holds expire at one instant, after the given time, and calls full when all of them exist. It
// closes t.
func lapseAtOnce(b *testing.B, t *Backend, n int, after time.Duration, full func()) {
	defer t.Close()
	at := time.Now().Add(after)
	released := 0
	last := make(chan time.Duration, 1)
	defer drain(b, t, func(events []holds.Event) {
		for i := range events {
			if events[i].Reason == holds.ReasonExpired {
				if released++; released == n {
					last <- time.Since(at)
				}
			}
		}
	})()
	specialists := max(n/perSpecialist, 1)
	for i := range n {
		c := wish(fmt.Sprintf("specialist-%d", i%specialists), i/specialists, name(i))
		c.TTL = time.Until(at)
		if _, err := t.Claim(ctx, c); err != nil {
			b.Fatal(err)
		}
	}
	full()
	if time.Now().After(at) {
		b.Fatal("the preparation took too long")
	}
	var stop atomic.Bool
	var claiming sync.WaitGroup
	var worst [4]time.Duration
	for i := range worst {
		claiming.Go(func() {
			for k := 0; !stop.Load(); k++ {
				c := wish(fmt.Sprintf("specialist-%d", k%specialists), 1000+i, name(n+i))
				before := time.Now()
				claimRelease(b, t, c)
				if before.After(at) {
					worst[i] = max(worst[i], time.Since(before))
				}
				time.Sleep(50 * time.Microsecond)
			}
		})
	}
	select {
	case late := <-last:
		b.ReportMetric(float64(late)/1e6, "late-ms")
	case <-time.After(time.Until(at) + 20*time.Second):
		b.Fatal("some holds did not expire")
	}
	stop.Store(true)
	claiming.Wait()
	b.ReportMetric(float64(slices.Max(worst[:]))/1e6, "claim-ms")
}

// BenchmarkExtend measures the heartbeat of one hold among a thousand.
func BenchmarkExtend(b *testing.B) {
	t := New(Options{})
	defer t.Close()
	var ids [1000]string
	for i := range ids {
		h, err := t.Claim(ctx, wish(fmt.Sprintf("specialist-%d", i), 0, name(i)))
		if err != nil {
			b.Fatal(err)
		}
		ids[i] = h.ID
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		i := n % len(ids)
		if _, err := t.Extend(ctx, ids[i], name0[i], 30*time.Second, false); err != nil {
			b.Fatal(err)
		}
	}
}

// name0 keeps name creation out of the measured time.
var name0 = func() (names [1000]holds.Owner) {
	for i := range names {
		names[i] = name(i)
	}
	return names
}()

// BenchmarkBeat measures a specialist's heartbeat among a thousand.
func BenchmarkBeat(b *testing.B) {
	t := online(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if err := t.Beat(ctx, "specialist-500"); err != nil {
			b.Fatal(err)
		}
	}
}

func online(b *testing.B, n int) *Backend {
	t := New(Options{})
	b.Cleanup(func() { _ = t.Close() })
	all := make([]holds.Present, n)
	for i := range all {
		all[i] = holds.Present{SpecialistID: fmt.Sprintf("specialist-%d", i), Online: true, HeartbeatAt: time.Now(),
			Max: 3, Load: i % 4}
	}
	if err := t.Seed(ctx, all); err != nil {
		b.Fatal(err)
	}
	return t
}

func BenchmarkAvailable(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			t := online(b, n)
			b.ReportAllocs()
			for b.Loop() {
				list, err := t.Available(ctx, 90*time.Second, 0)
				if err != nil || len(list) != n*3/4 {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}

// BenchmarkSelected measures a poll: it renews the client's own selection and lists the selections on one specialist's
// day, with 500 clients looking at twenty specialists.
func BenchmarkSelected(b *testing.B) {
	t := New(Options{})
	defer t.Close()
	day := time.Now().UTC().Truncate(24 * time.Hour)
	for i := range 500 {
		if _, err := t.Select(ctx, name0[i], wish(fmt.Sprintf("specialist-%d", i%20),
			i/20, holds.Owner{}).Span); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if ok, err := t.Renew(ctx, name0[n%500]); !ok || err != nil {
			b.Fatal(ok, err)
		}
		if list, err := t.Selected(ctx, day, day.AddDate(0, 0, 2), "specialist-7"); err != nil || len(list) == 0 {
			b.Fatal(len(list), err)
		}
	}
}

// BenchmarkTaken measures a claim of a booked half hour.
func BenchmarkTaken(b *testing.B) {
	t := New(Options{})
	defer t.Close()
	at := time.Now().UTC().Truncate(time.Hour)
	booked := holds.Booked{SpecialistID: "ada", SlotStart: at, SlotEnd: at.Add(30 * time.Minute)}
	if err := t.FollowBusy(ctx, 1, holds.Booked{}, booked); err != nil {
		b.Fatal(err)
	}
	from, to := at.Add(25*time.Minute), at.Add(55*time.Minute)
	c := holds.Claim{
		Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: "ada", SlotStart: from, SlotEnd: to,
			BusyStart: from, BusyEnd: to},
		Seats: []int{0}, TTL: time.Minute, MaxLife: time.Minute,
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := t.Claim(ctx, c); err != holds.ErrTaken {
			b.Fatal(err)
		}
	}
}
