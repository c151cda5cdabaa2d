package clitest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Port returns a free TCP port of loopback, for a program that needs to know its port before it starts. No other test
// gets the port before this test ends, even in another process: Port holds the UDP port of the same number. The system
// does not take the port for a connection or for a listener at port 0, because it takes those from 32768 on.
func Port(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := 12_000 + rand.IntN(8_000)
		address := fmt.Sprintf("127.0.0.1:%d", port)
		held, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			held.Close()
			continue
		}
		l.Close()
		t.Cleanup(func() { held.Close() })
		return port
	}
	t.Fatal("no free port from 12000 to 19999")
	return 0
}
