package practice

import (
	"context"
	"time"

	"holdfast/engine/upstream"
)

// Pace takes turns in a line that all nodes share: Reserve takes a turn, Again repeats the last one, and Return gives
// back an unused one. See upstream.Line.
type Pace struct {
	Reserve func(ctx context.Context, name string, spacing,
		most time.Duration) (wait time.Duration, turn int64, err error)
	Again  func(ctx context.Context, name string, spacing time.Duration, turn int64) (bool, error)
	Return func(ctx context.Context, name string, spacing time.Duration, turn int64) error
}

// shareLine makes a pacer take its turns from the line with a given name, if the nodes share one.
func (pr *Practice) shareLine(p *upstream.Pacer, name string) {
	pace := pr.Options.Pace
	if pace.Reserve == nil {
		return
	}
	p.Share(upstream.Line{
		Reserve: func(ctx context.Context, spacing, most time.Duration) (time.Duration, int64, error) {
			wait, turn, err := pace.Reserve(ctx, name, spacing, most)
			if err == nil && turn == 0 {
				err = &upstream.LineError{Wait: wait}
			}
			return wait, turn, err
		},
		Again: func(ctx context.Context, spacing time.Duration, turn int64) (bool, error) {
			return pace.Again(ctx, name, spacing, turn)
		},
		Return: func(ctx context.Context, spacing time.Duration, turn int64) {
			if err := pace.Return(ctx, name, spacing, turn); err != nil {
				pr.log.Debug("failed to give up a turn in the upstream queue; the turn goes unused", "line", name, "error", err)
			}
		},
	})
}
