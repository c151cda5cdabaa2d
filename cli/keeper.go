package cli

import (
	"context"
	"sync"
	"time"
)

// keepersPatience is how long a server that stops waits for those who keep copies: one that writes to a mount that hangs cannot be called back.
const keepersPatience = 10 * time.Second

// startKeepers starts those who keep copies. What it returns stops them, telling them why if the storage failed, and waits for them as long as
// keepersPatience.
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
			h.log.Error("stopped without waiting for a running copy", "after", keepersPatience)
		}
	}
}
