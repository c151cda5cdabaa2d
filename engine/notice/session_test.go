package notice

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast/engine/notice/noticetest"
)

// commands records what a mail server received.
type commands struct {
	mu    sync.Mutex
	words []string
}

func (c *commands) add(word string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.words = append(c.words, word)
}

func (c *commands) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.words)
}

func (c *commands) count(word string) (n int) {
	for _, w := range c.all() {
		if w == word {
			n++
		}
	}
	return n
}

func startScript(t *testing.T, perSession int) (*Mailer, *commands) {
	t.Helper()
	heard := new(commands)
	server := &noticetest.Script{Commands: heard.add, PerSession: perSession}
	m, err := NewMailer(MailOptions{URL: "smtp://" + server.Serve(t)})
	if err != nil {
		t.Fatal(err)
	}
	return m, heard
}

func sendAll(t *testing.T, m *Mailer, count int) {
	t.Helper()
	for range count {
		if err := m.Send(context.Background(), letter()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSendReusesSession(t *testing.T) {
	m, heard := startScript(t, 0)
	sendAll(t, m, 3)
	want := []string{"GREETING", "EHLO", "MAIL", "RCPT", "DATA", "MAIL", "RCPT", "DATA", "MAIL", "RCPT", "DATA"}
	if got := heard.all(); !slices.Equal(got, want) {
		t.Errorf("three emails: the server received %v, want %v", got, want)
	}
}

// TestSendReopensClosedSession: servers limit the number of messages per session and close idle sessions.
func TestSendReopensClosedSession(t *testing.T) {
	m, heard := startScript(t, 1)
	sendAll(t, m, 3)
	if sessions, emails := heard.count("GREETING"), heard.count("DATA"); sessions != 3 || emails != 3 {
		t.Errorf("three emails at a server that closes each session: %d sessions and %d emails, want 3 and 3", sessions,
			emails)
	}
}

func TestSendUsesTwoSessions(t *testing.T) {
	m, heard := startScript(t, 0)
	var sending sync.WaitGroup
	for range 20 {
		sending.Go(func() {
			if err := m.Send(context.Background(), letter()); err != nil {
				t.Error(err)
			}
		})
	}
	sending.Wait()
	if sessions, emails := heard.count("GREETING"), heard.count("DATA"); sessions > maxSessions || emails != 20 {
		t.Errorf("20 emails together: %d sessions and %d emails, want at most %d and 20", sessions, emails,
			maxSessions)
	}
}

// TestSendStopsWaitingForSession: an email that a person is waiting for must not wait for all deliveries to a server
// that hangs.
func TestSendStopsWaitingForSession(t *testing.T) {
	m, heard := startScript(t, 0)
	m.options.Timeout = time.Millisecond
	for range maxSessions {
		m.places <- struct{}{}
	}
	if err := m.Send(context.Background(), letter()); !IsUnreachable(err) {
		t.Errorf("all connections are in use: got %v, want unreachable", err)
	}
	if n := heard.count("GREETING"); n != 0 {
		t.Errorf("all connections are in use: %d more were opened", n)
	}
}

func TestIdleSessionEnds(t *testing.T) {
	m, heard := startScript(t, 0)
	sendAll(t, m, 1)
	m.sessions.idle[0].expires.Reset(0)
	for deadline := time.Now().Add(10 * time.Minute); heard.count("QUIT") == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the idle session is still open after a minute")
		}
	}
	sendAll(t, m, 1)
	if sessions := heard.count("GREETING"); sessions != 2 {
		t.Errorf("an email after the idle time: %d sessions, want 2", sessions)
	}
}

func TestUseEndsSessionWithOtherServer(t *testing.T) {
	m, before := startScript(t, 0)
	given := m.given
	m.given = nil
	m.chosen.Store(given)
	sendAll(t, m, 1)
	other, after := startScript(t, 0)
	m.chosen.Store(other.given)
	sendAll(t, m, 1)
	if before.count("QUIT") != 1 || after.count("DATA") != 1 {
		t.Errorf("another server was chosen: the previous one got %d QUIT and the new one %d emails, want 1 and 1",
			before.count("QUIT"), after.count("DATA"))
	}
}
