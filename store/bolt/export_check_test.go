package bolt

import (
	"context"
	"time"
)

// CheckWithin is Check with a bound of the test's choosing.
func CheckWithin(ctx context.Context, path string, bound time.Duration) error {
	return checkWithin(ctx, path, bound)
}
