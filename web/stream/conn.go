package stream

import (
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// conn is the connection of a subscriber.
type conn interface {
	// tryWrite writes as much as the connection accepts, without waiting.
	tryWrite(b []byte) (int, error)
	// write writes all of b within the given time.
	write(b []byte, within time.Duration) error
	// isGone reports whether the peer has closed the connection, as far as it can tell without waiting.
	isGone() bool
	close()
}

// takenConn is a connection taken over from the HTTP server. It has no buffers.
type takenConn struct {
	conn net.Conn
	// nil if the connection has no non-blocking writes; then a goroutine finishes every write
	raw  syscall.RawConn
	once sync.Once
	left func() // called once, when the connection is closed
}

func newTakenConn(conn net.Conn, left func()) *takenConn {
	return &takenConn{conn: conn, raw: rawOf(conn), left: left}
}

func (c *takenConn) tryWrite(b []byte) (n int, err error) {
	if c.raw == nil {
		return 0, nil
	}
	return writeNow(c.raw, b)
}

func (c *takenConn) write(b []byte, within time.Duration) error {
	if len(b) == 0 {
		return nil
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	_, err := c.conn.Write(b)
	// If the deadline stayed set, tryWrite would fail once it had passed.
	return errors.Join(err, c.conn.SetWriteDeadline(time.Time{}))
}

func (c *takenConn) isGone() bool {
	if c.raw == nil {
		return false
	}
	return isClosed(c.raw)
}

func (c *takenConn) close() {
	c.once.Do(func() {
		c.conn.Close()
		c.left()
	})
}

// flushConn writes through the HTTP server, for connections that cannot be taken over (HTTP/2). serve does the writing,
// on the handler's goroutine.
type flushConn struct {
	frames chan []byte
	errs   chan error
	closed chan struct{}
	once   sync.Once
}

func newFlushConn() *flushConn {
	return &flushConn{frames: make(chan []byte), errs: make(chan error), closed: make(chan struct{})}
}

// serve writes until the stream is closed or the client cancels the request.
func (c *flushConn) serve(w http.ResponseWriter, r *http.Request, within time.Duration) {
	control := http.NewResponseController(w)
	for {
		select {
		case <-r.Context().Done():
			c.close()
			return
		case <-c.closed:
			return
		case b := <-c.frames:
			// If the server does not support write deadlines, only TCP's timeouts apply.
			_ = control.SetWriteDeadline(time.Now().Add(within))
			_, err := w.Write(b)
			if err == nil {
				err = control.Flush()
			}
			// HTTP/2 resets a stream at its deadline, even if no write is waiting.
			_ = control.SetWriteDeadline(time.Time{})
			c.errs <- err
		}
	}
}

func (c *flushConn) tryWrite([]byte) (int, error) { return 0, nil }

func (c *flushConn) write(b []byte, _ time.Duration) error {
	if len(b) == 0 {
		return nil
	}
	select {
	case c.frames <- b:
		return <-c.errs
	case <-c.closed:
		return net.ErrClosed
	}
}

func (c *flushConn) isGone() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

func (c *flushConn) close() { c.once.Do(func() { close(c.closed) }) }
