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

// Encryption is how the way to a mail server is kept from being read.
type Encryption string

// The ways to encrypt.
const (
	StartTLS Encryption = "starttls" // begins in the clear and goes on encrypted, or not at all; usually port 587
	TLS      Encryption = "tls"      // from the first byte; usually port 465
	NoTLS    Encryption = "none"     // never: for a relay in the clinic's own network. No password is sent
	// opportunistic is that of an smtp:// address without a password: encrypted where the server can.
	opportunistic Encryption = "opportunistic"
)

// Server is a mail server that the clinic has chosen, as it is remembered.
type Server struct {
	Host       string     `json:"host"`
	Port       int        `json:"port"`
	Encryption Encryption `json:"encryption"`
	User       string     `json:"user,omitempty"`           // empty: it takes mail without a password
	Sealed     string     `json:"sealedPassword,omitempty"` // by the server's keys; see token.Keyring.Seal
	From       string     `json:"from,omitempty"`           // sender; empty: the clinic's own address
}

// route is how mail leaves: the server of a Mailer, ready to be used.
type route struct {
	host       string
	port       int
	encryption Encryption
	user       string
	password   string
	broken     error // why it cannot be used; nil: it can
}

// parseRoute reads the address of MailOptions.
func parseRoute(address string) (*route, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, errors.New("the SMTP address should be smtp://user:password@host:587 or smtps://user:password@host:465")
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
			return nil, errors.New("the SMTP port should be a number from 1 to 65535")
		}
	}
	return r, nil
}

// errSealed: what was sealed by keys that this server does not have any more.
var errSealed = errors.New("the password of the mail server cannot be read with the keys of this server: an owner has to type it again, in the settings")

// Use has mail go to the server that the clinic has chosen, from the next one on; nil: to the files again. With isReadable false its
// password could not be read, and mail waits. Where the mailer was given an address, that stays.
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

// Given is the server that the mailer was given an address of, without its password; nil: none.
func (m *Mailer) Given() *Server {
	if m.given == nil {
		return nil
	}
	return &Server{Host: m.given.host, Port: m.given.port, Encryption: m.given.encryption, User: m.given.user}
}

// route is how mail leaves now; nil: into files.
func (m *Mailer) route() *route {
	if m.given != nil {
		return m.given
	}
	return m.chosen.Load()
}

// conversation is one with a mail server.
type conversation struct {
	*smtp.Client
	library *gomail.Client
}

// end says farewell. What was taken is taken, whatever becomes of that; the library leaves open what says nothing to it.
func (c *conversation) end() {
	_ = c.library.CloseWithSMTPClient(c.Client)
	_ = c.Client.Close()
}

// dial begins a conversation over a route. What did not become one is closed: the library leaves it open.
func (m *Mailer) dial(ctx context.Context, r *route) (*conversation, error) {
	options := []gomail.Option{
		gomail.WithPort(r.port), gomail.WithTimeout(m.options.Timeout),
		gomail.WithTLSConfig(&tls.Config{ServerName: r.host, RootCAs: m.options.Roots, MinVersion: tls.VersionTLS12}),
	}
	var connection net.Conn
	if r.encryption == TLS {
		options = append(options, gomail.WithSSL()) // which dials by itself, and closes what does not become encrypted
	} else {
		policy := map[Encryption]gomail.TLSPolicy{StartTLS: gomail.TLSMandatory, NoTLS: gomail.NoTLS, opportunistic: gomail.TLSOpportunistic}[r.encryption]
		options = append(options, gomail.WithTLSPolicy(policy), gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
			var err error
			connection, err = new(net.Dialer).DialContext(ctx, network, address)
			return connection, err
		}))
	}
	if r.user != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(r.user), gomail.WithPassword(r.password))
	}
	library, err := gomail.NewClient(r.host, options...)
	if err != nil {
		return nil, permanent("the SMTP server cannot be used as it is configured")
	}
	client, err := library.DialToSMTPClientWithContext(ctx)
	if err != nil {
		if connection != nil {
			_ = connection.Close()
		}
		return nil, err
	}
	return &conversation{client, library}, nil
}
