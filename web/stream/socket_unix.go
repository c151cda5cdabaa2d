//go:build unix

package stream

import (
	"net"
	"syscall"
)

// rawOf returns the socket of a connection, or nil if it has none.
func rawOf(conn net.Conn) syscall.RawConn {
	if socket, ok := conn.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

// writeNow writes as much as a socket accepts, without waiting.
func writeNow(raw syscall.RawConn, b []byte) (n int, err error) {
	rawErr := raw.Write(func(fd uintptr) bool {
		n, err = syscall.Write(int(fd), b)
		return true // do not wait, regardless of the result
	})
	switch {
	case rawErr != nil:
		return 0, rawErr
	case err == syscall.EAGAIN || err == syscall.EINTR:
		return max(n, 0), nil
	case err != nil:
		return 0, err
	}
	return n, nil
}

// isClosed reports whether the peer has closed a socket.
func isClosed(raw syscall.RawConn) bool {
	closed := false
	err := raw.Read(func(fd uintptr) bool {
		var one [64]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_DONTWAIT)
		closed = n == 0 && err == nil || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
		return true
	})
	return closed || err != nil
}
