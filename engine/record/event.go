package record

import (
	"context"

	"holdfast/holds"
)

// Publisher sends live events to the open pages of all nodes. If an event is lost, a page misses one live update until
// its next request. So Publish logs errors instead of returning them.
type Publisher interface {
	// Publish sends ev to every watcher of the live state. It sets ev.At.
	Publish(ctx context.Context, ev holds.Event)
}
