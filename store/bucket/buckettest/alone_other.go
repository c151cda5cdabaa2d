//go:build !unix

package buckettest

import "os"

// waitAlone does nothing: two processes may build the gateway concurrently.
func waitAlone(*os.File) error { return nil }
