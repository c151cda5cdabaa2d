package noticetest

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Script is a mail server for tests that can encrypt and require a password. The zero value accepts every message,
// unencrypted.
type Script struct {
	Address     string            // host:port; empty means a free port of 127.0.0.1
	Certificate *tls.Certificate  // if nil, it does not encrypt
	TLS         bool              // encrypted from the first byte
	User        string            // required, with Password, to send mail. Empty means that no password is required
	Password    string            //
	Answers     map[string]string // by command, such as RCPT; "" closes the connection. GREETING is the first line
	Silent      bool              // it accepts connections and never responds
	Taken       func(message string)
	Refused     func(message string) bool // whether to refuse a message for now, with 451, before Taken; nil means no
	Commands    func(word string)         // receives GREETING for each connection, and then each command
	PerSession  int                       // messages after which it closes the connection; if it is 0, it does not
}

// Serve runs the server until the test ends, and returns its host:port.
func (s *Script) Serve(t testing.TB) string {
	t.Helper()
	if s.Address == "" {
		s.Address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", s.Address)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	open, stop := context.WithCancel(context.Background())
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer context.AfterFunc(open, func() { conn.Close() })()
				s.talk(conn)
			})
		}
	})
	t.Cleanup(func() { l.Close(); stop(); serving.Wait() })
	return l.Addr().String()
}

// talk serves one connection.
func (s *Script) talk(conn net.Conn) {
	defer func() { conn.Close() }()
	encrypted, known := s.TLS, s.User == ""
	if s.TLS {
		conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*s.Certificate}})
	}
	lines := bufio.NewScanner(conn)
	if s.Silent {
		lines.Scan()
		return
	}
	word, reply, taken := "GREETING", "220 ready", 0
	for {
		if s.Commands != nil && word != "MESSAGE" {
			s.Commands(word)
		}
		if answer, said := s.Answers[word]; said {
			if reply = answer; reply == "" {
				return
			}
		}
		if _, err := fmt.Fprintf(conn, "%s\r\n", reply); err != nil || word == "QUIT" {
			return
		}
		if word == "MESSAGE" {
			if taken++; taken == s.PerSession {
				return
			}
		}
		if word == "STARTTLS" && s.Certificate != nil {
			conn, encrypted = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*s.Certificate}}), true
			lines = bufio.NewScanner(conn)
		}
		if word == "DATA" && strings.HasPrefix(reply, "354") {
			var message strings.Builder
			for lines.Scan() && lines.Text() != "." {
				message.WriteString(lines.Text() + "\n")
			}
			word, reply = "MESSAGE", "250 taken"
			if s.Refused != nil && s.Refused(message.String()) {
				reply = "451 4.3.0 try again later"
			} else if s.Taken != nil {
				s.Taken(message.String())
			}
			continue
		}
		if !lines.Scan() {
			return
		}
		word, _, _ = strings.Cut(strings.ToUpper(lines.Text()), " ")
		reply = s.reply(word, lines, &encrypted, &known)
	}
}

// reply returns a mail server's response to a command.
func (s *Script) reply(word string, lines *bufio.Scanner, encrypted, known *bool) string {
	switch word {
	case "EHLO":
		said := "250-here"
		if s.Certificate != nil && !*encrypted {
			said += "\r\n250-STARTTLS"
		}
		if s.User != "" {
			said += "\r\n250-AUTH PLAIN"
		}
		return said + "\r\n250 8BITMIME"
	case "STARTTLS":
		return "220 go on"
	case "AUTH":
		if *known = strings.HasSuffix(lines.Text(), PlainAuth(s.User, s.Password)); *known {
			return "235 welcome"
		}
		return "535 5.7.8 Username and password not accepted"
	case "MAIL":
		if !*known {
			return "530 5.7.0 Authentication required"
		}
	case "DATA":
		return "354 go"
	case "QUIT":
		return "221 bye"
	}
	return "250 ok"
}

// Certified creates a self-signed certificate for these names, and a pool that trusts it.
func Certified(t testing.TB, until time.Time, names ...string) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a mail server of a test"},
		NotBefore: until.Add(-24 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			about.IPAddresses = append(about.IPAddresses, ip)
		} else {
			about.DNSNames = append(about.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}
