package enginetest

import (
	"crypto/x509"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
)

// MailProvider is a mail server that requires a password. Taken receives the messages that it has accepted. It refuses
// the first attempt at the email of each operation in Busy.
type MailProvider struct {
	Wish  message.MailServerWish
	Roots *x509.CertPool
	Taken chan string
	Busy  sync.Map // by the operation's id
}

// NewMailProvider starts a mail server.
func NewMailProvider(t *testing.T) *MailProvider {
	t.Helper()
	host, address := noticetest.MailPort()
	certificate, roots := noticetest.Certified(t, time.Now().Add(time.Hour), host)
	p := &MailProvider{
		Wish: message.MailServerWish{Host: host, Port: 2525, Encryption: notice.StartTLS, User: "clinic",
			Password: "canarysmtp", From: "Harbour <post@clinic.example>"},
		Roots: roots, Taken: make(chan string, 100),
	}
	(&noticetest.Script{Address: address, Certificate: certificate, User: "clinic", Password: "canarysmtp",
		Refused: func(m string) bool {
			_, busy := p.Busy.LoadAndDelete(OperationOf(m))
			return busy
		},
		Taken: func(m string) { p.Taken <- m }}).Serve(t)
	return p
}

// OperationOf returns the id of an email's operation.
func OperationOf(message string) string {
	_, id, _ := strings.Cut(message, "Message-ID: <")
	id, _, _ = strings.Cut(id, "@")
	return id
}

// Mailer returns a mailer that trusts the provider.
func (p *MailProvider) Mailer(t *testing.T) *notice.Mailer {
	t.Helper()
	m, err := notice.NewMailer(notice.MailOptions{Dir: t.TempDir(), Roots: p.Roots})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Wants expects one more message, which must contain these words.
func (p *MailProvider) Wants(t *testing.T, what string, words ...string) {
	t.Helper()
	select {
	case got := <-p.Taken:
		for _, word := range words {
			if !strings.Contains(got, word) {
				t.Errorf("%s: the mail has no %q:\n%s", what, word, got)
			}
		}
	case <-time.After(10 * time.Minute):
		t.Errorf("%s: no mail came", what)
	}
}

// Tester is the address that trial emails are sent to.
var Tester = mail.Address{Name: "Jo", Address: "jo@example.org"}
