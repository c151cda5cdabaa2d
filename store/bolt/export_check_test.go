package bolt

import (
	"context"
	"time"
)

// CheckWithin is like Check, with a limit chosen by the test.
func CheckWithin(ctx context.Context, path string, bound time.Duration) error {
	return checkWithin(ctx, path, bound)
}
