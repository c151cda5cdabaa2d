package notice

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/textproto"
	"os"
	"strings"
	"sync/atomic"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Mail is one message, in plain text and HTML. A message about an appointment also has a calendar file.
type Mail struct {
	// becomes the Message-ID, in the domain of From, so that a repeat is recognized as the same message
	ID             string
	To, ToName     string
	From           mail.Address // the clinic's sender
	ReplyTo        string       // empty means replies go to From
	Language       string       // of the text, such as "de"; empty means not set
	Subject, Text  string
	HTML           string // the same content as Text; empty means no HTML part
	Calendar       []byte // an iCalendar object; nil means none
	CalendarMethod string // of Calendar, such as REQUEST: what the mail program does with it (RFC 6047)
}

// MailOptions configure a Mailer. If the URL is empty, the Mailer writes files.
type MailOptions struct {
	// URL of the SMTP server: smtp://user:password@host:587 (STARTTLS if the server supports it, and always before a
	// password is sent) or smtps://user:password@host:465. Empty means the server set with Use. If there is none, every
	// message becomes an .eml file in Dir.
	URL string
	// Dir is the folder for .eml files. It is created if it is missing.
	Dir string
	// Timeout is the time limit for a delivery, and for the wait for a free connection. Default: 20 s.
	Timeout time.Duration
	// Roots are the certificate authorities trusted for mail servers. Nil means the authorities that this machine
	// trusts.
	Roots *x509.CertPool
}

// Mailer delivers mail. It is safe for concurrent use.
type Mailer struct {
	options MailOptions
	given   *route // from URL; it takes precedence over the route set with Use
	chosen  atomic.Pointer[route]

	places   chan struct{} // one slot for each session that may be in use
	sessions sessions
}

// NewMailer checks the options. It does not connect.
func NewMailer(o MailOptions) (*Mailer, error) {
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	m := &Mailer{options: o, places: make(chan struct{}, maxSessions)}
	if o.URL == "" {
		return m, nil
	}
	var err error
	if m.given, err = parseRoute(o.URL); err != nil {
		return nil, err
	}
	return m, nil
}

// ToFiles reports whether emails are written to files because no server is configured.
func (m *Mailer) ToFiles() bool { return m.route() == nil }

// Send delivers one message. *Permanent: a retry is useless. *Unreachable: nothing was sent. After any other error, the
// message can also be retried.
func (m *Mailer) Send(ctx context.Context, x Mail) error {
	msg, err := message(x)
	if err != nil {
		return err
	}
	r := m.route()
	if r == nil {
		return m.write(x.ID, msg)
	}
	if r.broken != nil {
		return &Unreachable{r.broken}
	}
	ctx, cancel := context.WithTimeout(ctx, m.options.Timeout)
	defer cancel()
	select {
	case m.places <- struct{}{}:
		defer func() { <-m.places }()
	case <-ctx.Done():
		return &Unreachable{errors.New("no connection to the mail server became free in time")}
	}
	for {
		session, fresh, err := m.session(ctx, r)
		switch {
		case IsPermanent(err):
			return err
		case err != nil:
			return dialError(err)
		}
		step, err := say(session.Client, msg)
		if err == nil {
			m.sessions.put(session)
			return nil
		}
		hangUp(session.Client)
		if fresh || step != FoundSender {
			return sendError(err)
		}
		// The server has closed the idle session or accepts no more messages over it. Nothing was sent.
	}
}

// dialError converts a failure to connect to the mail server into a user-facing error. If the server responded, the
// error is not an *Unreachable.
func dialError(err error) error {
	var answer *textproto.Error
	switch {
	case errors.As(err, &answer):
		return fmt.Errorf("the mail server refused the connection or the password (%d)", answer.Code)
	case isTLS(err):
		return errors.New("the mail server's certificate is not valid, or the server does not encrypt")
	case isNetwork(err):
		return &Unreachable{errors.New("the mail server could not be reached")}
	}
	return errors.New("the mail server is not configured correctly")
}

// isNetwork reports whether the connection itself failed, rather than the protocol used over it.
func isNetwork(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded)
}

// sendError converts a failed delivery into a user-facing error. It does not quote the server, because the server's own
// text can contain the recipient.
func sendError(err error) error {
	var answer *textproto.Error
	switch {
	case errors.As(err, &answer) && answer.Code >= 500:
		return permanent(fmt.Sprintf("the mail server rejected the message permanently (%d)", answer.Code))
	case errors.As(err, &answer):
		return fmt.Errorf("the mail server did not accept the message (%d)", answer.Code)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("the mail server did not respond in time")
	}
	return errors.New("the connection to the mail server was lost")
}

func message(x Mail) (*gomail.Msg, error) {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := msg.FromFormat(x.From.Name, x.From.Address); err != nil {
		return nil, permanent("the sender address of the clinic cannot be used")
	}
	if err := msg.AddToFormat(x.ToName, x.To); err != nil {
		return nil, permanent("the recipient's address cannot be used")
	}
	if x.ReplyTo != "" {
		if err := msg.ReplyTo(x.ReplyTo); err != nil {
			return nil, permanent("the clinic's own address cannot be used for replies")
		}
	}
	msg.Subject(x.Subject)
	_, domain, _ := strings.Cut(x.From.Address, "@")
	msg.SetMessageIDWithValue(x.ID + "@" + domain)
	msg.SetDate()
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no out-of-office replies
	if x.Language != "" {
		msg.SetGenHeader("Content-Language", x.Language)
	}
	msg.SetBodyString(gomail.TypeTextPlain, x.Text)
	if x.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, x.HTML)
	}
	if x.Calendar != nil {
		// Mail programs use the calendar part, which comes last because the last alternative is the preferred one (RFC
		// 6047). The attached file is for other programs.
		msg.AddAlternativeString(gomail.ContentType("text/calendar; method="+x.CalendarMethod), string(x.Calendar))
		err := msg.AttachReader("appointment.ics", bytes.NewReader(x.Calendar),
			gomail.WithFileContentType("application/ics"))
		if err != nil {
			return nil, permanent("the calendar file could not be attached")
		}
	}
	return msg, nil
}
