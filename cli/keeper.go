package cli

import (
	"context"
	"sync"
	"time"
)

// keepersPatience is how long a stopping server waits for its keepers. A keeper that writes to a hung network disk
// cannot be interrupted.
const keepersPatience = 10 * time.Second

// startKeepers starts the loops that make backups. The returned function stops them and waits for at most
// keepersPatience. If the storage failed, stop passes the error to the loops as the cause of their context.
func (h *house) startKeepers(ctx context.Context) (stop func(failed error)) {
	ctx, cancel := context.WithCancelCause(ctx)
	var keeping sync.WaitGroup
	for _, each := range h.keepers {
		keeping.Go(func() { each(ctx) })
	}
	return func(failed error) {
		cancel(failed)
		ended := make(chan struct{})
		go func() { defer close(ended); keeping.Wait() }()
		patience := time.NewTimer(keepersPatience)
		defer patience.Stop()
		select {
		case <-ended:
		case <-patience.C:
			h.log.Error("stopped while a backup was still running", "after", keepersPatience)
		}
	}
}
