package redis

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/redis/redistest"
)

// BenchmarkClaim claims holds one after another on one connection, and compares this with a bare EVALSHA: the claim's
// own script and arguments, and a script that does nothing. The variants alternate. In each round, a variant runs ten
// slots for each of 100 specialists, starting with no holds.
func BenchmarkClaim(b *testing.B) {
	s := redistest.Start(b, redistest.Programs(b)[0])
	live := open(b, s, Options{})
	ctx := b.Context()
	if _, err := live.Claim(ctx, wish("ada", amal)); err != nil { // the server has loaded the script
		b.Fatal(err)
	}
	claims := make([]holds.Claim, 0, 1000)
	for i := range cap(claims) {
		c := wish(fmt.Sprintf("specialist-%d", i%100), holds.ClientID(fmt.Sprintf("client-number-%04d", i)).Owner())
		by := time.Duration(i/100) * time.Hour
		c.SlotStart, c.SlotEnd, c.BusyStart, c.BusyEnd = c.SlotStart.Add(by), c.SlotEnd.Add(by), c.BusyStart.Add(by),
			c.BusyEnd.Add(by)
		claims = append(claims, c)
	}
	empty, err := live.client.ScriptLoad(ctx, "return 1").Result()
	if err != nil {
		b.Fatal(err)
	}
	turn := func(do func(c *holds.Claim) error) time.Duration {
		if err := live.client.FlushDB(ctx).Err(); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		for i := range claims {
			if err := do(&claims[i]); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(began)
	}
	var claim, bare, nothing time.Duration
	for b.Loop() {
		bare += turn(func(c *holds.Claim) error {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			owner := c.Owner.String()
			return live.client.EvalSha(ctx, live.script(claimScript).Hash(),
				[]string{"specialist:" + c.SpecialistID + ":holds", "client:" + owner + ":holds",
					"hold:" + c.SpecialistID + owner}, owner, owner, c.AppointmentTypeID, c.SpecialistID,
				c.SlotStart.UnixMilli(), c.SlotEnd.UnixMilli(),
				c.BusyStart.UnixMilli(), c.BusyEnd.UnixMilli(), 60_000, 60_000, 0, 0, 0, 0, "", "", "").Err()
		})
		claim += turn(func(c *holds.Claim) error { _, err := live.Claim(ctx, *c); return err })
		nothing += turn(func(*holds.Claim) error { return live.client.EvalSha(ctx, empty, nil).Err() })
	}
	n := float64(b.N * len(claims))
	b.ReportMetric(float64(claim.Microseconds())/n, "µs/claim")
	b.ReportMetric(bare.Seconds()/claim.Seconds(), "of-EVALSHA")
	b.ReportMetric(nothing.Seconds()/claim.Seconds(), "of-empty-EVALSHA")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkAcross claims on one node and waits until a watcher on another node receives the event.
func BenchmarkAcross(b *testing.B) {
	s := redistest.Start(b, redistest.Programs(b)[0])
	here, there := open(b, s, Options{}), open(b, s, Options{})
	ctx := b.Context()
	w, err := there.Watch(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	var took []time.Duration
	var events []holds.Event
	for b.Loop() {
		began := time.Now()
		h, err := here.Claim(ctx, wish("ada", amal))
		if err != nil {
			b.Fatal(err)
		}
		for heard := false; !heard; {
			if events, err = w.Next(ctx, events); err != nil {
				b.Fatal(err)
			}
			for i := range events {
				heard = heard || events[i].Kind == holds.EventHold && events[i].HoldID == h.ID
			}
		}
		took = append(took, time.Since(began))
		if _, err := here.Release(ctx, h.ID, amal, holds.ReasonReleased); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
	b.ReportMetric(0, "ns/op")
}
