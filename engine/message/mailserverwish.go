package message

import (
	"net/mail"
	"net/netip"
	"slices"
	"strings"

	"holdfast/engine/notice"
	"holdfast/engine/record"
)

// MailServerWish is a mail server as entered by an owner.
type MailServerWish struct {
	Host       string
	Port       int
	Encryption notice.Encryption
	User       string // if empty, the server accepts emails without a password
	Password   string // empty means the stored one for this server and this user
	From       string // empty means the clinic's own address
}

// ports are the ports that mail servers accept mail on. No other ports are allowed, so that the page cannot be used to
// scan the clinic's network.
var ports = []int{25, 465, 587, 2525}

// complete checks a mail server and finds its password: the one that was entered or, if that is empty, the stored one
// for the same server and user. Errors: *record.ValidationError.
func (ch *MailServer) complete(w MailServerWish, before *notice.Server) (_ *notice.Server, password string, _ error) {
	var m record.Mistakes
	s := &notice.Server{
		Host: strings.ToLower(strings.TrimSpace(w.Host)), Port: w.Port, Encryption: w.Encryption,
		User: strings.TrimSpace(w.User), From: strings.TrimSpace(w.From),
	}
	if !isHost(s.Host) {
		m.Add("host", "must be the name of a mail server only, such as smtp.example.org")
	}
	if !slices.Contains(ports, s.Port) {
		m.Add("port", "must be 587 (STARTTLS), 465 (TLS), 25 or 2525")
	}
	record.CheckText(&m, "user", s.User, 200, false)
	record.CheckText(&m, "password", w.Password, 500, false)
	switch s.Encryption {
	case notice.StartTLS, notice.TLS:
	case notice.NoTLS:
		if s.User != "" {
			m.Add("encryption", "the password would be sent unencrypted: choose STARTTLS or TLS, or omit the user")
		}
	default:
		m.Add("encryption", "must be starttls, tls or none")
	}
	ch.checkFrom(&m, s.From)
	if s.User != "" {
		password = ch.choice.SecretFor(&m, s, before, "password", w.Password,
			"is missing: the stored password belongs to a different server or user")
	}
	return s, password, m.Err()
}

// checkFrom refuses a sender that is not an address. It also refuses an empty sender if the clinic has no email
// address.
func (ch *MailServer) checkFrom(m *record.Mistakes, from string) {
	if from == "" {
		if ch.messages.SenderFromStart() == "" && ch.clinic.Schedule().Clinic.Email == "" {
			m.Add("from", "enter a sender address: the clinic has no email address")
		}
		return
	}
	record.CheckText(m, "from", from, 300, false)
	a, err := mail.ParseAddress(from)
	if err != nil || strings.HasSuffix(strings.ToLower(a.Address), ".invalid") {
		m.Add("from", "must be an address, such as post@example.org or Harbour Clinic <post@example.org>")
	}
}

// isHost reports whether s is an IP address or a host name.
func isHost(s string) bool {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Zone() == "" && !a.IsUnspecified() && !a.IsMulticast()
	}
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || strings.Trim(label, "-") != label ||
			label == "" || len(label) > 63 {
			return false
		}
	}
	return true
}
