package clinic

import (
	"context"

	"holdfast/engine/notice"
	"holdfast/engine/record"
	"holdfast/store"
)

// What can be done to the choice of a mail server, as the audit log names it.
const (
	MailServerChanged = record.ActionSettingsMailChanged
	MailServerSealed  = record.ActionSettingsMailSealed // the same password under a newer key
)

// mailAudit is what the audit log keeps of a mail server: whether there is a password, and never which.
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

// ChangeMailServer lets edit make another choice of the one before; nil is none. Errors: those of edit.
func (cl *Clinic) ChangeMailServer(ctx context.Context, actor record.Actor, action record.Action, edit func(before *notice.Server) (*notice.Server, error)) error {
	return cl.changeChoice(ctx, actor, action, func(s *Settings) (before, after any, err error) {
		before = mailAudited(s.Mail)
		s.Mail, err = edit(s.Mail)
		return before, mailAudited(s.Mail), err
	})
}

// changeChoice lets edit change a part of the settings that has a secret, and say what the audit log keeps of it.
func (cl *Clinic) changeChoice(ctx context.Context, actor record.Actor, action record.Action, edit func(*Settings) (before, after any, err error)) error {
	cl.schedule.change.Lock()
	defer cl.schedule.change.Unlock()
	c := ScheduleChange{Actor: actor, Action: action, Subject: "clinic"}
	return cl.ChangeSchedule(ctx, &c, func(tx store.Tx) error {
		s, err := StoredSchedule(ctx, tx)
		if err != nil {
			return err
		}
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
