//go:build !unix

package buckettest

import "os"

// waitAlone does nothing: two processes may build the gateway at the same time.
func waitAlone(*os.File) error { return nil }
