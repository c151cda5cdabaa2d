package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast/holds"
)

const callers = 32

// many returns claims that do not conflict: ten for each of a hundred specialists, each by a different client.
func many() []holds.Claim {
	claims := make([]holds.Claim, 0, 1000)
	for i := range cap(claims) {
		c := wish(fmt.Sprintf("specialist-%d", i%100), holds.ClientID(fmt.Sprintf("client-number-%04d", i)).Owner())
		by := time.Duration(i/100) * time.Hour
		c.SlotStart, c.SlotEnd, c.BusyStart, c.BusyEnd = c.SlotStart.Add(by), c.SlotEnd.Add(by), c.BusyStart.Add(by),
			c.BusyEnd.Add(by)
		c.Quota = 3
		claims = append(claims, c)
	}
	return claims
}

// together runs n calls from concurrent callers and returns how long all of them took.
func together(n int, do func(i int)) time.Duration {
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	began := time.Now()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// BenchmarkClaim claims holds from 32 callers, and compares this with the minimum work of a claim: a transaction that
// takes the same two locks, searches for conflicts, counts the client's holds, inserts the row and notifies, pipelined
// on the same number and kind of connections. The two take turns, and each turn begins without holds.
func BenchmarkClaim(b *testing.B) {
	url := database(b)
	live := open(b, url, Options{})
	ctx := b.Context()
	claims := many()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		b.Fatal(err)
	}
	config.MaxConns, config.ConnConfig.RuntimeParams = 8, live.server.RuntimeParams
	peer, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(peer.Close)
	empty := func() {
		if _, err := peer.Exec(ctx, `TRUNCATE holds_live, holds_endings`); err != nil {
			b.Fatal(err)
		}
	}
	var claim, bare time.Duration
	for b.Loop() {
		empty()
		bare += together(len(claims), func(i int) {
			c := &claims[i]
			owner := c.Owner.String()
			q := &pgx.Batch{}
			q.Queue(`BEGIN`)
			q.Queue(`SELECT pg_advisory_xact_lock(1, hashtext($1))`, owner)
			q.Queue(`SELECT pg_advisory_xact_lock(2, hashtext($1))`, c.SpecialistID)
			q.Queue(`SELECT count(*) FROM holds_live o WHERE o.specialist_id = $1 AND o.deadline > $2 AND ((o.busy_start < $4 AND $3 < o.busy_end)
				OR (o.slot_start < $6 AND $5 < o.slot_end))`, c.SpecialistID, time.Now().UnixMilli(), c.SlotStart.UnixMilli(), c.SlotEnd.UnixMilli(),
				c.BusyStart.UnixMilli(), c.BusyEnd.UnixMilli())
			q.Queue(`SELECT count(*) FROM holds_live WHERE owner = $1`, owner)
			q.Queue(`INSERT INTO holds_live (id, owner, appointment_type_id, specialist_id, slot_start, slot_end, busy_start, busy_end, seat, lapses_at,
				max_expires_at, life, call) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $9, 60000, $1)`, owner, owner, c.AppointmentTypeID, c.SpecialistID,
				c.SlotStart.UnixMilli(), c.SlotEnd.UnixMilli(), c.BusyStart.UnixMilli(), c.BusyEnd.UnixMilli(),
				time.Now().Add(time.Minute).UnixMilli())
			q.Queue(`SELECT pg_notify('holdfast_bare', $1)`, owner)
			q.Queue(`COMMIT`)
			if err := peer.SendBatch(ctx, q).Close(); err != nil {
				b.Error(err)
			}
		})
		empty()
		claim += together(len(claims), func(i int) {
			if _, err := live.Claim(ctx, claims[i]); err != nil {
				b.Error(err)
			}
		})
	}
	n := float64(b.N * len(claims))
	b.ReportMetric(n/claim.Seconds(), "claims/s")
	b.ReportMetric(n/bare.Seconds(), "bare/s")
	b.ReportMetric(bare.Seconds()/claim.Seconds(), "ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkDelay claims on one node and receives the event on another. It measures the time from the Claim call to the
// event, without other load.
func BenchmarkDelay(b *testing.B) {
	url := database(b)
	here, there := open(b, url, Options{}), open(b, url, Options{})
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	w, err := there.Watch(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	claims := many()
	var took []time.Duration
	for b.Loop() {
		c := claims[len(took)%len(claims)]
		began := time.Now()
		h, err := here.Claim(ctx, c)
		if err != nil {
			b.Fatal(err)
		}
		for heard := false; !heard; {
			events, err := w.Next(ctx, nil)
			if err != nil {
				b.Fatal(err)
			}
			heard = slices.ContainsFunc(events, func(e holds.Event) bool {
				return e.HoldID == h.ID && e.Kind == holds.EventHold
			})
		}
		took = append(took, time.Since(began))
		if _, err := here.Release(ctx, h.ID, c.Owner, holds.ReasonReleased); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkRestore restores five hundred holds, each for a different specialist, both a hundred per step and one at a
// time.
func BenchmarkRestore(b *testing.B) {
	const many = 500
	table := open(b, database(b), Options{Timeout: 10 * time.Second})
	round := 0
	batch := func() []holds.Remains {
		round++
		all := make([]holds.Remains, many)
		for i := range all {
			claim := wish(fmt.Sprintf("specialist-%d-%d", round, i),
				holds.ClientID(fmt.Sprintf("client-number-%d-%d", round, i)).Owner())
			all[i] = holds.Remains{Hold: holds.Hold{ID: fmt.Sprintf("01890a5d-ac96-774b-%04d-%012d", round, i),
				Span: claim.Span, Owner: claim.Owner,
				ExpiresAt: time.Now().Add(time.Minute), MaxExpiresAt: time.Now().Add(time.Hour)},
				LapsesAt: time.Now().Add(time.Minute), Life: time.Hour}
		}
		return all
	}
	var together, apart time.Duration
	for b.Loop() { // in turns, on the same machine at the same time
		all := batch()
		began := time.Now()
		for from := 0; from < many; from += 100 {
			if _, err := table.RestoreAll(b.Context(), all[from:from+100]); err != nil {
				b.Fatal(err)
			}
		}
		together += time.Since(began)
		began = time.Now()
		for _, r := range batch() {
			if _, err := table.Restore(b.Context(), r); err != nil {
				b.Fatal(err)
			}
		}
		apart += time.Since(began)
	}
	b.ReportMetric(float64(together.Milliseconds())/float64(b.N), "ms-together")
	b.ReportMetric(float64(apart.Milliseconds())/float64(b.N), "ms-apart")
	b.ReportMetric(0, "ns/op")
}
