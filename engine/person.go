package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// Erased is what became of a person's traces.
type Erased struct {
	store.Erased
	MailFiles int // files of mail that went
	// What is left, for a person to see to: files of mail that could not be deleted, and copies of the data made before.
	MailFilesLeft []string
	Copies        []Copy
}

// Copy is a copy of the data that erasure does not reach, such as a backup.
type Copy struct {
	Name   string
	MadeAt time.Time
}

// Erase blanks a person everywhere: in appointments (a confirmed one keeps its time), in what was recorded about them, and
// in mail that was written to files. It is audited without saying who. *ValidationError unless exactly one of the fields
// is given.
func (e *Engine) Erase(ctx context.Context, actor record.Actor, p store.Person) (Erased, error) {
	p.Email, p.Phone = strings.TrimSpace(p.Email), strings.TrimSpace(p.Phone)
	given := 0
	for _, s := range []string{p.Email, p.Phone, p.Owner} {
		if s != "" {
			given++
		}
	}
	var m record.Mistakes
	if given != 1 {
		m.Add("email", "name the person by exactly one of email, phone and clientId")
	}
	if p.Phone != "" {
		record.CheckPhone(&m, "phone", p.Phone)
	}
	if err := m.Err(); err != nil {
		return Erased{}, err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	var erased Erased
	var unlisted error
	if e.options.Copies != nil {
		erased.Copies, unlisted = e.options.Copies()
	}
	var err error
	erased.Erased, err = e.store.Erase(ctx, p, now, func(tx store.Tx, blanked store.Erased) error {
		erased.Erased = blanked
		if err := record.Audit(ctx, tx, now, actor, "person.erased", "person", "", nil, map[string]int{"appointments": erased.Appointments}); err != nil {
			return err
		}
		return record.OnceOf(ctx).Remember(ctx, tx, erased, now)
	})
	if err != nil {
		return erased, err
	}
	e.ForgetAnswers()
	if mailer := e.options.Notices.Mailer; mailer != nil {
		erased.MailFiles, erased.MailFilesLeft = mailer.Remove(erased.OperationIDs, p.Email)
	}
	if e.Outbound.Queue != nil {
		// The queue holds nothing about a person by itself; what a notice carries there goes now.
		err = e.Outbound.Queue.Erase(context.WithoutCancel(ctx), erased.OperationIDs...)
	}
	return erased, errors.Join(err, unlisted)
}
