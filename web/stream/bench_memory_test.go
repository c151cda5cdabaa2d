package stream

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
)

// BenchmarkStreamMemory opens streams and reports the server's memory for each additional one, including stacks. The
// clients' ends of the connections are in the same process. The benchmark measures them first, with a server that only
// holds the connections open.
func BenchmarkStreamMemory(b *testing.B) {
	n := sized(5000)
	for b.Loop() {
		idle, streaming := bareMemory(b, n), hubMemory(b, n)
		b.ReportMetric(streaming/1024, "KB/stream")
		b.ReportMetric((streaming-idle)/1024, "KB/stream-over-a-bare-connection")
		b.ReportMetric(0, "ns/op")
	}
}

// bareMemory returns the memory of a connection that a server only holds open.
func bareMemory(b *testing.B, n int) float64 {
	return memoryOf(b, n, func() (http.Handler, func() int) {
		var mu sync.Mutex
		var kept []net.Conn
		b.Cleanup(func() {
			for _, c := range kept {
				c.Close()
			}
		})
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				b.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			kept = append(kept, conn)
		}), func() int { mu.Lock(); defer mu.Unlock(); return len(kept) }
	})
}

// hubMemory returns the memory of a live stream.
func hubMemory(b *testing.B, n int) float64 {
	return memoryOf(b, n, func() (http.Handler, func() int) {
		s := newStreams(b, Options{})
		<-s.hub.ready
		return http.HandlerFunc(s.hubHandler), s.hub.Count
	})
}

// memoryOf returns the bytes of heap and stacks per connection, for both ends together.
func memoryOf(b *testing.B, n int, open func() (http.Handler, func() int)) float64 {
	handler, count := open()
	server := httptest.NewServer(handler)
	before := inUse()
	conns := make([]net.Conn, n)
	for i := range conns {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		conns[i] = conn
	}
	for count() < n {
		runtime.Gosched()
	}
	after := inUse()
	for _, c := range conns {
		c.Close()
	}
	server.Close()
	return float64(after-before) / float64(n)
}

func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
