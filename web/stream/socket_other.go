//go:build !unix

package stream

import (
	"net"
	"syscall"
)

// rawOf returns nil: on this system a socket has no non-blocking write, so a goroutine finishes every write.
func rawOf(net.Conn) syscall.RawConn { return nil }

// writeNow and isClosed are never called without a socket.
func writeNow(syscall.RawConn, []byte) (int, error) { return 0, nil }
func isClosed(syscall.RawConn) bool                 { return false }
