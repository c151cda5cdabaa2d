package store

import "context"

// Measure returns how much of a step is done and the total of the step, both in the same unit. A total of 0 means
// unknown. It is safe for concurrent use, and may be called after the step has ended.
type Measure func() (done, total int64)

type watcherKey struct{}

// WithProgress returns a context that makes long operations, such as a backup or a check, report their steps to begun.
// Each call of begun ends the previous step.
func WithProgress(ctx context.Context, begun func(step string, m Measure)) context.Context {
	return context.WithValue(ctx, watcherKey{}, begun)
}

// BeginStep reports that a step of a long operation begins. A nil m means that its size is unknown. An empty step means
// that there is nothing to show, for example while a person types.
func BeginStep(ctx context.Context, step string, m Measure) {
	if begun, ok := ctx.Value(watcherKey{}).(func(string, Measure)); ok {
		begun(step, m)
	}
}

// Of returns a Measure for a fixed state: done of total.
func Of(done, total int) Measure {
	return func() (int64, int64) { return int64(done), int64(total) }
}
