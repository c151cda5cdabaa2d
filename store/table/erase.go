package table

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"holdfast/store"
)

// Erase reads the whole database for traces of one person. This takes seconds in a large database, so Erase reads
// outside transactions, a bounded number of rows at a time. Its transactions change only the rows that it found, again
// a bounded number at a time. The last transaction searches the rows that were added in the meantime.

const (
	eraseRead  = 2000 // rows read by one query
	eraseWrite = 200  // rows changed by one transaction
	// eraseSlack is how far back the last transaction searches saved responses and operations. Their rows have no
	// reliable order, because their instants come from the clocks of other callers.
	eraseSlack = time.Minute
)

// Erasure gives Erase access to a database.
type Erasure struct {
	Source
	Write func(ctx context.Context, fn func(store.Tx) error) error

	Begin func(store.Tx) error // runs first in every transaction; nil means none
	Ended func()               // runs after every transaction except the last; nil means none
}

// erasure is the state of one call of Erase.
type erasure struct {
	Erasure
	person  store.Person
	at      time.Time
	traces  store.Traces
	known   []store.Identity // identities in the appointments that were found
	handles []store.Person   // addresses, numbers and owners that belong to this person only
	erased  store.Erased

	lastAppointment, lastAudit int64           // row numbers of the last rows that were read
	operations                 map[string]bool // ids of the operations with a blank payload
}

// Erase erases the rows as store.PersonEraser specifies. The backend must then remove the remnants from its files.
func Erase(
	ctx context.Context, of Erasure, p store.Person, at time.Time, last func(store.Tx, store.Erased) error,
) (store.Erased, error) {
	e := &erasure{Erasure: of, person: p, at: at, operations: map[string]bool{}}
	found, err := e.find(ctx)
	if err != nil {
		return store.Erased{}, err
	}
	rest := max(0, len(found)-eraseWrite) // the last transaction changes the rows after these
	for _, step := range []func(context.Context) error{
		e.audit, e.answers, e.outbox,
		func(ctx context.Context) error {
			return e.inSteps(ctx, rest, &e.erased.Appointments, func(t *Tx, from, to int) (int, error) {
				return t.blankAppointments(ctx, found[from:to], at)
			})
		},
		func(ctx context.Context) error { return e.finish(ctx, found[rest:], last) },
	} {
		if err := step(ctx); err != nil {
			return store.Erased{}, err
		}
	}
	return e.erased, nil
}

// find reads the person's appointments.
func (e *erasure) find(ctx context.Context) (found []personal, err error) {
	e.lastAppointment, err = one(ctx, e.Source, Row.Int64, `SELECT COALESCE(max({row}), 0) FROM appointments`)
	if err != nil {
		return nil, err
	}
	if found, err = appointmentsOf(ctx, e.Source, e.person, 0); err != nil {
		return nil, err
	}
	e.traces = store.TracesOf(e.person)
	e.know(found)
	if err := e.findHandles(ctx, found); err != nil {
		return nil, err
	}
	if err := e.findRows(ctx); err != nil {
		return nil, err
	}
	return found, e.deliveriesOf(ctx, e.Source, found)
}

// know adds appointments of the person to traces and known.
func (e *erasure) know(found []personal) {
	for _, f := range found {
		owner := f.clientID
		if len(e.person.Of) > 0 {
			owner = "" // the owner may be a family's browser
		}
		e.traces.Add(f.appointmentID, owner)
		if !slices.Contains(e.known, f.identity) {
			e.known = append(e.known, f.identity)
		}
	}
}

// findHandles adds the addresses, numbers and owners of a person identified by Person.Of to the traces, if no other
// person has them.
func (e *erasure) findHandles(ctx context.Context, found []personal) error {
	if len(e.person.Of) == 0 {
		return nil
	}
	owners, ids := make([]string, len(found)), make(map[string]bool)
	for i, f := range found {
		owners[i], ids[f.appointmentID] = f.clientID, true
	}
	for _, handle := range store.Handles(slices.Concat(e.person.Of, e.known), owners) {
		theirs, err := appointmentsOf(ctx, e.Source, handle, 0)
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

// findRows adds the person's requests, waiting-list entries and offers to the traces. Saved responses and operations
// about them may contain nothing else that identifies the person.
func (e *erasure) findRows(ctx context.Context) error {
	asked, err := rowsOf(ctx, e.Source, requests.name, e.person, e.known)
	if err != nil {
		return err
	}
	waiting, offered, err := waitedBy(ctx, e.Source, e.person, e.known)
	for _, id := range slices.Concat(asked, waiting, offered) {
		e.traces.Add(id, "")
	}
	return err
}

// deliveriesOf adds the finished operations that the delivery log still contains, because the queue keeps copies of
// them for some time. It omits webhooks that were not delivered: a person can still retry them.
func (e *erasure) deliveriesOf(ctx context.Context, s Source, found []personal) error {
	for _, f := range found {
		delivered, err := list(ctx, s, Row.Text,
			`SELECT operation_id FROM deliveries
			WHERE appointment_id = ? AND state <> 'queued'
				AND (channel <> 'webhook' OR state IN ('delivered', 'not_needed'))`, f.appointmentID)
		if err != nil {
			return err
		}
		e.erased.OperationIDs = append(e.erased.OperationIDs, delivered...)
	}
	return nil
}

// write runs one transaction.
func (e *erasure) write(ctx context.Context, fn func(store.Tx, *Tx) error) error {
	return e.Write(ctx, func(x store.Tx) error {
		if e.Begin != nil {
			if err := e.Begin(x); err != nil {
				return err
			}
		}
		return fn(x, x.(interface{ own() *Tx }).own())
	})
}

// inSteps changes n rows, a bounded number in each transaction. It adds the result of each change to count.
func (e *erasure) inSteps(
	ctx context.Context, n int, count *int, change func(t *Tx, from, to int) (int, error),
) error {
	for from := 0; from < n; from += eraseWrite {
		var changed int
		err := e.write(ctx, func(_ store.Tx, t *Tx) (err error) {
			changed, err = change(t, from, min(n, from+eraseWrite))
			return err
		})
		if err != nil {
			return err
		}
		*count += changed
		if e.Ended != nil {
			e.Ended()
		}
	}
	return nil
}

// auditAbout returns the row numbers of the audit entries that contain traces of the person. It also returns how many
// rows it read, and the number of the last one.
func (e *erasure) auditAbout(
	ctx context.Context, s Source, after int64, limit int,
) (rows []int64, n int, last int64, err error) {
	last = after
	err = s.Query(ctx, func(r Row) {
		n, last = n+1, r.Int64()
		//lint:ignore SA4000 each call reads the next column
		if e.traces.In(r.Text()) || e.traces.In(r.Text()) || e.traces.In(r.Text()) || e.traces.In(r.Text()) {
			rows = append(rows, last)
		}
	}, `SELECT {row}, subject, reason, before, after FROM audit_entries WHERE {row} > ? ORDER BY {row} LIMIT +?`,
		after, limit)
	return rows, n, last, err
}

func (e *erasure) audit(ctx context.Context) error {
	for n := eraseRead; n == eraseRead; {
		var rows []int64
		var err error
		if rows, n, e.lastAudit, err = e.auditAbout(ctx, e.Source, e.lastAudit, eraseRead); err != nil {
			return err
		}
		err = e.inSteps(ctx, len(rows), &e.erased.AuditEntries, func(t *Tx, from, to int) (int, error) {
			return t.blankAudit(rows[from:to])
		})
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
		var rows []int64
		err := e.Query(ctx, func(r Row) {
			n, after = n+1, r.Int64()
			if e.traces.In(string(r.Bytes())) {
				rows = append(rows, after)
			}
		}, `SELECT {row}, body FROM idempotency_records WHERE {row} > ? ORDER BY {row} LIMIT +?`, after, eraseRead)
		if err != nil {
			return err
		}
		err = e.inSteps(ctx, len(rows), &e.erased.Answers, func(t *Tx, from, to int) (int, error) {
			return t.removeAnswers(ctx, rows[from:to], e.traces)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *erasure) outbox(ctx context.Context) error {
	for after, n := "", eraseRead; n == eraseRead; {
		list, err := NewReads(e.Source).Outbox(ctx, after, eraseRead)
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
		err = e.inSteps(ctx, len(ids), &e.erased.Operations, func(t *Tx, from, to int) (int, error) {
			return t.blankOperations(ids[from:to])
		})
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

// finish blanks the remaining rows and the rows that were added in the meantime. It commits these changes together with
// the writes of last.
func (e *erasure) finish(ctx context.Context, found []personal, last func(store.Tx, store.Erased) error) error {
	before := *e
	before.erased.OperationIDs = slices.Clone(e.erased.OperationIDs)
	return e.write(ctx, func(x store.Tx, t *Tx) error {
		*e = before // the function may run more than once
		e.erased.OperationIDs, e.known = slices.Clone(before.erased.OperationIDs), slices.Clone(before.known)
		added, err := appointmentsOf(ctx, t.source, e.person, e.lastAppointment)
		if err != nil {
			return err
		}
		e.know(added)
		if err := e.deliveriesOf(ctx, t.source, slices.Concat(found, added)); err != nil {
			return err
		}
		if err := e.removeRows(ctx, t); err != nil {
			return err
		}
		for _, step := range []func() error{
			func() error { return e.added(ctx, t) },
			func() error { return t.eraseAgentSessions(ctx, e.person, e.known, e.handles) },
			func() error { return sum(&e.erased.Sessions)(t.blankSessions(ctx, e)) },
			func() error {
				return sum(&e.erased.Appointments)(t.blankAppointments(ctx, slices.Concat(found, added), e.at))
			},
		} {
			if err := step(); err != nil {
				return err
			}
		}
		slices.Sort(e.erased.OperationIDs)
		e.erased.OperationIDs = slices.Compact(e.erased.OperationIDs)
		return last(x, e.erased)
	})
}

// removeRows removes the requests, waiting-list entries, notes and links of the person as whole rows.
func (e *erasure) removeRows(ctx context.Context, t *Tx) error {
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
	if e.erased.Notes, e.erased.Links, err = t.eraseNotesAndLinks(ctx, e.person, e.known); err != nil {
		return err
	}
	for _, id := range slices.Concat(requests, waitlist) {
		e.traces.Add(id, "")
		if err := e.deliveriesOf(ctx, t.source, []personal{{appointmentID: id}}); err != nil {
			return err
		}
	}
	return nil
}

// added blanks the traces in rows that were added since the erasure read the tables.
func (e *erasure) added(ctx context.Context, t *Tx) error {
	rows, _, _, err := e.auditAbout(ctx, t.source, e.lastAudit, math.MaxInt)
	if err != nil {
		return err
	}
	if err := sum(&e.erased.AuditEntries)(t.blankAudit(rows)); err != nil {
		return err
	}
	answers, err := list(ctx, t.source, Row.Int64,
		`SELECT {row} FROM idempotency_records WHERE created_at >= ?`, e.at.Add(-eraseSlack))
	if err != nil {
		return err
	}
	if err := sum(&e.erased.Answers)(t.removeAnswers(ctx, answers, e.traces)); err != nil {
		return err
	}
	ops, err := t.Outbox(ctx, fmt.Sprintf("op-%d", e.at.Add(-eraseSlack).UnixMilli()), math.MaxInt)
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

// sum returns a function that adds the count of a step to count.
func sum(count *int) func(n int, err error) error {
	return func(n int, err error) error {
		*count += n
		return err
	}
}
