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

// trialTime is how long somebody waits for a trial.
const trialTime = 12 * time.Second

// Finding is what came of a trial: the first thing that stood in the way.
type Finding string

// What a trial can find.
const (
	FoundNothing       Finding = ""                    // the server has taken the mail
	FoundNoHost        Finding = "unknown_host"        // nobody has this name
	FoundNobody        Finding = "refused"             // nobody listens on this port
	FoundTimeout       Finding = "timeout"             // no answer
	FoundClosed        Finding = "closed"              // the server hung up
	FoundNotTLS        Finding = "not_encrypted"       // encryption from the first byte was asked for, and the server speaks in the clear
	FoundNoStartTLS    Finding = "no_starttls"         // the server cannot go on encrypted
	FoundOtherName     Finding = "certificate_name"    // its certificate is for another name
	FoundExpired       Finding = "certificate_expired" // its certificate is not valid now
	FoundUnknownCA     Finding = "certificate_unknown" // nobody this machine trusts vouches for it
	FoundOldTLS        Finding = "tls"                 // the two did not agree how to encrypt
	FoundNoMailServer  Finding = "no_mail_server"      // something else than a mail server answers
	FoundNoPassword    Finding = "no_password_there"   // the server asks nobody for a password
	FoundPassword      Finding = "password"            // the user or the password is wrong
	FoundNeedsPassword Finding = "password_needed"     // the server takes no mail without a password
	FoundSender        Finding = "sender"              // it does not take mail from this sender
	FoundRelay         Finding = "relay"               // it does not take mail to this recipient
	FoundMessage       Finding = "message"             // it does not take this message
	FoundGreeting      Finding = "greeting"            // it wants no mail from this machine
	FoundOther         Finding = "other"
)

// Trial is what came of a trial, and what the server said, in its own words.
type Trial struct {
	Finding Finding
	Said    string // "535 5.7.8 …"; of a certificate: the names it is for. Empty: nothing
}

// Try sends one message by a server and says what became of it. Nothing is remembered, and the mailer goes on as it was.
func (m *Mailer) Try(ctx context.Context, s Server, password string, x Mail) Trial {
	msg, err := message(x)
	if err != nil {
		return Trial{Finding: FoundSender}
	}
	ctx, cancel := context.WithTimeout(ctx, min(m.options.Timeout, trialTime))
	defer cancel()
	conversation, err := m.dial(ctx, &route{host: s.Host, port: s.Port, encryption: s.Encryption, user: s.User, password: password})
	if err != nil {
		return met(err, FoundGreeting, false)
	}
	defer context.AfterFunc(ctx, func() { _ = conversation.Close() })() // a server that says no more
	defer conversation.end()
	if finding, err := say(conversation.Client, x, msg); err != nil {
		return met(err, finding, ctx.Err() != nil)
	}
	return Trial{}
}

// say gives a message to the server. The finding is the step that failed.
func say(c *smtp.Client, x Mail, msg *gomail.Msg) (Finding, error) {
	if err := c.Mail(x.From.Address); err != nil {
		return FoundSender, err
	}
	if err := c.Rcpt(x.To); err != nil {
		return FoundRelay, err
	}
	w, err := c.Data()
	if err != nil {
		return FoundMessage, err
	}
	_, err = msg.WriteTo(w)
	return FoundMessage, errors.Join(err, w.Close())
}

// met reads an error. step is what it means if the server refused.
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
	case strings.Contains(err.Error(), "does not support STARTTLS"): // the library has no other word for it
		return Trial{Finding: FoundNoStartTLS}
	case strings.Contains(err.Error(), "does not support SMTP AUTH"), errors.Is(err, gomail.ErrNoSupportedAuthDiscovered):
		return Trial{Finding: FoundNoPassword}
	case errors.As(err, &dns) && !dns.IsTimeout:
		return Trial{Finding: FoundNoHost}
	case late, errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return Trial{Finding: FoundTimeout}
	case errors.Is(err, syscall.ECONNREFUSED):
		return Trial{Finding: FoundNobody}
	case isTLS(err):
		return Trial{Finding: FoundOldTLS}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, net.ErrClosed):
		return Trial{Finding: FoundClosed}
	case errors.As(err, &network):
		return Trial{Finding: FoundNobody}
	}
	return Trial{Finding: FoundOther}
}

// refused is what an answer of the server means at a step. The codes about passwords are those of RFC 4954.
func refused(code int, step Finding) Finding {
	switch code {
	case 534, 535, 538:
		return FoundPassword
	case 530:
		return FoundNeedsPassword
	}
	return step
}

// inWords is what a server said, on one line that is not too long and has nothing in it that a page or a terminal would obey.
func inWords(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if r := []rune(s); len(r) > 300 {
		s = string(r[:300]) + "…"
	}
	return s
}
