package clitest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// locks is the directory of the locks. It is not os.TempDir, because two test runs with different directories for
// temporary files could then get the same port.
const locks = "/tmp"

// Port returns a port of loopback that is free for TCP and UDP, for a program that needs to know its port before it
// starts. No other test gets the port before this test ends, even in another process: Port holds the lock of a file
// with its number. The system does not use the port for an outgoing connection or for a listener on port 0, because it
// chooses such ports from 32768 on.
func Port(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := 12_000 + rand.IntN(8_000)
		lock, err := os.OpenFile(filepath.Join(locks, fmt.Sprintf("holdfast-port-%d", port)),
			os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !isFree(port) {
			lock.Close()
			continue
		}
		t.Cleanup(func() { lock.Close() })
		return port
	}
	t.Fatal("no free port from 12000 to 19999")
	return 0
}

func isFree(port int) bool {
	address := fmt.Sprintf("127.0.0.1:%d", port)
	stream, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	stream.Close()
	packets, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	packets.Close()
	return true
}
