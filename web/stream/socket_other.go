//go:build !unix

package stream

import (
	"net"
	"syscall"
)

// rawOf returns nil, because sockets have no non-blocking write on this system. A goroutine finishes every write
// instead.
func rawOf(net.Conn) syscall.RawConn { return nil }

// writeNow and isClosed are never called, because rawOf returns no socket.
func writeNow(syscall.RawConn, []byte) (int, error) { return 0, nil }
func isClosed(syscall.RawConn) bool                 { return false }
