package cli

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/backup"
	"holdfast/store/disk"
)

// BenchmarkCopyOfAMinute measures the increment of a minute with five bookings, for a server with 130,000 appointments:
// its time and its size. It also measures the whole copy at the beginning of an incremental backup, a minute without
// writes, and the time to restore the backup.
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
	key := newKey(b)
	if err := key.Store(h.dir.path); err != nil {
		b.Fatal(err)
	}
	second := b.TempDir()
	h.backups = h.newBackups(backup.Plan{Destination: second, Every: time.Minute, Keep: backup.Keep{Days: 1}})
	k := h.backups.Follower()
	defer k.Close()
	bytes := func() (path string, n int64) {
		list, err := backup.List(b.Context(), b.TempDir(), backup.Access{}, []string{second})
		if err != nil || len(list) != 1 {
			b.Fatalf("got %+v, %v; want one incremental backup", list, err)
		}
		return list[0].Path, list[0].Bytes
	}
	follow := func() time.Duration {
		began := time.Now()
		k.Run(b.Context(), began)
		if last, _ := h.backups.LastCopy(); last.Before(began) {
			b.Fatalf("no increment was copied since %s", began)
		}
		return time.Since(began)
	}
	whole := follow()
	_, first := bytes()
	var took, idle []time.Duration
	at := time.Now().AddDate(30, 0, 0).Truncate(time.Hour)
	for b.Loop() {
		for range 5 {
			at = at.Add(time.Hour)
			err := h.store.Write(b.Context(), func(tx store.Tx) error {
				return tx.InsertAppointment(b.Context(), store.Appointment{
					ID: fmt.Sprint("minute-", at.Unix()), AppointmentTypeID: "checkup", SpecialistID: "s00",
					Owner: fmt.Sprintf("%032x", at.Unix()), Status: store.Confirmed, Attendance: store.Expected,
					SlotStart: at, SlotEnd: at.Add(15 * time.Minute), BusyStart: at, BusyEnd: at.Add(15 * time.Minute),
					Patient: store.Patient{Name: "Rosa Winter", Email: "rosa@example.org"}, Source: store.SourceWeb,
					UpstreamState: store.UpstreamNone, CreatedAt: at, UpdatedAt: at, Version: 1,
				})
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		took = append(took, follow())
		idle = append(idle, follow())
	}
	b.ReportMetric(float64(disk.Size(h.dir.file(databaseFile)))/1e6, "database-MB")
	b.ReportMetric(whole.Seconds()*1000, "whole-ms")
	b.ReportMetric(float64(first)/1e6, "whole-MB")
	slices.Sort(took)
	slices.Sort(idle)
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "step-ms")
	path, all := bytes()
	b.ReportMetric(float64(all-first)/float64(len(took))/1000, "step-KB")
	b.ReportMetric(idle[len(idle)/2].Seconds()*1000, "idle-ms")
	began := time.Now()
	o, err := backup.Open(b.Context(), backup.OpenOptions{
		Path: path, Data: b.TempDir(),
		ReadKey:   func() (backup.Key, error) { return key, nil },
		ParseKeys: func(text []byte) ([]byte, error) { return text, nil },
	})
	if err != nil || o.Replayed.Broken != nil || o.Replayed.Steps != len(took)+1 {
		b.Fatalf("restored is %+v, %v", o.Replayed, err)
	}
	b.ReportMetric(time.Since(began).Seconds(), "restore-s")
	if err := o.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
}
