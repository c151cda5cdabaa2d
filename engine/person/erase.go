package person

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// Erased is the result of an erasure.
type Erased struct {
	store.Erased
	MailFiles int // deleted files of emails
	// Copies of the data that someone must delete: email files that could not be deleted, and earlier copies.
	MailFilesLeft []string
	Copies        []Copy
}

// Copy is a copy of the data that an erasure leaves unchanged, such as a backup.
type Copy struct {
	Name   string
	MadeAt time.Time
}

// Erase blanks a person in appointments (a confirmed one stays booked), in all records about the person, and in emails
// that were written to files. The audit entry does not name the person. Errors: *ValidationError unless exactly one of
// the fields is given.
func (pe *People) Erase(ctx context.Context, actor record.Actor, p store.Person) (Erased, error) {
	p.Email, p.Phone = strings.TrimSpace(p.Email), strings.TrimSpace(p.Phone)
	given := 0
	for _, s := range []string{p.Email, p.Phone, p.Owner} {
		if s != "" {
			given++
		}
	}
	var m record.Mistakes
	if given != 1 {
		m.Add("email", "identify the person by exactly one of email, phone, clientId and appointmentId")
	}
	if p.Phone != "" {
		record.CheckPhone(&m, "phone", p.Phone)
	}
	if err := m.Err(); err != nil {
		return Erased{}, err
	}
	linked, err := pe.Linked(ctx, p)
	if err != nil {
		return Erased{}, err
	}
	return pe.erase(ctx, actor, p, linked, []string{p.Email})
}

// EraseOf erases the person in each of these appointments, with every spelling of that person. It does not erase other
// people who share an address or a number with them (PlanErasure).
//
// Errors: store.ErrNotFound, *ValidationError if one of them has already been erased.
func (pe *People) EraseOf(ctx context.Context, actor record.Actor, appointmentIDs ...string) (Erased, error) {
	var all store.Person
	var addresses, others []string
	for _, id := range appointmentIDs {
		x, err := pe.PlanErasure(ctx, id)
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
	return pe.erase(ctx, actor, all, nil, addresses)
}

// erase erases linked persons, then p, and then the emails to these addresses.
func (pe *People) erase(ctx context.Context, actor record.Actor, p store.Person, linked []store.Identity,
	addresses []string) (erased Erased, err error) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	var unlisted error
	var before store.Erased // of the linked persons
	if pe.options.Copies != nil {
		erased.Copies, unlisted = pe.options.Copies()
	}
	release, err := pe.options.Hooks.BeforeErase(ctx)
	if err != nil {
		return erased, err
	}
	if len(linked) > 0 {
		before, err = pe.store.Erase(ctx, store.Person{Of: linked}, now, func(tx store.Tx, blanked store.Erased) error {
			return record.Audit(ctx, tx, now, actor, record.ActionPersonErased, "person", "", nil,
				map[string]int{"appointments": blanked.Appointments})
		})
		if err != nil {
			return erased, err
		}
	}
	erased.Erased, err = pe.store.Erase(ctx, p, now, func(tx store.Tx, blanked store.Erased) error {
		erased.Erased = blanked
		erased.Add(before)
		if err := record.Audit(ctx, tx, now, actor, record.ActionPersonErased, "person", "", nil,
			map[string]int{"appointments": erased.Appointments}); err != nil {
			return err
		}
		return record.OnceOf(ctx).Remember(ctx, tx, erased, now)
	})
	if err != nil {
		return erased, err
	}
	erased.Add(before)
	pe.options.Records.ForgetAnswers()
	release(context.WithoutCancel(ctx))
	if mailer := pe.options.Mailer; mailer != nil {
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
	if pe.options.Queue != nil { // the payload of a notice can contain personal data
		err = pe.options.Queue.Erase(context.WithoutCancel(ctx), erased.OperationIDs...)
	}
	return erased, errors.Join(err, unlisted)
}
