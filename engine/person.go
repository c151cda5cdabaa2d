package engine

import (
	"context"
	"strings"
	"time"

	"holdfast/store"
)

// Erase blanks a person everywhere: in appointments (a confirmed one keeps its time), and in what was recorded about
// them. It is audited without saying who. *ValidationError unless exactly one of the fields is given.
func (e *Engine) Erase(ctx context.Context, actor Actor, p store.Person) (store.Erased, error) {
	p.Email, p.Phone = strings.TrimSpace(p.Email), strings.TrimSpace(p.Phone)
	given := 0
	for _, s := range []string{p.Email, p.Phone, p.Owner} {
		if s != "" {
			given++
		}
	}
	var m mistakes
	if given != 1 {
		m.add("email", "name the person by exactly one of email, phone and clientId")
	}
	if p.Phone != "" {
		checkPhone(&m, "phone", p.Phone)
	}
	if err := m.err(); err != nil {
		return store.Erased{}, err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	var erased store.Erased
	err := e.store.Write(ctx, func(tx store.Tx) error {
		var err error
		if erased, err = tx.Erase(ctx, p, now); err != nil {
			return err
		}
		return audit(ctx, tx, now, actor, "person.erased", "person", "", nil, map[string]int{"appointments": erased.Appointments})
	})
	if err == nil && e.queue != nil {
		// The queue holds nothing about a person by itself; what a notice carries there goes now.
		err = e.queue.Erase(context.WithoutCancel(ctx), erased.OperationIDs...)
	}
	return erased, err
}
