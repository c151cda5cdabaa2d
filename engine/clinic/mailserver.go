package clinic

import (
	"context"

	"holdfast/engine/notice"
	"holdfast/engine/record"
	"holdfast/store"
)

// Audit actions for changes of the mail server.
const (
	MailServerChanged = record.ActionSettingsMailChanged
	MailServerSealed  = record.ActionSettingsMailSealed // the same password, sealed with a newer key
)

// mailAudit is a mail server in the audit log. It shows whether there is a password, but never the password.
type mailAudit struct {
	Host        string            `json:"host"`
	Port        int               `json:"port"`
	Encryption  notice.Encryption `json:"encryption"`
	User        string            `json:"user,omitempty"`
	PasswordSet bool              `json:"passwordSet"`
	From        string            `json:"from,omitempty"`
}

func mailAudited(s *notice.Server) any {
	if s == nil {
		return nil
	}
	return mailAudit{s.Host, s.Port, s.Encryption, s.User, s.Sealed != "", s.From}
}

// ChangeMailServer calls edit with the chosen mail server and stores the result; nil means none. Errors: those of
// edit.
func (cl *Clinic) ChangeMailServer(ctx context.Context, actor record.Actor, action record.Action,
	edit func(before *notice.Server) (*notice.Server, error)) error {
	return cl.changeChoice(ctx, actor, action, func(s *Settings) (before, after any, err error) {
		before = mailAudited(s.Mail)
		s.Mail, err = edit(s.Mail)
		return before, mailAudited(s.Mail), err
	})
}

// changeChoice calls edit to change a part of the settings that contains a secret. edit returns the values before and
// after for the audit log.
func (cl *Clinic) changeChoice(ctx context.Context, actor record.Actor, action record.Action,
	edit func(*Settings) (before, after any, err error)) error {
	c := ScheduleChange{Actor: actor, Action: action, Subject: "clinic"}
	return cl.changeStored(ctx, &c, func(tx store.Tx, s *store.Schedule) error {
		settings, err := readSettings(s.Clinic.Settings)
		if err != nil {
			return err
		}
		if c.before, c.after, err = edit(&settings); err != nil {
			return err
		}
		if s.Clinic.Settings, err = settings.stored(); err != nil {
			return err
		}
		return tx.PutClinic(ctx, s.Clinic)
	})
}
