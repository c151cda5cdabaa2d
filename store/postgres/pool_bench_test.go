package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// BenchmarkPool runs the same prepared query from 32 callers on 8 connections, alternating between this project's pool
// and pgx's. share is the rate of this project's pool relative to that of pgx.
func BenchmarkPool(b *testing.B) {
	url := database(b)
	at, err := newServer(Options{URL: url, Timeout: 5 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	ours, err := newPool(at, 8, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(ours.close)
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		b.Fatal(err)
	}
	config.MaxConns = 8
	theirs, err := pgxpool.NewWithConfig(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(theirs.Close)

	question := func() *statement {
		return asks(func(*row) {}, `SELECT id FROM pg_catalog.generate_series(1, 1) AS t(id)`)
	}
	const callers = 32
	n := int64(max(b.N*200, 4000))
	var we, they time.Duration
	turns := int64(0)
	askOurs := func(int, int64) error {
		_, err := ours.askOnce(context.Background(), []*statement{question()})
		return err
	}
	askTheirs := func(int, int64) error {
		c, err := theirs.Acquire(context.Background())
		if err != nil {
			return err
		}
		defer c.Release()
		_, err = own(c.Conn().PgConn()).exchange(context.Background(), question())
		return err
	}
	together(b, callers, 0, n, askOurs) // so that all connections are open
	together(b, callers, 0, n, askTheirs)
	for b.Loop() {
		for range 3 {
			they += together(b, callers, 0, n, askTheirs)
			we += together(b, callers, 0, n, askOurs)
			turns++
		}
	}
	rate := func(d time.Duration) float64 { return float64(turns*n) / d.Seconds() }
	b.ReportMetric(rate(we), "ours/s")
	b.ReportMetric(rate(they), "pgxpool/s")
	b.ReportMetric(rate(we)/rate(they), "share")
	b.ReportMetric(0, "ns/op")
}
