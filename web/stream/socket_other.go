//go:build !unix

package stream

import (
	"net"
	"syscall"
)

// rawOf is nil: here a socket cannot be asked to write without waiting, so every write is finished by a goroutine.
func rawOf(net.Conn) syscall.RawConn { return nil }

// writeNow and isClosed are never asked where there is no socket.
func writeNow(syscall.RawConn, []byte) (int, error) { return 0, nil }
func isClosed(syscall.RawConn) bool                 { return false }
