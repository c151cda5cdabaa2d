package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"holdfast/cli/demo"
	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// racers is the number of concurrent clients.
const racers = 64

func tortureCommand(p process) *cobra.Command {
	length := 10 * time.Second
	c := &cobra.Command{
		Use:   "torture",
		Short: "Stress-test the double-booking guarantee",
		Long: "Simulates 64 clients that book, move and cancel at random in a temporary clinic, across all types\n" +
			"and specialists, with and without holds. It then searches the whole database for overlapping\n" +
			"appointments. The result shows how fast this machine's disk is, and that the guarantee holds on it.\n" +
			"Exits with 1 if any appointments overlap.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if length <= 0 || length > time.Hour {
				return usageError{fmt.Errorf("flag --for: %s must be greater than 0 and at most 1h", length)}
			}
			dir, err := os.MkdirTemp("", "holdfast-torture-*")
			if err != nil {
				return fmt.Errorf("failed to create a temporary directory for the test: %w", err)
			}
			cfg := config{data: dir}
			return errors.Join(p.torture(c.Context(), cfg, length), os.RemoveAll(dir))
		},
	}
	c.Flags().DurationVar(&length, "for", length, "how long to run, such as 30s")
	return c
}

// tally counts the outcomes of the attempts.
type tally struct {
	mu                                 sync.Mutex
	booked, moved, cancelled, conflict int
	failed                             error // the first error that is not a refusal
}

func (p process) torture(ctx context.Context, cfg config, length time.Duration) error {
	log := slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	h, err := openHouse(ctx, cfg, houseOptions{version: p.version, log: log, local: true})
	if err != nil {
		return err
	}
	clinic, err := demo.Clinic()
	if err != nil {
		return errors.Join(err, h.close())
	}
	if _, err := h.engine.Clinic.Import(ctx, localActor, clinic); err != nil {
		return errors.Join(err, h.close())
	}
	_, _ = fmt.Fprintf(p.stdout, "%d clients book, move and cancel for %s …\n", racers, length)
	var t tally
	began := time.Now()
	ended, stop := context.WithTimeout(ctx, length)
	defer stop()
	var all sync.WaitGroup
	for n := range racers {
		all.Go(func() { t.race(ended, h.engine, &clinic, n) })
	}
	all.Wait()
	took := time.Since(began)
	if t.failed != nil {
		return errors.Join(fmt.Errorf("an attempt failed: %w", t.failed), h.close())
	}
	if err := h.store.Check(ctx); err != nil {
		return errors.Join(fmt.Errorf("the database violates its guarantee: %w", err), h.close())
	}
	t.print(p.stdout, took)
	return h.close()
}

func (t *tally) print(w io.Writer, took time.Duration) {
	_, _ = fmt.Fprintf(w,
		"%d booked, %d moved, %d cancelled, %d refused because another client was first, 0 overlaps\n%.0f durable "+
			"changes per second on this disk\n",
		t.booked, t.moved, t.cancelled, t.conflict, float64(t.booked+t.moved+t.cancelled)/took.Seconds())
}

// race runs one client: it books random slots, and sometimes moves or cancels one of its appointments.
func (t *tally) race(ctx context.Context, e *engine.Engine, clinic *clinic.File, n int) {
	client := holds.ClientID(fmt.Sprintf("torture-client-%06d", n))
	var mine []string
	for ctx.Err() == nil {
		kind := clinic.AppointmentTypes[rand.IntN(len(clinic.AppointmentTypes))]
		// The starts are close to each other, so that most attempts conflict.
		start := time.Now().UTC().Truncate(time.Hour).Add(time.Duration(24*60+rand.IntN(3*24*60)/5*5) * time.Minute)
		var err error
		what := &t.booked
		switch action := rand.IntN(10); {
		case action == 0 && len(mine) > 0:
			what = &t.cancelled
			last := len(mine) - 1
			_, err = e.Booking.Cancel(ctx, booking.CancelRequest{ID: mine[last], Actor: localActor})
			mine = mine[:last]
		case action == 1 && len(mine) > 0:
			what = &t.moved
			_, err = e.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: mine[rand.IntN(len(mine))],
				SlotStart: start, Actor: localActor, IgnoreHours: true})
		default:
			var a store.Appointment
			a, err = e.Booking.Book(ctx, booking.Request{
				AppointmentTypeID: kind.ID, SlotStart: start, Client: client, Patient: store.Patient{Name: "Torture"},
				Source: store.SourceStaff, Actor: localActor, IgnoreHours: true,
			})
			if err == nil {
				mine = append(mine, a.ID)
			}
		}
		t.count(ctx, what, err)
	}
}

func (t *tally) count(ctx context.Context, what *int, err error) {
	var held *holds.HeldError
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		*what++
	case errors.Is(err, store.ErrSlotTaken) || errors.As(err, &held) || errors.Is(err, store.ErrVersion) ||
		errors.Is(err, record.ErrNotConfirmed):
		t.conflict++
	case ctx.Err() == nil && t.failed == nil:
		t.failed = err
	}
}
