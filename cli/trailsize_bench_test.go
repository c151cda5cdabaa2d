package cli

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/sqlite"
)

// BenchmarkCopyOfAMinute is what a minute costs a server with 130,000 appointments and nothing else when five are booked in it: the
// step, and its bytes. Before it is the whole copy with which a trail begins, after it a minute in which nothing was written, and how
// long it takes to follow the trail.
func BenchmarkCopyOfAMinute(b *testing.B) {
	dir := fullDir(b, 130_000)
	cfg := config{}
	for _, s := range settings() {
		if err := s.set(&cfg, cmp.Or(map[string]string{"data": dir}[s.name], s.fallback)); err != nil {
			b.Fatal(err)
		}
	}
	h, err := openHouse(b.Context(), cfg, houseOptions{log: slog.New(slog.DiscardHandler), local: true})
	if err != nil {
		b.Fatal(err)
	}
	defer h.close()
	key := sealingKey(b)
	if err := replaceFile(h.dir.file(recipientFile), []byte(key.Recipient().String())); err != nil {
		b.Fatal(err)
	}
	h.copied.Store(new(time.Time))
	k := h.newTrailKeeper(h.store.(*sqlite.Store), backupPlan{second: b.TempDir(), every: time.Minute, keep: backupKeep{days: 1}})
	defer k.pages.Close()
	follow := func() time.Duration {
		began := time.Now()
		if err := k.follow(b.Context(), began); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	whole := follow()
	var took, idle []time.Duration
	at := time.Now().AddDate(30, 0, 0).Truncate(time.Hour)
	for b.Loop() {
		for range 5 {
			at = at.Add(time.Hour)
			err := h.store.Write(b.Context(), func(tx store.Tx) error {
				return tx.InsertAppointment(b.Context(), store.Appointment{
					ID: fmt.Sprint("minute-", at.Unix()), AppointmentTypeID: "checkup", SpecialistID: "s00", Owner: fmt.Sprintf("%032x", at.Unix()),
					Status: store.Confirmed, Attendance: store.Expected, SlotStart: at, SlotEnd: at.Add(15 * time.Minute), BusyStart: at, BusyEnd: at.Add(15 * time.Minute),
					Patient: store.Patient{Name: "Rosa Winter", Email: "rosa@example.org"}, Source: store.SourceWeb, UpstreamState: store.UpstreamNone,
					CreatedAt: at, UpdatedAt: at, Version: 1,
				})
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		took = append(took, follow())
		idle = append(idle, follow())
	}
	b.ReportMetric(float64(size(h.dir.file(databaseFile)))/1e6, "database-MB")
	b.ReportMetric(whole.Seconds()*1000, "whole-ms")
	b.ReportMetric(float64(k.trail.first)/1e6, "whole-MB")
	slices.Sort(took)
	slices.Sort(idle)
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "step-ms")
	b.ReportMetric(float64(k.trail.since)/float64(k.trail.next-1)/1000, "step-KB")
	b.ReportMetric(idle[len(idle)/2].Seconds()*1000, "idle-ms")
	into := b.TempDir()
	began := time.Now()
	f, err := followTrail(b.Context(), k.trail.path, k.trail.path, into, key, time.Time{})
	if err != nil || f.broken != nil || f.steps != k.trail.next {
		b.Fatalf("followed are %+v, %v", f, err)
	}
	b.ReportMetric(time.Since(began).Seconds(), "restore-s")
	if _, err := sqlite.Verify(b.Context(), filepath.Join(into, databaseFile)); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
}
