//go:build !linux

package web

import (
	"net"
	"time"
)

// giveUpSoon does nothing: only Linux has TCP_USER_TIMEOUT. Write deadlines and keep-alive find vanished peers later.
func giveUpSoon(*net.TCPConn, time.Duration) {}
