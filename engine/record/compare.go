package record

import (
	"context"
	"slices"
	"time"
)

const (
	compareTries = 5
	comparePause = 100 * time.Millisecond
)

// Differences returns, as text for people, the differences that compare finds on each of several calls. A change that
// commits between two of compare's reads shows up as a difference in one call only.
func Differences(ctx context.Context, compare ...func(context.Context) ([]string, error)) (found []string, err error) {
	for try := range compareTries {
		var now []string
		for _, one := range compare {
			more, err := one(ctx)
			if err != nil {
				return nil, err
			}
			now = append(now, more...)
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
