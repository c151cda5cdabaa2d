package engine

import (
	"context"
	"slices"
	"time"
)

const (
	compareTries = 5
	comparePause = 100 * time.Millisecond
)

// Differences lists, in words, where this process differs from what is remembered: the schedule, the taken time and the closures
// in its memory from the database, and the queue from the outbox. It looks several times while requests go on, and tells
// what it found every time: a change on its way is no difference.
func (e *Engine) Differences(ctx context.Context) (found []string, err error) {
	for try := range compareTries {
		now, err := e.differencesNow(ctx)
		if err != nil {
			return nil, err
		}
		if try > 0 {
			now = slices.DeleteFunc(now, func(words string) bool { return !slices.Contains(found, words) })
		}
		if found = now; len(found) == 0 {
			return nil, nil
		}
		pause := time.NewTimer(comparePause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, ctx.Err()
		case <-pause.C:
		}
	}
	return found, nil
}

func (e *Engine) differencesNow(ctx context.Context) (found []string, err error) {
	for _, look := range []func(context.Context) ([]string, error){e.Clinic.Differences, e.Booking.Differences, e.Outbound.Differences} {
		more, err := look(ctx)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}
