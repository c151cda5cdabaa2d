package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"holdfast/store"
)

// RunQueue proves that a queue fulfils store.Queue, with one subtest for each promise. open opens the queue in dir and
// creates an empty one if there is none. The suite calls open again after Close to check what is durable. After every
// subtest, the suite opens the queue again and compares the results of its methods with each other.
func RunQueue(t *testing.T, open func(t testing.TB, dir string) store.Queue) {
	for _, promise := range slices.Concat(queuePromises, takePromises, storyPromises, queueLifePromises) {
		t.Run(promise.name, func(t *testing.T) {
			q := &queue{T: t, open: open, dir: t.TempDir()}
			q.Queue = open(t, q.dir)
			t.Cleanup(func() {
				q.reopen()
				q.agrees()
				if err := q.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			promise.keep(q)
		})
	}
}

type queuePromise struct {
	name string
	keep func(q *queue)
}

// queue is the queue under test with the helpers of its tests.
type queue struct {
	*testing.T
	store.Queue
	open func(t testing.TB, dir string) store.Queue
	dir  string
}

// Context returns a context that never ends, because the test's own context has ended when its cleanup runs.
func (q *queue) Context() context.Context { return context.Background() }

// nine is the instant at which most tests take place.
var nine = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

var allKinds = []store.OperationKind{store.UpstreamBook, store.UpstreamCancel, store.UpstreamReschedule,
	store.UpstreamComment, store.Webhook, store.Email}

var allStatuses = []store.OperationStatus{store.OperationPending, store.OperationProcessing, store.OperationCompleted,
	store.OperationFailed}

// operationDue returns a pending operation due at the instant.
func operationDue(id string, kind store.OperationKind, due time.Time) store.Operation {
	return store.Operation{ID: id, Kind: kind, Status: store.OperationPending, MaxAttempts: 10, CreatedAt: nine,
		NextAttemptAt: due}
}

// operationFull returns an operation whose fields are all set.
func operationFull(id string) store.Operation {
	return store.Operation{
		ID: id, Kind: store.UpstreamBook, AppointmentID: "appointment-of-" + id, Status: store.OperationPending,
		NeedsReview: true, Unknown: true, Attempts: 3, Lookups: 2, MaxAttempts: 10,
		CreatedAt: nine, NextAttemptAt: nine.Add(time.Second), AttemptedAt: nine.Add(2 * time.Second),
		FinishedAt: nine.Add(3 * time.Second), Deadline: nine.Add(time.Hour), StartTime: nine.Add(24 * time.Hour),
		LastError: "Too many requests", Result: "6fd9f4a2",
		Payload: json.RawMessage(`{"minutes":30,"note":"<b> & „ü“","list":[1,2.5,null,true]}`),
	}
}

// reopen closes the queue and opens it again from the same directory.
func (q *queue) reopen() {
	q.Helper()
	if err := q.Close(); err != nil {
		q.Fatalf("Close: %v", err)
	}
	q.Queue = q.open(q.T, q.dir)
}

func (q *queue) add(ops ...store.Operation) {
	q.Helper()
	if err := q.Add(q.Context(), ops...); err != nil {
		q.Fatalf("Add: %v", err)
	}
}

func (q *queue) take(now time.Time, kinds ...store.OperationKind) store.Operation {
	q.Helper()
	op, err := q.Take(q.Context(), now, kinds...)
	if err != nil {
		q.Fatalf("Take at %v of %v: %v", now, kinds, err)
	}
	return op
}

func (q *queue) change(op store.Operation, event string) {
	q.Helper()
	if err := q.Change(q.Context(), op, event, ""); err != nil {
		q.Fatalf("Change %s: %v", op.ID, err)
	}
}

func (q *queue) get(id string) store.Operation {
	q.Helper()
	op, err := q.Operation(q.Context(), id)
	if err != nil {
		q.Fatalf("Operation %s: %v", id, err)
	}
	return op
}

func (q *queue) list(f store.OperationFilter) []store.Operation {
	q.Helper()
	list, err := q.Operations(q.Context(), f)
	if err != nil {
		q.Fatalf("Operations %+v: %v", f, err)
	}
	return list
}

func (q *queue) counts() store.OperationCounts {
	q.Helper()
	n, err := q.Counts(q.Context())
	if err != nil {
		q.Fatalf("Counts: %v", err)
	}
	return n
}

// events lists the events in the activity of an operation.
func (q *queue) events(id string) []string {
	q.Helper()
	list, err := q.Activity(q.Context(), id)
	if err != nil {
		q.Fatalf("Activity %s: %v", id, err)
	}
	events := make([]string, len(list))
	for i, a := range list {
		events[i] = a.Event
	}
	return events
}

func (q *queue) wantCounts(pending, processing, completed, failed int) {
	q.Helper()
	want := store.OperationCounts{Pending: pending, Processing: processing, Completed: completed, Failed: failed}
	if got := q.counts(); got != want {
		q.Errorf("counts: got %+v, want %+v", got, want)
	}
}

func (q *queue) wantEvents(id string, want ...string) {
	q.Helper()
	if got := q.events(id); !slices.Equal(got, want) {
		q.Errorf("story of %s: got %q, want %q", id, got, want)
	}
}

func (q *queue) wantNothingDue(now time.Time, kinds ...store.OperationKind) {
	q.Helper()
	if op, err := q.Take(q.Context(), now, kinds...); !errors.Is(err, store.ErrNotFound) {
		q.Errorf("Take at %v of %v: got %q and %v, want ErrNotFound", now, kinds, op.ID, err)
	}
}

func (q *queue) wantNextDue(want time.Time, kinds ...store.OperationKind) {
	q.Helper()
	got, err := q.NextDue(q.Context(), kinds...)
	if want.IsZero() {
		if !errors.Is(err, store.ErrNotFound) {
			q.Errorf("NextDue of %v: got %v and %v, want ErrNotFound", kinds, got, err)
		}
		return
	}
	if err != nil || !got.Equal(want) || got.Location() != time.UTC {
		q.Errorf("NextDue of %v: got %v and %v, want %v", kinds, got, err, want)
	}
}

func (q *queue) wantSame(got, want store.Operation) {
	q.Helper()
	if diff := difference(got, want); diff != "" {
		q.Errorf("operation %s: %s", want.ID, diff)
	}
}

// difference lists the fields of got that differ from a stored copy of want. A stored copy contains instants in UTC
// with millisecond precision, and a payload with the same JSON value. Empty means no difference.
func difference(got, want store.Operation) string {
	for _, at := range []*time.Time{&want.CreatedAt, &want.NextAttemptAt, &want.AttemptedAt, &want.FinishedAt,
		&want.Deadline, &want.StartTime} {
		*at = at.UTC().Truncate(time.Millisecond)
	}
	var gotPayload, wantPayload any
	if len(got.Payload) > 0 {
		if err := json.Unmarshal(got.Payload, &gotPayload); err != nil {
			return fmt.Sprintf("the payload %q is not JSON: %v", got.Payload, err)
		}
	}
	if len(want.Payload) > 0 {
		_ = json.Unmarshal(want.Payload, &wantPayload)
	}
	if len(got.Payload) > 0 != (len(want.Payload) > 0) || !reflect.DeepEqual(gotPayload, wantPayload) {
		return fmt.Sprintf("payload: got %s, want %s", got.Payload, want.Payload)
	}
	got.Payload, want.Payload = nil, nil
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	diff := ""
	for i := range g.NumField() {
		if !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
			diff += fmt.Sprintf("%s: got %v, want %v; ", g.Type().Field(i).Name, g.Field(i), w.Field(i))
		}
	}
	return diff
}

// all lists every operation, page by page.
func (q *queue) all(f store.OperationFilter) (list []store.Operation) {
	q.Helper()
	f.Limit = 500
	for {
		page := q.list(f)
		list = append(list, page...)
		if len(page) < f.Limit {
			return list
		}
		f.After = page[len(page)-1].ID
	}
}

// agrees compares the results of the queue's methods with each other.
func (q *queue) agrees() {
	q.Helper()
	var counts store.OperationCounts
	next := map[store.OperationKind]time.Time{}
	var first time.Time
	byStatus, byAppointment := map[store.OperationStatus][]string{}, map[string][]string{}
	last := ""
	for _, op := range q.all(store.OperationFilter{}) {
		if op.ID <= last {
			q.Errorf("operations are listed by id: got %s after %s", op.ID, last)
		}
		last = op.ID
		byStatus[op.Status] = append(byStatus[op.Status], op.ID)
		if op.AppointmentID != "" {
			byAppointment[op.AppointmentID] = append(byAppointment[op.AppointmentID], op.ID)
		}
		switch op.Status {
		case store.OperationPending:
			counts.Pending++
			if at, known := next[op.Kind]; !known || op.NextAttemptAt.Before(at) {
				next[op.Kind] = op.NextAttemptAt
			}
			if first.IsZero() || op.NextAttemptAt.Before(first) {
				first = op.NextAttemptAt
			}
		case store.OperationProcessing:
			counts.Processing++
		case store.OperationCompleted:
			counts.Completed++
		case store.OperationFailed:
			counts.Failed++
		}
		q.wantSame(q.get(op.ID), op)
	}
	q.wantCounts(counts.Pending, counts.Processing, counts.Completed, counts.Failed)
	q.wantNextDue(first)
	for _, kind := range allKinds {
		q.wantNextDue(next[kind], kind)
	}
	for _, status := range allStatuses {
		if got := operationIDs(q.all(store.OperationFilter{Status: status})); !slices.Equal(got, byStatus[status]) {
			q.Errorf("operations that are %s: got %q, want %q", status, got, byStatus[status])
		}
	}
	for id, want := range byAppointment {
		if got := operationIDs(q.all(store.OperationFilter{AppointmentID: id})); !slices.Equal(got, want) {
			q.Errorf("operations of appointment %s: got %q, want %q", id, got, want)
		}
	}
}

func operationIDs(list []store.Operation) []string {
	var ids []string
	for _, op := range list {
		ids = append(ids, op.ID)
	}
	return ids
}
