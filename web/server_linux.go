package web

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// giveUpSoon sets TCP_USER_TIMEOUT (RFC 5482). If that fails, the connection works without this timeout.
func giveUpSoon(conn *net.TCPConn, after time.Duration) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(after.Milliseconds()))
	})
}
