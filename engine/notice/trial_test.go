package notice

import (
	"crypto/x509"
	"net"
	"net/mail"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/engine/notice/noticetest"
)

// TestTrialReportsFailures: the trial reports each fault in the mail settings, and quotes the mail server.
func TestTrialReportsFailures(t *testing.T) {
	ours, trusted := noticetest.Certified(t, time.Now().Add(time.Hour), "127.0.0.1")
	other, _ := noticetest.Certified(t, time.Now().Add(time.Hour), "mail.provider.example")
	old, trustedOld := noticetest.Certified(t, time.Now().Add(-time.Hour), "127.0.0.1")
	for _, c := range []struct {
		name     string
		script   noticetest.Script
		way      Encryption
		user     string
		password string
		roots    *x509.CertPool
		want     Finding
		said     string
	}{
		{"STARTTLS and the password", noticetest.Script{Certificate: ours, User: "jo", Password: "right"}, StartTLS,
			"jo", "right", trusted, FoundNothing, ""},
		{"TLS and the password", noticetest.Script{Certificate: ours, TLS: true, User: "jo", Password: "right"}, TLS,
			"jo", "right", trusted, FoundNothing, ""},
		{"a relay in the house", noticetest.Script{}, NoTLS, "", "", nil, FoundNothing, ""},
		{"a wrong password", noticetest.Script{Certificate: ours, User: "jo", Password: "right"}, StartTLS, "jo",
			"wrong", trusted, FoundPassword, "535 5.7.8 Username and password not accepted"},
		{"no password", noticetest.Script{Certificate: ours, User: "jo", Password: "right"}, StartTLS, "", "", trusted,
			FoundNeedsPassword, "530 5.7.0"},
		{"a password that the server does not request", noticetest.Script{Certificate: ours}, StartTLS, "jo", "right", trusted, FoundNoPassword, ""},
		{"another name", noticetest.Script{Certificate: other}, StartTLS, "", "", trusted, FoundOtherName,
			"mail.provider.example"},
		{"an expired certificate", noticetest.Script{Certificate: old}, StartTLS, "", "", trustedOld, FoundExpired, ""},
		{"an untrusted certificate", noticetest.Script{Certificate: ours}, StartTLS, "", "", x509.NewCertPool(), FoundUnknownCA, ""},
		{"TLS where it begins in the clear", noticetest.Script{Certificate: ours}, TLS, "", "", trusted, FoundNotTLS,
			""},
		{"STARTTLS where there is none", noticetest.Script{}, StartTLS, "", "", trusted, FoundNoStartTLS, ""},
		{"a greeting that refuses", noticetest.Script{Answers: map[string]string{"GREETING": "554 5.7.1 your network is on a list"}}, NoTLS, "", "", nil, FoundGreeting, "554 5.7.1 your network is on a list"},
		{"a sender that is refused", noticetest.Script{Answers: map[string]string{"MAIL": "553 5.7.1 not your address"}}, NoTLS, "", "", nil, FoundSender, "553 5.7.1 not your address"},
		{"a refused relay", noticetest.Script{Answers: map[string]string{"RCPT": "554 5.7.1 <jo@example.org>: Relay access denied"}}, NoTLS, "", "", nil, FoundRelay, "554 5.7.1 <jo@example.org>: Relay access denied"},
		{"a message that is refused", noticetest.Script{Answers: map[string]string{"MESSAGE": "550 looks like \x1b[31mspam"}}, NoTLS, "", "", nil, FoundMessage, "550 looks like [31mspam"},
		{"a server that hangs up", noticetest.Script{Answers: map[string]string{"EHLO": "", "HELO": ""}}, NoTLS, "", "",
			nil, FoundClosed, ""},
		{"no mail server", noticetest.Script{Answers: map[string]string{"GREETING": "HTTP/1.1 400 Bad Request"}}, NoTLS,
			"", "", nil, FoundNoMailServer, ""},
		{"silence", noticetest.Script{Silent: true}, NoTLS, "", "", nil, FoundTimeout, ""},
		{"silence after the sender", noticetest.Script{Answers: map[string]string{"RCPT": "250-"}}, NoTLS, "", "", nil,
			FoundTimeout, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var tried time.Time
			t.Cleanup(func() { // runs after the server has ended, which waits up to a minute for its client
				if took := time.Since(tried); took > 50*time.Second {
					t.Errorf("the trial left its connection open: the server waited for %s", took)
				}
			})
			taken := make(chan string, 1)
			c.script.Taken = func(message string) { taken <- message }
			server := serverAt(t, c.script.Serve(t))
			server.Encryption, server.User = c.way, c.user
			timeout := 20 * time.Second
			if c.want == FoundTimeout {
				timeout = 500 * time.Millisecond
			}
			m, err := NewMailer(MailOptions{Dir: t.TempDir(), Timeout: timeout, Roots: c.roots})
			if err != nil {
				t.Fatal(err)
			}
			got := m.Try(t.Context(), server, c.password, trialMail)
			tried = time.Now()
			if got.Finding != c.want || !strings.HasPrefix(got.Said, c.said) || c.said == "" && got.Said != "" {
				t.Errorf("got %q, and the server's answer %q; want %q and %q", got.Finding, got.Said, c.want, c.said)
			}
			if c.want == FoundNothing && !strings.Contains(<-taken, "Subject: A test") {
				t.Error("the server did not get the message")
			}
			if !m.ToFiles() {
				t.Error("a trial changed the mail server")
			}
		})
	}
}

// TestTrialWithoutServer: nothing is listening, or the host name is unknown.
func TestTrialWithoutServer(t *testing.T) {
	m, err := NewMailer(MailOptions{Dir: t.TempDir(), Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for server, want := range map[Server]Finding{
		{Host: "127.0.0.1", Port: 1, Encryption: NoTLS}:                FoundNobody,
		{Host: "nobody.has.this.invalid", Port: 25, Encryption: NoTLS}: FoundNoHost,
	} {
		if got := m.Try(t.Context(), server, "", trialMail); got.Finding != want {
			t.Errorf("%s: got %q, want %q", server.Host, got.Finding, want)
		}
	}
}

// TestChangedMailServerAppliesToNextEmail: an address that was set with a flag does not change. If the server's
// password cannot be read, email waits instead of failing.
func TestChangedMailServerAppliesToNextEmail(t *testing.T) {
	taken := make(chan string, 4)
	relay := noticetest.Script{Taken: func(message string) { taken <- message }}
	server := serverAt(t, relay.Serve(t))
	server.Encryption = NoTLS
	m, err := NewMailer(MailOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	send := func() error { return m.Send(t.Context(), trialMail) }
	if err := send(); err != nil || len(taken) != 0 || !m.ToFiles() {
		t.Fatalf("without a server: %v, and the servers received %d messages", err, len(taken))
	}
	m.Use(&server, "", true)
	if err := send(); err != nil || len(taken) != 1 || m.ToFiles() {
		t.Fatalf("with a server: %v, and the servers received %d messages", err, len(taken))
	}
	m.Use(&server, "", false)
	if err := send(); !IsUnreachable(err) || len(taken) != 1 {
		t.Errorf("with an unreadable password: %v, want a deferral", err)
	}
	m.Use(nil, "", true)
	if err := send(); err != nil || len(taken) != 1 || !m.ToFiles() {
		t.Errorf("without a server again: %v, and the servers received %d messages", err, len(taken))
	}
	given, err := NewMailer(MailOptions{URL: "smtp://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	given.Use(&server, "", true)
	if err := given.Send(t.Context(), trialMail); !IsUnreachable(err) || given.Given().Port != 1 {
		t.Errorf("a mailer with a given address: %v, want no change", err)
	}
}

var trialMail = Mail{ID: "trial", To: "jo@example.org", From: mail.Address{Address: "post@clinic.example"},
	Subject: "A test", Text: "words"}

func serverAt(t testing.TB, address string) Server {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	port, _ := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return Server{Host: host, Port: port}
}
