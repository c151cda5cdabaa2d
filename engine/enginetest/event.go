package enginetest

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/holds"
)

// Events returns a function that lists the events of these kinds that have been published since Events was called.
func (c *TestClinic) Events(kinds ...holds.EventKind) func() []holds.Event {
	c.T.Helper()
	watch, err := c.Holds.Watch(context.Background())
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(watch.Close)
	return func() []holds.Event {
		c.T.Helper()
		var got []holds.Event
		for {
			now, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			list, err := watch.Next(now, nil)
			cancel()
			// on a busy machine, the time can run out before Next has read anything
			if errors.Is(err, context.DeadlineExceeded) {
				now, cancel := context.WithCancel(context.Background())
				list, err = watch.Next(untilWait{now, cancel}, nil)
				cancel()
			}
			if errors.Is(err, context.Canceled) {
				return got
			}
			if err != nil {
				c.T.Fatal(err)
			}
			for _, ev := range list {
				if slices.Contains(kinds, ev.Kind) {
					got = append(got, ev)
				}
			}
		}
	}
}

// untilWait is a context that is cancelled as soon as a call waits on it. So the call returns the events that are
// available, without a time limit.
type untilWait struct {
	context.Context
	cancel context.CancelFunc
}

func (c untilWait) Done() <-chan struct{} {
	c.cancel()
	return c.Context.Done()
}

// Said returns the presence events in a comparable form.
func Said(events []holds.Event) []string {
	var list []string
	for _, ev := range events {
		list = append(list, ev.SpecialistID+" "+string(ev.Reason))
	}
	return list
}

// Kinds returns the kinds of the events in a comparable form.
func Kinds(events []holds.Event) []string {
	var list []string
	for _, ev := range events {
		s := string(ev.Kind)
		if ev.Reason != "" {
			s += " " + string(ev.Reason)
		}
		list = append(list, s+" "+ev.SlotStart.Format("15:04"))
	}
	return list
}
