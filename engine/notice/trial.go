package notice

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"syscall"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// trialTime is the maximum duration of a trial.
const trialTime = 12 * time.Second

// Finding is the result of a trial: the first problem that was found.
type Finding string

// The possible results of a trial.
const (
	FoundNothing Finding = ""             // the server has accepted the email
	FoundNoHost  Finding = "unknown_host" // no host has this name
	FoundNobody  Finding = "refused"      // no server listens on this port
	FoundTimeout Finding = "timeout"      // there was no response in time
	FoundClosed  Finding = "closed"       // the server closed the connection
	// implicit TLS was requested, but the server does not use encryption
	FoundNotTLS     Finding = "not_encrypted"
	FoundNoStartTLS Finding = "no_starttls"         // the server does not support STARTTLS
	FoundOtherName  Finding = "certificate_name"    // its certificate is for a different name
	FoundExpired    Finding = "certificate_expired" // its certificate is not valid now
	// the certificate was not signed by an authority that this machine trusts
	FoundUnknownCA     Finding = "certificate_unknown"
	FoundOldTLS        Finding = "tls"               // any other failed TLS handshake
	FoundNoMailServer  Finding = "no_mail_server"    // the response is not from a mail server
	FoundNoPassword    Finding = "no_password_there" // the server does not support passwords
	FoundPassword      Finding = "password"          // the user or the password is wrong
	FoundNeedsPassword Finding = "password_needed"   // the server requires a password
	FoundSender        Finding = "sender"            // the server does not accept this sender
	FoundRelay         Finding = "relay"             // the server does not accept this recipient
	FoundMessage       Finding = "message"           // the server does not accept this message
	FoundGreeting      Finding = "greeting"          // the server accepts no mail from this machine
	FoundOther         Finding = "other"
)

// Trial is the result of a trial, including the server's own response.
type Trial struct {
	Finding Finding
	Said    string // such as "535 5.7.8 …"; for a certificate, the names it is for. Empty means no response
}

// Try sends one message through a server and returns the result. It does not store anything or change the mailer.
func (m *Mailer) Try(ctx context.Context, s Server, password string, x Mail) Trial {
	msg, err := message(x)
	if err != nil {
		return Trial{Finding: FoundSender}
	}
	ctx, cancel := context.WithTimeout(ctx, min(m.options.Timeout, trialTime))
	defer cancel()
	client, err := m.dial(ctx, &route{host: s.Host, port: s.Port, encryption: s.Encryption, user: s.User,
		password: password})
	if err != nil {
		return met(err, FoundGreeting, false)
	}
	// ends the session if the server no longer responds
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()
	defer hangUp(client)
	if finding, err := say(client, msg); err != nil {
		return met(err, finding, ctx.Err() != nil)
	}
	return Trial{}
}

// say sends a message to the server. The Finding names the step that failed.
func say(c *smtp.Client, msg *gomail.Msg) (Finding, error) {
	from, err := msg.GetSender(false)
	if err == nil {
		err = c.Mail(from)
	}
	if err != nil {
		return FoundSender, err
	}
	to, err := msg.GetRecipients()
	if err == nil {
		err = c.Rcpt(to[0])
	}
	if err != nil {
		return FoundRelay, err
	}
	w, err := c.Data()
	if err != nil {
		return FoundMessage, err
	}
	if _, err := msg.WriteTo(w); err != nil {
		_ = c.Close() // so that the server cannot accept a truncated message
		return FoundMessage, err
	}
	return FoundMessage, w.Close()
}

// met converts an error to a Trial. step is the finding if the server refused the message. late means that the deadline
// has passed.
func met(err error, step Finding, late bool) Trial {
	var (
		answer  *textproto.Error
		name    x509.HostnameError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		plain   tls.RecordHeaderError
		dns     *net.DNSError
		network net.Error
		broken  textproto.ProtocolError
	)
	switch {
	case errors.As(err, &answer):
		return Trial{refused(answer.Code, step), inWords(fmt.Sprintf("%d %s", answer.Code, answer.Msg))}
	case errors.As(err, &broken):
		return Trial{Finding: FoundNoMailServer}
	case errors.As(err, &name):
		return Trial{FoundOtherName, inWords(strings.Join(name.Certificate.DNSNames, ", "))}
	case errors.As(err, &unknown):
		return Trial{Finding: FoundUnknownCA}
	case errors.As(err, &invalid):
		return Trial{Finding: FoundExpired}
	case errors.As(err, &plain):
		return Trial{Finding: FoundNotTLS}
	case strings.Contains(err.Error(), "does not support STARTTLS"): // the library has no error value for it
		return Trial{Finding: FoundNoStartTLS}
	case strings.Contains(err.Error(), "does not support SMTP AUTH"),
		errors.Is(err, gomail.ErrNoSupportedAuthDiscovered):
		return Trial{Finding: FoundNoPassword}
	case errors.As(err, &dns) && !dns.IsTimeout:
		return Trial{Finding: FoundNoHost}
	case late, errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return Trial{Finding: FoundTimeout}
	case errors.Is(err, syscall.ECONNREFUSED):
		return Trial{Finding: FoundNobody}
	case isTLS(err):
		return Trial{Finding: FoundOldTLS}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, net.ErrClosed):
		return Trial{Finding: FoundClosed}
	case errors.As(err, &network):
		return Trial{Finding: FoundNobody}
	}
	return Trial{Finding: FoundOther}
}

// refused returns the finding for a refusal with this code at a step. The codes about passwords are from RFC 4954.
func refused(code int, step Finding) Finding {
	switch code {
	case 534, 535, 538:
		return FoundPassword
	case 530:
		return FoundNeedsPassword
	}
	return step
}

// inWords returns a server's response on one line of at most 300 characters (plus "…"), without characters that have a
// special meaning to a page or a terminal.
func inWords(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if r := []rune(s); len(r) > 300 {
		s = string(r[:300]) + "…"
	}
	return s
}
