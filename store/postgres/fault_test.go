package postgres

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/store"
)

// line is a proxy between a node and the server, with its own socket. A test can make it fail like a network.
type line struct {
	listener net.Listener
	socket   string                        // socket of the server; empty means the server of all tests
	cut      atomic.Bool                   // no new connection is accepted
	ice      atomic.Pointer[chan struct{}] // no data passes to the server until the channel is closed

	loseAnswer  atomic.Bool // the next response to a COMMIT is lost with its connection
	loseAny     atomic.Bool // the next response to any request is lost
	loseRequest atomic.Bool // the next bytes on a connection that books are lost with it
	halfOpen    atomic.Bool // with loseRequest: the server does not notice the lost connection
	swallow     atomic.Bool // the next bytes on a connection that books are lost, and it stays open

	mu   sync.Mutex
	ends []net.Conn
}

// open starts the proxy in front of a database's server and returns a node's options for it.
func (l *line) open(t *testing.T, to string) Options {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-line-") // t.TempDir() is too long for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	if l.listener, err = net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432")); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { l.accept(&running) })
	t.Cleanup(func() {
		l.listener.Close()
		l.hangUp()
		running.Wait()
		os.RemoveAll(dir)
	})
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	return Options{URL: u.String(), Timeout: 2 * time.Second}
}

func (l *line) accept(running *sync.WaitGroup) {
	for {
		node, err := l.listener.Accept()
		if err != nil {
			return
		}
		if l.cut.Load() {
			node.Close()
			continue
		}
		server, err := net.Dial("unix", cmp.Or(l.socket, cluster.Socket()))
		if err != nil {
			node.Close()
			continue
		}
		l.mu.Lock()
		l.ends = append(l.ends, node, server)
		l.mu.Unlock()
		books := new(atomic.Bool)
		running.Go(func() { l.requests(node, server, books) })
		running.Go(func() { l.answers(node, server, books) })
	}
}

// hangUp cuts all current connections.
func (l *line) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, end := range l.ends {
		end.Close()
	}
	l.ends = nil
}

// requests forwards the data that the node sends. It records whether the node writes appointments on this connection.
// Only such a connection loses a request or the response to a COMMIT, because the node's readers commit too.
func (l *line) requests(node, server net.Conn, books *atomic.Bool) {
	b := make([]byte, 1<<16)
	for {
		n, err := node.Read(b)
		if bytes.Contains(b[:n], []byte("INSERT INTO appointments")) {
			books.Store(true)
		}
		if ice := l.ice.Load(); ice != nil {
			<-*ice
		}
		if err == nil && books.Load() && l.swallow.CompareAndSwap(true, false) {
			continue
		}
		if err == nil && books.Load() && l.loseRequest.CompareAndSwap(true, false) {
			node.Close()
			if l.halfOpen.Load() {
				return
			}
			err = net.ErrClosed
		}
		if err == nil {
			_, err = server.Write(b[:n])
		}
		if err != nil {
			server.Close()
			return
		}
	}
}

var committed = []byte("COMMIT\x00")

func (l *line) answers(node, server net.Conn, books *atomic.Bool) {
	b := make([]byte, 1<<16)
	for {
		n, err := server.Read(b)
		if err == nil && (books.Load() && bytes.Contains(b[:n], committed) && l.loseAnswer.CompareAndSwap(true, false) || l.loseAny.CompareAndSwap(true, false)) {
			err = net.ErrClosed
		}
		if err == nil {
			_, err = node.Write(b[:n])
		}
		if err != nil {
			node.Close()
			server.Close()
			return
		}
	}
}

// faulty returns a node behind a line, and the line.
func faulty(t *testing.T) (*Store, *line) {
	t.Helper()
	l := &line{}
	s := nodes(t, 1, l.open(t, migrated(t)))[0]
	return s, l
}

func has(t *testing.T, s *Store, id string) bool {
	t.Helper()
	_, err := s.Appointment(t.Context(), id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

// TestLostCommitAnswerIsResolved breaks the connection between the COMMIT and its response. The caller must get the
// real outcome. Before that, the follower must have received the change, exactly once.
func TestLostCommitAnswerIsResolved(t *testing.T) {
	t.Parallel()
	s, l := faulty(t)
	var heard journal
	if err := s.Changes(t.Context(), s.LastChange(), heard.take); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		l.loseAnswer.Store(true)
		a := booking("s0", i*30, i*30+30)
		if err := insert(s, a); err != nil {
			t.Fatalf("a booking that was committed: got %v", err)
		}
		if got := heard.all(); len(got) != i+1 || got[i].ID != a.ID {
			t.Fatalf("after booking %d, the follower received %d changes", i, len(got))
		}
		if l.loseAnswer.Load() {
			t.Fatal("no answer was lost; the test proves nothing")
		}
	}
}

// TestLostCommitIsRolledBack cuts the connection before the COMMIT arrives, on one side and on both.
func TestLostCommitIsRolledBack(t *testing.T) {
	t.Parallel()
	for name, halfOpen := range map[string]bool{"cut on both sides": false, "cut on one side": true} {
		t.Run(name, func(t *testing.T) {
			s, l := faulty(t)
			l.halfOpen.Store(halfOpen)
			lost := booking("s0", 0, 30)
			err := s.Write(t.Context(), func(tx store.Tx) error {
				err := tx.InsertAppointment(t.Context(), lost)
				l.loseRequest.Store(true)
				return err
			})
			if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), nothingWasWritten) {
				t.Errorf("got %v, want ErrUnavailable without an unknown outcome", err)
			}
			if has(t, s, lost.ID) {
				t.Error("the booking is in the database although its caller got an error that excludes it")
			}
			if err := insert(s, lost); err != nil {
				t.Errorf("second booking of the same time: %v", err)
			}
		})
	}
}

// TestLostBatchRunsAgain loses the connection before the commit once: on both sides, on one side, and because the node
// paused for so long that the server ended its transaction. The write runs again, and its caller gets no error.
func TestLostBatchRunsAgain(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testing.T, *Store, *line){
		"cut on both sides": func(_ *testing.T, _ *Store, l *line) { l.loseRequest.Store(true) },
		"cut on one side": func(_ *testing.T, _ *Store, l *line) {
			l.halfOpen.Store(true)
			l.loseRequest.Store(true)
		},
		"a pause": func(t *testing.T, s *Store, _ *line) {
			pid := int64(s.writer.conn.pg.PID())
			for began, n := time.Now(), 1; n > 0; {
				var err error
				n, err = one(t.Context(), s.reads, (*row).Int,
					`SELECT count(*) FROM pg_stat_activity WHERE pid = $1`, pid)
				if err != nil || time.Since(began) > patience {
					t.Fatalf("the server does not end the connection of a node that pauses: %v", err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, l := faulty(t)
			var heard journal
			if err := s.Changes(t.Context(), s.LastChange(), heard.take); err != nil {
				t.Fatal(err)
			}
			a, runs := booking("s0", 0, 30), 0
			err := s.Write(t.Context(), func(tx store.Tx) error {
				err := tx.InsertAppointment(t.Context(), a)
				if runs++; runs == 1 && err == nil {
					lose(t, s, l)
				}
				return err
			})
			if err != nil || runs != 2 || !has(t, s, a.ID) {
				t.Errorf("got %v after %d runs, want the booking after 2 runs", err, runs)
			}
			if got := heard.all(); len(got) != 1 || got[0].ID != a.ID {
				t.Errorf("the follower received %d changes, want the booking once", len(got))
			}
		})
	}
}

// TestTimeoutOfCommitRunsNotAgain: the COMMIT does not arrive, and the server does not end the connection. The caller
// gets an error after one timeout, and not after one for each repeat.
func TestTimeoutOfCommitRunsNotAgain(t *testing.T) {
	t.Parallel()
	s, l := faulty(t)
	s.writer.server.config.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	l.hangUp()
	if err := insert(s, booking("s1", 0, 30)); err != nil { // over a new connection
		t.Fatal(err)
	}
	a, runs := booking("s0", 0, 30), 0
	err := s.Write(t.Context(), func(tx store.Tx) error {
		runs++
		err := tx.InsertAppointment(t.Context(), a)
		l.swallow.Store(true)
		return err
	})
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), nothingWasWritten) || runs != 1 {
		t.Errorf("got %v after %d runs, want an error without an unknown outcome after one run", err, runs)
	}
	if has(t, s, a.ID) {
		t.Error("the booking is in the database although its caller got an error that excludes it")
	}
}

// TestUnresolvedCommitIsUnknown checks that the outcome is unknown if the server is unreachable after the COMMIT, and
// that the node finds the committed rows when the server is reachable again.
func TestUnresolvedCommitIsUnknown(t *testing.T) {
	t.Parallel()
	s, l := faulty(t)
	var heard journal
	if err := s.Changes(t.Context(), s.LastChange(), heard.take); err != nil {
		t.Fatal(err)
	}
	a := booking("s0", 0, 30)
	err := s.Write(t.Context(), func(tx store.Tx) error {
		l.loseAnswer.Store(true)
		l.cut.Store(true)
		return tx.InsertAppointment(t.Context(), a)
	})
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), unknownOutcome) {
		t.Errorf("got %v, want ErrUnavailable with an unknown outcome", err)
	}
	if err := insert(s, booking("s1", 0, 30)); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), nothingWasWritten) {
		t.Errorf("a booking without a server: got %v, want ErrUnavailable without an unknown outcome", err)
	}
	l.hangUp()
	l.cut.Store(false)
	if err := insert(s, booking("s2", 0, 30)); err != nil {
		t.Errorf("a booking after the server's return: %v", err)
	}
	if !has(t, s, a.ID) {
		t.Error("the committed booking is missing")
	}
	if got := heard.all(); len(got) != 2 || got[0].ID != a.ID {
		t.Errorf("the feed delivered %+v, want the unknown one and the next one", got)
	}
}

// TestWritesSurviveServerRestart breaks idle connections, as a restart of the server does. The pool must replace them.
func TestWritesSurviveServerRestart(t *testing.T) {
	t.Parallel()
	s, l := faulty(t)
	for i := range 3 {
		if err := insert(s, booking("s0", i*30, i*30+30)); err != nil {
			t.Fatalf("booking %d after the connections were closed: %v", i, err)
		}
		l.hangUp()
	}
}

// TestSilentServerTimesOut checks that every call has a deadline, and that calls work when the server responds again.
func TestSilentServerTimesOut(t *testing.T) {
	t.Parallel()
	s, l := faulty(t)
	ice := make(chan struct{})
	l.ice.Store(&ice)
	var all sync.WaitGroup
	for name, call := range map[string]func() error{
		"a write":    func() error { return insert(s, booking("s0", 0, 30)) },
		"a question": func() error { _, err := s.Schedule(context.Background()); return err },
		"a ping":     func() error { return s.Ping(context.Background()) },
	} {
		all.Go(func() {
			if err := call(); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s: got %v, want ErrUnavailable", name, err)
			}
		})
	}
	answered := make(chan struct{})
	go func() {
		all.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(patience): // otherwise the server would be silent forever
		t.Errorf("the caller waited %v for a silent server, and the timeout is %v", patience, s.server.timeout)
	}
	l.ice.Store(nil)
	close(ice)
	if err := insert(s, booking("s0", 30, 60)); err != nil {
		t.Errorf("a booking after the server answers again: %v", err)
	}
}

// TestHungNodeLosesLock freezes or kills a node in the middle of a batch. The other nodes wait for maxPause, and the
// batch is rolled back.
func TestHungNodeLosesLock(t *testing.T) {
	t.Parallel()
	for name, strike := range map[string]func(*conn){
		"frozen": func(*conn) {},
		"killed": func(c *conn) { c.pg.Conn().Close() },
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{URL: migrated(t)}
			s := nodes(t, 1, o)[0] // this write would wait for patience, and then fail
			o.Timeout = patience
			hangs, err := newServer(o)
			if err != nil {
				t.Fatal(err)
			}
			hangs = hangs.forWrites()
			hung, err := hangs.connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer hung.close()
			b := newBatch(hung, hangs, s.LastChange())
			b.begin()
			tx := newTx(b)
			stale := booking("s0", 0, 30)
			if err := tx.InsertAppointment(t.Context(), stale); err != nil {
				t.Fatal(err)
			}
			strike(hung)
			began := time.Now()
			if err := insert(s, stale); err != nil {
				t.Errorf("a booking behind a node that is %s: %v", name, err)
			}
			t.Logf("it waited for %v, want a little more than %v", time.Since(began), maxPause)
			if err := tx.InsertAppointment(t.Context(), booking("s1", 0, 30)); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("the node that hung resumes: got %v, want ErrUnavailable", err)
			}
		})
	}
}

// isUnknown reports whether an error means that the outcome is unknown.
func isUnknown(err error) bool { return strings.Contains(err.Error(), unknownOutcome) }
