package cli

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/postgres"
	"holdfast/store/postgres/postgrestest"
	"holdfast/store/sqlite"
)

// BenchmarkMove moves a clinic with 100,000 appointments from SQLite to a new PostgreSQL and back, including the
// comparison of all rows.
func BenchmarkMove(b *testing.B) {
	const n = 100_000
	dir := fullDir(b, n)
	server, err := postgrestest.Start()
	if err != nil {
		b.Skip("SKIPPED:", err)
	}
	defer server.Stop()
	ctx, discard := b.Context(), slog.New(slog.NewTextHandler(io.Discard, nil))
	file := func(path string) *sqlite.Carrier {
		c, err := sqlite.OpenCarrier(ctx, path, b.TempDir(), discard)
		if err != nil {
			b.Fatal(err)
		}
		return c
	}
	carry := func(from, to store.Carrier) time.Duration {
		began := time.Now()
		if err := store.Carry(ctx, from, to, func(string, int, int) {}); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	var there, back time.Duration
	for b.Loop() {
		from := file(dir + "/" + databaseFile)
		to, err := postgres.OpenCarrier(ctx, server.Create(b), discard)
		if err != nil {
			b.Fatal(err)
		}
		home := file(b.TempDir() + "/" + databaseFile)
		there += carry(from, to)
		back += carry(to, home)
		for _, c := range []store.Carrier{from, to, home} {
			if err := c.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(there.Seconds()/float64(b.N), "s-there")
	b.ReportMetric(back.Seconds()/float64(b.N), "s-back")
	b.ReportMetric(0, "ns/op")
}
