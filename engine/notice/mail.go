package notice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Mail is one message, in plain text and as HTML, with a calendar file where it is about a time.
type Mail struct {
	ID             string // becomes the Message-ID, at the domain of From, so that a repeat is recognised as the same message
	To, ToName     string
	From           mail.Address // of the clinic
	ReplyTo        string       // empty: answers go to From
	Language       string       // of the text, such as "de"; empty: not said
	Subject, Text  string
	HTML           string // says the same as Text; empty: there is no such part
	Calendar       []byte // an iCalendar object; nil: none
	CalendarMethod string // of Calendar, such as REQUEST: what a mail program does with it (RFC 6047)
}

// MailOptions say where mail goes. The zero value of URL writes files.
type MailOptions struct {
	// URL of the SMTP server: smtp://user:password@host:587 (STARTTLS where the server has it, and always before a
	// password is sent) or smtps://user:password@host:465. Empty: every message becomes an .eml file in Dir.
	URL string
	// Dir is the folder for .eml files; it is made if it is missing.
	Dir string
	// Timeout of one delivery. Default 20 s.
	Timeout time.Duration
}

// Mailer delivers mail. It is safe for concurrent use.
type Mailer struct {
	options MailOptions
	server  *url.URL
	port    int
}

// NewMailer checks the options. It does not connect.
func NewMailer(o MailOptions) (*Mailer, error) {
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	m := &Mailer{options: o}
	if o.URL == "" {
		return m, nil
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, errors.New("the SMTP address should be smtp://user:password@host:587 or smtps://user:password@host:465")
	}
	m.server, m.port = u, 587
	if u.Scheme == "smtps" {
		m.port = 465
	}
	if p := u.Port(); p != "" {
		if m.port, err = strconv.Atoi(p); err != nil || m.port < 1 || m.port > 65535 {
			return nil, errors.New("the SMTP port should be a number from 1 to 65535")
		}
	}
	return m, nil
}

// ToFiles reports whether mail is written to files because no server is configured.
func (m *Mailer) ToFiles() bool { return m.server == nil }

// Send delivers one message.
func (m *Mailer) Send(ctx context.Context, x Mail) error {
	msg, err := message(x)
	if err != nil {
		return err
	}
	if m.server == nil {
		return m.write(x.ID, msg)
	}
	options := []gomail.Option{gomail.WithPort(m.port), gomail.WithTimeout(m.options.Timeout)}
	if m.server.Scheme == "smtps" {
		options = append(options, gomail.WithSSL())
	} else {
		options = append(options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	}
	if user := m.server.User; user != nil {
		password, _ := user.Password()
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(user.Username()), gomail.WithPassword(password))
		if m.server.Scheme == "smtp" {
			options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
		}
	}
	client, err := gomail.NewClient(m.server.Hostname(), options...)
	if err != nil {
		return permanent("the SMTP server cannot be used as it is configured")
	}
	ctx, cancel := context.WithTimeout(ctx, m.options.Timeout)
	defer cancel()
	conversation, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return dialError(err)
	}
	// What was taken is taken, whatever becomes of the farewell.
	defer func() { _ = client.CloseWithSMTPClient(conversation) }()
	if err := client.SendWithSMTPClient(conversation, msg); err != nil {
		return sendError(err)
	}
	return nil
}

// dialError says in words why no conversation with the mail server came about. A mail server that answered was reached.
func dialError(err error) error {
	var answer *textproto.Error
	switch {
	case errors.As(err, &answer):
		return fmt.Errorf("the mail server refused the connection or the password (%d)", answer.Code)
	case isTLS(err):
		return errors.New("the mail server's certificate is not valid, or it does not encrypt")
	case isNetwork(err):
		return &Unreachable{errors.New("the mail server could not be reached")}
	}
	return errors.New("the mail server cannot be used as it is configured")
}

// isNetwork reports whether the connection failed, and not what was said over it.
func isNetwork(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// sendError says in words what became of a delivery; the library's own text can name the recipient.
func sendError(err error) error {
	var s *gomail.SendError
	if errors.As(err, &s) {
		if code := s.ErrorCode(); code >= 500 && code < 600 {
			return permanent(fmt.Sprintf("the mail server refused the message for good (%d)", code))
		} else if code > 0 {
			return fmt.Errorf("the mail server did not take the message (%d)", code)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the mail server did not answer in time")
	}
	return errors.New("the connection to the mail server was lost")
}

func message(x Mail) (*gomail.Msg, error) {
	msg := gomail.NewMsg()
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
		// Programs act on the part, the last of the alternatives and thereby the best (RFC 6047); where one does not, there is a file.
		msg.AddAlternativeString(gomail.ContentType("text/calendar; method="+x.CalendarMethod), string(x.Calendar))
		err := msg.AttachReader("appointment.ics", bytes.NewReader(x.Calendar), gomail.WithFileContentType("application/ics"))
		if err != nil {
			return nil, permanent("the calendar file could not be attached")
		}
	}
	return msg, nil
}
