package agent

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/engine/upstream"
)

// # Look-ups in the practice system
//
// A caller without an appointment here may already have a record in the practice system. If the vendor offers a
// look-up, the server finds that record instead of adding a second one, using the same rule: name, date of birth and
// telephone number. The look-up takes place while a caller waits. So the server sends at most one query a second, and
// all queries end within half the time limit, which leaves the other half for adding the patient. If it gets no
// response, the server adds the patient as if there were no look-up.

const (
	lookupSpacing = time.Second
	lookupRetired = time.Hour // how long the server sends no queries to a vendor that offers no look-up
	// the maximum number of records with the same name and date of birth whose details are compared
	mostCharts = 3
)

// lookups holds the state of the server's patient queries to the practice system.
type lookups struct {
	pacer   *upstream.Pacer
	retired atomic.Int64 // the server sends no queries until this instant, in Unix ms
}

// knownThere returns the GUID of the person in the practice system, or the question (sayAsk…) to ask. If both are
// empty, the practice system does not have the person, or the server could not find out.
func (ag *Agent) knownThere(ctx context.Context, r *Patient, born time.Time,
	deadline time.Time) (guid, ask string, err error) {
	phone := digitsOf(r.Phone)
	if born.IsZero() && phone == "" {
		return "", "", nil
	}
	var list []upstream.KnownPatient
	ctx, cancel := context.WithDeadline(ctx, deadline.Add(-ag.practice.Options.AgentBound/2))
	defer cancel()
	found := ag.ask(ctx, deadline, func() (err error) {
		list, err = ag.practice.Options.Upstream.FindPatients(ctx, r.FirstName, r.LastName)
		return err
	})
	if !found {
		return "", "", nil
	}
	list = slices.DeleteFunc(list, func(p upstream.KnownPatient) bool {
		return !sameName(&p, r) || p.BirthDate.IsZero() || !born.IsZero() && !p.BirthDate.Equal(born)
	})
	for i := len(list) - 1; i >= 0; i-- {
		if gone, err := ag.isGone(context.WithoutCancel(ctx), list[i].GUID); err != nil {
			return "", "", err
		} else if gone {
			list = slices.Delete(list, i, i+1)
		}
	}
	switch {
	case len(list) == 0:
		return "", "", nil
	case born.IsZero():
		return "", sayAskBirthDate, nil
	case phone == "":
		return "", sayAskPhone, nil
	case len(list) > mostCharts:
		return "", sayAskPerson, nil
	}
	for i := range list {
		p := &list[i]
		found := ag.ask(ctx, deadline, func() (err error) {
			known, err := ag.practice.Options.Upstream.PatientInformation(ctx, p.GUID)
			p.Phone, p.Email = known.Phone, known.Email
			return err
		})
		if !found {
			return "", "", nil
		}
	}
	guid, ask = oneOf(list, phone, r.Email)
	return guid, ask, nil
}

// oneOf distinguishes patients with the same name and date of birth by their telephone number, and those with the same
// number by their email address. Someone with a different number may still be the same person, so the server asks for
// the email address.
func oneOf(list []upstream.KnownPatient, phone, email string) (guid, ask string) {
	reached := slices.DeleteFunc(slices.Clone(list), func(p upstream.KnownPatient) bool {
		return !samePhone(digitsOf(p.Phone), phone)
	})
	written := slices.DeleteFunc(slices.Clone(list), func(p upstream.KnownPatient) bool {
		return email == "" || !strings.EqualFold(p.Email, email)
	})
	switch {
	case len(reached) == 1:
		return reached[0].GUID, ""
	case len(written) == 1:
		return written[0].GUID, ""
	case len(reached) == 0 && (email != "" || !slices.ContainsFunc(list, func(p upstream.KnownPatient) bool {
		return p.Email != ""
	})):
		return "", "" // probably another person
	case email == "":
		return "", sayAskEmail
	}
	return "", sayAskPerson
}

// knownThereBy returns the practice system's patient with this GUID and date of birth.
func (ag *Agent) knownThereBy(ctx context.Context, guid string, born,
	deadline time.Time) (known upstream.KnownPatient, found bool) {
	ctx, cancel := context.WithDeadline(ctx, deadline.Add(-ag.practice.Options.AgentBound/2))
	defer cancel()
	found = ag.ask(ctx, deadline, func() (err error) {
		known, err = ag.practice.Options.Upstream.PatientInformation(ctx, guid)
		return err
	})
	return known, found && !known.BirthDate.IsZero() && known.BirthDate.Equal(born)
}

// ask sends one query to the practice system and reports whether it got a response. It returns false if there is no
// practice system or if the query's turn does not come in time. If the vendor responds that it has no look-up, ask
// sends no further queries for lookupRetired.
func (ag *Agent) ask(ctx context.Context, deadline time.Time, question func() error) bool {
	if ag.practice.Options.Upstream == nil || time.Now().UnixMilli() < ag.lookups.retired.Load() {
		return false
	}
	if err := ag.lookups.pacer.Wait(ctx, time.Until(deadline.Add(-ag.practice.Options.AgentBound/2))); err != nil {
		return false
	}
	err := question()
	if upstream.ClassOf(err) == upstream.Misconfigured {
		ag.lookups.retired.Store(time.Now().Add(lookupRetired).UnixMilli())
		ag.log.Info("patient lookup not available upstream; callers are added as new patients", "error", err)
	} else if err != nil {
		ag.log.Debug("patient lookup failed upstream", "error", err)
	}
	return err == nil
}

// sameName compares names as people state them: either side may omit a middle name.
func sameName(p *upstream.KnownPatient, r *Patient) bool {
	first := func(s string) string { s, _, _ = strings.Cut(strings.TrimSpace(s), " "); return foldName(s) }
	return foldName(p.LastName) == foldName(r.LastName) && first(p.FirstName) == first(r.FirstName)
}

// samePhone compares telephone numbers by their digits. One of the two may lack the country or area code.
func samePhone(a, b string) bool {
	const least = 7
	if len(a) < least || len(b) < least {
		return a == b && a != ""
	}
	return strings.HasSuffix(a, b) || strings.HasSuffix(b, a)
}
