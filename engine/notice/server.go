package notice

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// Encryption is how the connection to a mail server is encrypted.
type Encryption string

// The kinds of encryption.
const (
	StartTLS Encryption = "starttls" // begins unencrypted and must then switch to TLS; usually port 587
	TLS      Encryption = "tls"      // encrypted from the first byte; usually port 465
	NoTLS    Encryption = "none"     // never encrypted: for a relay in the clinic's own network. No password is sent
	// opportunistic is the mode of an smtp:// address without a password: encrypted only if the server supports it.
	opportunistic Encryption = "opportunistic"
)

// Server is a mail server that the clinic has chosen, in its stored form.
type Server struct {
	Host       string     `json:"host"`
	Port       int        `json:"port"`
	Encryption Encryption `json:"encryption"`
	User       string     `json:"user,omitempty"`           // if empty, the server accepts mail without a password
	Sealed     string     `json:"sealedPassword,omitempty"` // with the keys of this server; see token.Keyring.Seal
	From       string     `json:"from,omitempty"`           // sender; empty means the clinic's own address
}

// route is the server that a Mailer uses, ready for connections.
type route struct {
	host       string
	port       int
	encryption Encryption
	user       string
	password   string
	broken     error // why it cannot be used; nil if it is usable
}

// parseRoute parses the URL of MailOptions.
func parseRoute(address string) (*route, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, errors.New("the SMTP address must be smtp://user:password@host:587 or " +
			"smtps://user:password@host:465")
	}
	r := &route{host: u.Hostname(), port: 587, encryption: opportunistic}
	if u.User != nil {
		r.user, r.encryption = u.User.Username(), StartTLS
		r.password, _ = u.User.Password()
	}
	if u.Scheme == "smtps" {
		r.port, r.encryption = 465, TLS
	}
	if p := u.Port(); p != "" {
		if r.port, err = strconv.Atoi(p); err != nil || r.port < 1 || r.port > 65535 {
			return nil, errors.New("the SMTP port must be a number from 1 to 65535")
		}
	}
	return r, nil
}

// errSealed means that the password was sealed with keys that this server does not have.
var errSealed = errors.New(
	"the password of the mail server cannot be read with the keys of this server: an owner must enter the password " +
		"again in the settings",
)

// Use sets the server that the clinic has chosen, starting with the next email. If it is nil, emails are written to
// files again. If isReadable is false, the password could not be read, and emails wait. A server from MailOptions.URL
// takes precedence.
func (m *Mailer) Use(s *Server, password string, isReadable bool) {
	if s == nil {
		m.chosen.Store(nil)
		return
	}
	r := &route{host: s.Host, port: s.Port, encryption: s.Encryption, user: s.User, password: password}
	if !isReadable {
		r.broken = errSealed
	}
	m.chosen.Store(r)
}

// Given returns the server from MailOptions.URL, without its password, or nil if there is none.
func (m *Mailer) Given() *Server {
	if m.given == nil {
		return nil
	}
	return &Server{Host: m.given.host, Port: m.given.port, Encryption: m.given.encryption, User: m.given.user}
}

// route returns the server to use now. If it is nil, emails are written to files.
func (m *Mailer) route() *route {
	if m.given != nil {
		return m.given
	}
	return m.chosen.Load()
}

// hangUp ends an SMTP session. A message that the server has accepted stays accepted, so hangUp ignores errors. It also
// closes the connection, because Quit leaves it open if the server does not respond.
func hangUp(c *smtp.Client) {
	_ = c.Quit()
	_ = c.Close()
}

// dial opens a session with a route's server. If that fails, dial closes the connection, because the library leaves it
// open.
func (m *Mailer) dial(ctx context.Context, r *route) (*smtp.Client, error) {
	options := []gomail.Option{
		gomail.WithPort(r.port), gomail.WithTimeout(m.options.Timeout),
		gomail.WithTLSConfig(&tls.Config{ServerName: r.host, RootCAs: m.options.Roots, MinVersion: tls.VersionTLS12}),
	}
	var connection net.Conn
	if r.encryption == TLS {
		// the library dials by itself, and closes the connection if the TLS handshake fails
		options = append(options, gomail.WithSSL())
	} else {
		policy := map[Encryption]gomail.TLSPolicy{StartTLS: gomail.TLSMandatory, NoTLS: gomail.NoTLS,
			opportunistic: gomail.TLSOpportunistic}[r.encryption]
		options = append(options, gomail.WithTLSPolicy(policy),
			gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
				var err error
				connection, err = new(net.Dialer).DialContext(ctx, network, address)
				return connection, err
			}))
	}
	if r.user != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(r.user),
			gomail.WithPassword(r.password))
	}
	library, err := gomail.NewClient(r.host, options...)
	if err != nil {
		return nil, permanent("the SMTP server is not configured correctly")
	}
	client, err := library.DialToSMTPClientWithContext(ctx)
	if err != nil {
		if connection != nil {
			_ = connection.Close()
		}
		return nil, err
	}
	return client, nil
}
