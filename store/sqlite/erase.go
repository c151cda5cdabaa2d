package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/store"
)

// Erasing reads the whole database for traces of one person, which takes seconds in a large one. So the reading is done on
// the connections that read, a bounded part at a time, and only what was found is changed by the writer, again a bounded
// part at a time. The last transaction looks once more at what was added meanwhile.

const (
	eraseRead  = 2000 // rows read in one go
	eraseWrite = 200  // rows changed in one transaction
	// eraseSlack is how far back the last transaction looks for answers and operations, whose rows have no lasting order:
	// the instants in them are other callers' clocks.
	eraseSlack = time.Minute
)

// erasure is one on its way.
type erasure struct {
	*Store
	person  store.Person
	at      time.Time
	traces  store.Traces
	known   []store.Identity // whose appointments were found
	handles []store.Person   // of somebody who was named by spellings, that nobody else has
	erased  store.Erased

	lastAppointment, lastAudit int64           // the rows up to which was read
	operations                 map[string]bool // those blanked
}

// Erase implements store.Store.
func (s *Store) Erase(ctx context.Context, p store.Person, at time.Time, last func(store.Tx, store.Erased) error) (store.Erased, error) {
	if err := p.Validate(); err != nil {
		return store.Erased{}, err
	}
	if err := s.scrubbing.take(ctx); err != nil {
		return store.Erased{}, err
	}
	defer s.scrubbing.give()
	e := &erasure{Store: s, person: p, at: at, operations: map[string]bool{}}
	if err := e.run(ctx, last); err != nil {
		return store.Erased{}, err
	}
	if err := s.scrub(context.WithoutCancel(ctx)); err != nil {
		s.scrubbing.later(err, s.writer.log)
	}
	return e.erased, nil
}

func (e *erasure) run(ctx context.Context, last func(store.Tx, store.Erased) error) error {
	found, err := e.find(ctx)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{e.audit, e.answers, e.outbox} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	rest := max(0, len(found)-eraseWrite) // the last of them go with the end
	err = e.inSteps(ctx, rest, func(t *tx, from, to int) (int, error) { return t.blankAppointments(found[from:to], e.at) }, &e.erased.Appointments)
	if err != nil {
		return err
	}
	return e.finish(ctx, found[rest:], last)
}

// find reads whose appointments there are.
func (e *erasure) find(ctx context.Context) (found []personal, err error) {
	err = e.use(ctx, func(ctx context.Context, c *conn) (err error) {
		e.lastAppointment, err = oneOn(ctx, c, (*row).int64, `SELECT COALESCE(max(rowid), 0) FROM appointments`)
		return err
	})
	if err != nil {
		return nil, err
	}
	if found, err = appointmentsOf(ctx, e.reads, e.person, 0); err != nil {
		return nil, err
	}
	e.traces = store.TracesOf(e.person)
	e.know(found)
	if err := e.own(ctx, e.reads, found); err != nil {
		return nil, err
	}
	return found, e.deliveriesOf(ctx, e.reads, found)
}

// know makes appointments of the person known.
func (e *erasure) know(found []personal) {
	for _, f := range found {
		owner := f.clientID
		if len(e.person.Of) > 0 {
			owner = "" // may be a family's browser
		}
		e.traces.Add(f.appointmentID, owner)
		if !slices.Contains(e.known, f.identity) {
			e.known = append(e.known, f.identity)
		}
	}
}

// own makes those addresses, numbers and owners of somebody who was named by spellings known that nobody else has: they are traces
// as well. What is shared is nobody's.
func (e *erasure) own(ctx context.Context, r reads, found []personal) error {
	if len(e.person.Of) == 0 {
		return nil
	}
	owners, ids := make([]string, len(found)), make(map[string]bool)
	for i, f := range found {
		owners[i], ids[f.appointmentID] = f.clientID, true
	}
	for _, handle := range store.Handles(slices.Concat(e.person.Of, e.known), owners) {
		theirs, err := appointmentsOf(ctx, r, handle, 0)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(theirs, func(f personal) bool { return !ids[f.appointmentID] }) {
			e.handles = append(e.handles, handle)
			e.traces.Own(handle)
		}
	}
	return nil
}

// deliveriesOf names the operations that were fulfilled already, as far as the delivery log knows them: the queue keeps
// its copies for a while.
func (e *erasure) deliveriesOf(ctx context.Context, r reads, found []personal) error {
	for _, f := range found {
		delivered, err := list(ctx, r, (*row).text, `SELECT operation_id FROM deliveries WHERE appointment_id = ? AND channel <> 'webhook' AND state <> 'queued'`, f.appointmentID)
		if err != nil {
			return err
		}
		e.erased.OperationIDs = append(e.erased.OperationIDs, delivered...)
	}
	return nil
}

// inSteps changes n things, a bounded number in each transaction, and adds up what each step counts.
func (e *erasure) inSteps(ctx context.Context, n int, change func(t *tx, from, to int) (int, error), count *int) error {
	for from := 0; from < n; from += eraseWrite {
		var changed int
		err := e.Write(ctx, func(x store.Tx) (err error) {
			t := x.(*tx)
			if err := t.wantScrub(); err != nil {
				return err
			}
			changed, err = change(t, from, min(n, from+eraseWrite))
			return err
		})
		if err != nil {
			return err
		}
		*count += changed
		e.scrubbing.stepped()
	}
	return nil
}

const auditTexts = `SELECT rowid, subject, reason, before, after FROM audit_entries WHERE rowid > ? ORDER BY rowid LIMIT +?`

// spokenOf returns which of the entries speak of the person, and the row of the last one read.
func (e *erasure) spokenOf(ctx context.Context, c *conn, after int64, limit int) (rowids []int64, n int, last int64, err error) {
	last = after
	err = c.query(ctx, func(r *row) {
		n, last = n+1, r.int64()
		//lint:ignore SA4000 each call reads the next column
		if e.traces.In(r.text()) || e.traces.In(r.text()) || e.traces.In(r.text()) || e.traces.In(r.text()) {
			rowids = append(rowids, last)
		}
	}, auditTexts, after, limit)
	return rowids, n, last, err
}

func (e *erasure) audit(ctx context.Context) error {
	for n := eraseRead; n == eraseRead; {
		var rowids []int64
		err := e.use(ctx, func(ctx context.Context, c *conn) (err error) {
			rowids, n, e.lastAudit, err = e.spokenOf(ctx, c, e.lastAudit, eraseRead)
			return err
		})
		if err != nil {
			return err
		}
		err = e.inSteps(ctx, len(rowids), func(t *tx, from, to int) (int, error) { return t.blankAudit(rowids[from:to]) }, &e.erased.AuditEntries)
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *erasure) answers(ctx context.Context) error {
	after := int64(0)
	for n := eraseRead; n == eraseRead; {
		n = 0
		var rowids []int64
		err := e.use(ctx, func(ctx context.Context, c *conn) error {
			return c.query(ctx, func(r *row) {
				n, after = n+1, r.int64()
				if e.traces.In(string(r.bytes())) {
					rowids = append(rowids, after)
				}
			}, `SELECT rowid, body FROM idempotency_records WHERE rowid > ? ORDER BY rowid LIMIT +?`, after, eraseRead)
		})
		if err != nil {
			return err
		}
		err = e.inSteps(ctx, len(rowids), func(t *tx, from, to int) (int, error) { return t.removeAnswers(rowids[from:to], e.traces) }, &e.erased.Answers)
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *erasure) outbox(ctx context.Context) error {
	for after, n := "", eraseRead; n == eraseRead; {
		list, err := e.Outbox(ctx, after, eraseRead)
		if err != nil {
			return err
		}
		n = len(list)
		var ids []string
		for _, op := range list {
			if after = op.ID; e.traces.InOperation(&op) {
				ids = append(ids, op.ID)
			}
		}
		err = e.inSteps(ctx, len(ids), func(t *tx, from, to int) (int, error) { return t.blankOperations(ids[from:to]) }, &e.erased.Operations)
		if err != nil {
			return err
		}
		for _, id := range ids {
			e.operations[id] = true
			e.erased.OperationIDs = append(e.erased.OperationIDs, id)
		}
	}
	return nil
}

// finish blanks the rest and what was added since it was looked for, and commits that with what last writes.
func (e *erasure) finish(ctx context.Context, found []personal, last func(store.Tx, store.Erased) error) error {
	before := *e
	before.erased.OperationIDs = slices.Clone(e.erased.OperationIDs)
	return e.Write(ctx, func(x store.Tx) error {
		t := x.(*tx)
		*e = before // it may run more than once
		e.erased.OperationIDs, e.known = slices.Clone(before.erased.OperationIDs), slices.Clone(before.known)
		added, err := appointmentsOf(ctx, t.reads, e.person, e.lastAppointment)
		if err != nil {
			return err
		}
		e.know(added)
		if err := e.deliveriesOf(ctx, t.reads, slices.Concat(found, added)); err != nil {
			return err
		}
		requests, err := t.eraseRequests(ctx, e.person, e.known)
		if err != nil {
			return err
		}
		e.erased.Requests = len(requests)
		waited, waitlist, err := t.eraseWaitlist(ctx, e.person, e.known)
		if err != nil {
			return err
		}
		e.erased.Waitlist = waited
		if e.erased.Notes, e.erased.Links, err = t.eraseSaid(ctx, e.person, e.known); err != nil {
			return err
		}
		for _, id := range slices.Concat(requests, waitlist) {
			e.traces.Add(id, "")
			if err := e.deliveriesOf(ctx, t.reads, []personal{{appointmentID: id}}); err != nil {
				return err
			}
		}
		for _, step := range []func() error{
			t.wantScrub,
			func() error { return e.added(ctx, t) },
			func() error { return t.eraseAgentSessions(e.person, e.handles) },
			func() (err error) { return sum(&e.erased.Sessions)(t.blankSessions(e.traces.Owners(), e.at)) },
			func() error {
				return sum(&e.erased.Appointments)(t.blankAppointments(slices.Concat(found, added), e.at))
			},
		} {
			if err := step(); err != nil {
				return err
			}
		}
		slices.Sort(e.erased.OperationIDs)
		e.erased.OperationIDs = slices.Compact(e.erased.OperationIDs)
		return last(t, e.erased)
	})
}

// added blanks the traces that were written while the erasure was on its way.
func (e *erasure) added(ctx context.Context, t *tx) error {
	rowids, _, _, err := e.spokenOf(ctx, t.conn, e.lastAudit, -1)
	if err != nil {
		return err
	}
	if err := sum(&e.erased.AuditEntries)(t.blankAudit(rowids)); err != nil {
		return err
	}
	answers, err := list(ctx, t.reads, (*row).int64, `SELECT rowid FROM idempotency_records WHERE created_at >= ?`, e.at.Add(-eraseSlack))
	if err != nil {
		return err
	}
	if err := sum(&e.erased.Answers)(t.removeAnswers(answers, e.traces)); err != nil {
		return err
	}
	ops, err := t.Outbox(ctx, fmt.Sprintf("op-%d", e.at.Add(-eraseSlack).UnixMilli()), -1)
	if err != nil {
		return err
	}
	var ids []string
	for _, op := range ops {
		if !e.operations[op.ID] && e.traces.InOperation(&op) {
			ids = append(ids, op.ID)
		}
	}
	e.erased.OperationIDs = append(e.erased.OperationIDs, ids...)
	return sum(&e.erased.Operations)(t.blankOperations(ids))
}

// sum adds to a count what a step says that it changed.
func sum(count *int) func(n int, err error) error {
	return func(n int, err error) error {
		*count += n
		return err
	}
}
