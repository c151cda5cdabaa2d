package clinic

import (
	"fmt"

	"holdfast/engine/notice"
	"holdfast/engine/record"
	"holdfast/engine/token"
)

// MailServer returns the mail server choice. Its password is sealed for this server and this user.
func (cl *Clinic) MailServer(keys *token.Keys) *Choice[notice.Server] {
	return &Choice[notice.Server]{
		clinic: cl, keys: keys,
		changed: record.ActionSettingsMailChanged, resealed: record.ActionSettingsMailSealed,
		field:  func(s *Settings) **notice.Server { return &s.Mail },
		sealed: func(s *notice.Server) *string { return &s.Sealed },
		use: func(s *notice.Server) string {
			return fmt.Sprintf("mail server %s:%d %s %s", s.Host, s.Port, s.Encryption, s.User)
		},
		audited: func(s *notice.Server) any {
			return mailAudit{s.Host, s.Port, s.Encryption, s.User, s.Sealed != "", s.From}
		},
	}
}

// mailAudit describes a mail server in the audit log. It shows whether there is a password, but never the password
// itself.
type mailAudit struct {
	Host        string            `json:"host"`
	Port        int               `json:"port"`
	Encryption  notice.Encryption `json:"encryption"`
	User        string            `json:"user,omitempty"`
	PasswordSet bool              `json:"passwordSet"`
	From        string            `json:"from,omitempty"`
}
