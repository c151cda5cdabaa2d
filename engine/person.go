package engine

import (
	"context"
	"errors"
	"slices"
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
		m.Add("email", "name the person by exactly one of email, phone, clientId and appointmentId")
	}
	if p.Phone != "" {
		record.CheckPhone(&m, "phone", p.Phone)
	}
	if err := m.Err(); err != nil {
		return Erased{}, err
	}
	linked, err := e.Person.Linked(ctx, p)
	if err != nil {
		return Erased{}, err
	}
	return e.erase(ctx, actor, p, linked, []string{p.Email})
}

// ErasePeople erases the person of each of some appointments, with every spelling of that person, and nobody else who shares an
// address or a number with them (PlanErasure).
//
// Errors: store.ErrNotFound, *ValidationError where one of them was erased already.
func (e *Engine) ErasePeople(ctx context.Context, actor record.Actor, appointmentIDs ...string) (Erased, error) {
	var all store.Person
	var addresses, others []string
	for _, id := range appointmentIDs {
		x, err := e.Person.PlanErasure(ctx, id)
		if err != nil {
			return Erased{}, err
		}
		all.Of = append(all.Of, x.Of...)
		for i := range x.Of {
			addresses = append(addresses, x.Of[i].Email)
		}
		for i := range x.Sharing {
			if !x.Sharing[i].IsOneOf(all, nil) {
				others = append(others, store.Fold(x.Sharing[i].Email))
			}
		}
	}
	addresses = slices.DeleteFunc(addresses, func(a string) bool { return slices.Contains(others, store.Fold(a)) })
	return e.erase(ctx, actor, all, nil, addresses)
}

// erase erases a person, those who are linked with them before, and the mail to these addresses.
func (e *Engine) erase(ctx context.Context, actor record.Actor, p store.Person, linked []store.Identity, addresses []string) (erased Erased, err error) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	var unlisted error
	var before store.Erased // of those who are linked with the person
	if e.options.Copies != nil {
		erased.Copies, unlisted = e.options.Copies()
	}
	offered, err := e.store.OpenWaitlistOffers(ctx)
	if err != nil {
		return erased, err
	}
	asked, err := e.Request.List(ctx)
	if err != nil {
		return erased, err
	}
	if len(linked) > 0 {
		before, err = e.store.Erase(ctx, store.Person{Of: linked}, now, func(tx store.Tx, blanked store.Erased) error {
			return record.Audit(ctx, tx, now, actor, "person.erased", "person", "", nil, map[string]int{"appointments": blanked.Appointments})
		})
		if err != nil {
			return erased, err
		}
	}
	erased.Erased, err = e.store.Erase(ctx, p, now, func(tx store.Tx, blanked store.Erased) error {
		erased.Erased = blanked
		erased.Add(before)
		if err := record.Audit(ctx, tx, now, actor, "person.erased", "person", "", nil, map[string]int{"appointments": erased.Appointments}); err != nil {
			return err
		}
		return record.OnceOf(ctx).Remember(ctx, tx, erased, now)
	})
	if err != nil {
		return erased, err
	}
	erased.Add(before)
	e.Record.ForgetAnswers()
	e.Waitlist.ReleaseErased(context.WithoutCancel(ctx), offered)
	e.Request.ReleaseErased(context.WithoutCancel(ctx), asked)
	if mailer := e.options.Notices.Mailer; mailer != nil {
		erased.MailFiles, erased.MailFilesLeft = mailer.Remove(erased.OperationIDs, "")
		for _, address := range addresses {
			if address == "" {
				continue
			}
			n, left := mailer.Remove(nil, address)
			erased.MailFiles, erased.MailFilesLeft = erased.MailFiles+n, append(erased.MailFilesLeft, left...)
		}
		slices.Sort(erased.MailFilesLeft)
		erased.MailFilesLeft = slices.Compact(erased.MailFilesLeft)
	}
	if e.Outbound.Queue != nil {
		// The queue holds nothing about a person by itself; what a notice carries there goes now.
		err = e.Outbound.Queue.Erase(context.WithoutCancel(ctx), erased.OperationIDs...)
	}
	return erased, errors.Join(err, unlisted)
}
