package storetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"holdfast/store"
)

// againstPlainMap makes the same random calls to the queue and to a plain map, and compares all results. After a
// failure, rapid shrinks the calls to the shortest sequence that still fails.
func againstPlainMap(q *queue) {
	round := 0
	rapid.Check(q.T, func(t *rapid.T) {
		for _, op := range q.all(store.OperationFilter{}) {
			if err := q.Remove(q.Context(), op.ID); err != nil {
				t.Fatalf("Remove: %v", err)
			}
		}
		round++ // activity outlives its operation, so each round has separate ids
		m := &plainMap{
			q: q, prefix: fmt.Sprintf("op-%05d-", round),
			// This is long before the tests run, so no Prune removes the activity of operations that are removed now.
			now: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC),
			ops: map[string]store.Operation{}, stories: map[string][]string{}, erased: map[string]bool{},
		}
		t.Repeat(map[string]func(*rapid.T){
			"Add": m.add, "Take": m.take, "Take too": m.take, "Change": m.change, "Remove": m.remove,
			"Recover": m.recover, "Prune": m.prune, "Erase": m.erase, "time passes": m.pass, "reopen": m.reopen,
			"": m.agree,
		})
	})
}

// plainMap is the complete state of a queue.
type plainMap struct {
	q       *queue
	prefix  string
	now     time.Time
	ops     map[string]store.Operation
	stories map[string][]string
	erased  map[string]bool
}

func (m *plainMap) id(t *rapid.T) string {
	return m.prefix + rapid.StringMatching(`[A-C][a-d]`).Draw(t, "id")
}

func (m *plainMap) kinds(t *rapid.T) []store.OperationKind {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(allKinds[:3]), 0, 2, rapid.ID).Draw(t, "kinds")
}

func (m *plainMap) instant(t *rapid.T, label string) time.Time {
	return m.now.Add(time.Duration(rapid.IntRange(-5000, 20000).Draw(t, label)) * time.Millisecond)
}

func (m *plainMap) operation(t *rapid.T) store.Operation {
	op := store.Operation{
		ID: m.id(t), Kind: rapid.SampledFrom(allKinds[:3]).Draw(t, "kind"),
		Status:        rapid.SampledFrom(allStatuses).Draw(t, "status"),
		AppointmentID: rapid.SampledFrom([]string{"", "a", "aa"}).Draw(t, "appointment"),
		CreatedAt:     m.now, NextAttemptAt: m.instant(t, "due"), Attempts: rapid.IntRange(0, 3).Draw(t, "attempts"),
		LastError: rapid.SampledFrom([]string{"", "Too many requests", "„ü“ <b>"}).Draw(t, "error"),
		Payload:   json.RawMessage(rapid.SampledFrom([]string{"", `{}`, `{"a":[1]}`, `"x"`}).Draw(t, "payload")),
	}
	if op.Status.Final() {
		op.FinishedAt = m.instant(t, "finished")
	}
	return op
}

func (m *plainMap) add(t *rapid.T) {
	ops := rapid.SliceOfN(rapid.Custom(m.operation), 1, 4).Draw(t, "operations")
	if err := m.q.Add(m.q.Context(), ops...); err != nil {
		t.Fatalf("Add: %v", err)
	}
	for _, op := range ops {
		if _, known := m.ops[op.ID]; !known {
			m.ops[op.ID] = op
			m.stories[op.ID] = append(m.stories[op.ID], "added")
		}
	}
}

// due lists the pending operations of these kinds in the order in which Take returns them.
func (m *plainMap) due(kinds []store.OperationKind) []store.Operation {
	var due []store.Operation
	for _, op := range m.ops {
		if op.Status == store.OperationPending && (len(kinds) == 0 || slices.Contains(kinds, op.Kind)) {
			due = append(due, op)
		}
	}
	slices.SortFunc(due, func(a, b store.Operation) int {
		return cmp.Or(a.NextAttemptAt.Compare(b.NextAttemptAt), cmp.Compare(a.ID, b.ID))
	})
	return due
}

func (m *plainMap) take(t *rapid.T) {
	kinds := m.kinds(t)
	got, err := m.q.Take(m.q.Context(), m.now, kinds...)
	due := m.due(kinds)
	if len(due) == 0 || due[0].NextAttemptAt.After(m.now) {
		if !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("Take: got %q and %v, want ErrNotFound", got.ID, err)
		}
		return
	}
	want := due[0]
	want.Status, want.AttemptedAt = store.OperationProcessing, m.now
	want.Attempts++
	if err != nil || difference(got, want) != "" {
		t.Fatalf("Take: got %q and %v, want %q; %s", got.ID, err, want.ID, difference(got, want))
	}
	m.ops[want.ID] = want
	m.stories[want.ID] = append(m.stories[want.ID], "attempted")
}

func (m *plainMap) change(t *rapid.T) {
	op := m.operation(t)
	err := m.q.Change(m.q.Context(), op, "changed", "")
	if _, known := m.ops[op.ID]; !known {
		if !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("Change of an unknown id: got %v, want ErrNotFound", err)
		}
		return
	}
	if err != nil {
		t.Fatalf("Change: %v", err)
	}
	if m.erased[op.ID] {
		op.Payload = nil
	}
	m.ops[op.ID] = op
	m.stories[op.ID] = append(m.stories[op.ID], "changed")
}

func (m *plainMap) remove(t *rapid.T) {
	id := m.id(t)
	if err := m.q.Remove(m.q.Context(), id); err != nil {
		t.Fatalf("Remove: %v", err)
	}
	if _, known := m.ops[id]; known {
		delete(m.ops, id)
		delete(m.erased, id)
		m.stories[id] = append(m.stories[id], "removed")
	}
}

func (m *plainMap) recover(t *rapid.T) {
	want := 0
	for id, op := range m.ops {
		if op.Status == store.OperationProcessing {
			op.Status, op.Unknown, op.NextAttemptAt = store.OperationPending, true, m.now
			m.ops[id] = op
			m.stories[id] = append(m.stories[id], "recovered")
			want++
		}
	}
	if n, err := m.q.Recover(m.q.Context(), m.now); n != want || err != nil {
		t.Fatalf("Recover: got %d and %v, want %d", n, err, want)
	}
}

func (m *plainMap) prune(t *rapid.T) {
	before := m.instant(t, "before")
	want := 0
	for id, op := range m.ops {
		if op.Status == store.OperationCompleted && op.FinishedAt.Before(before) {
			delete(m.ops, id)
			delete(m.stories, id)
			delete(m.erased, id)
			want++
		}
	}
	if n, err := m.q.Prune(m.q.Context(), before); n != want || err != nil {
		t.Fatalf("Prune: got %d and %v, want %d", n, err, want)
	}
}

func (m *plainMap) erase(t *rapid.T) {
	id := m.id(t)
	if err := m.q.Erase(m.q.Context(), id); err != nil {
		t.Fatalf("Erase: %v", err)
	}
	if op, known := m.ops[id]; known && !m.erased[id] {
		op.Payload = nil
		m.ops[id], m.erased[id] = op, true
		m.stories[id] = append(m.stories[id], "erased")
	}
}

func (m *plainMap) pass(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 5000).Draw(t, "milliseconds")) * time.Millisecond)
}

func (m *plainMap) reopen(*rapid.T) { m.q.reopen() }

// agree compares the results of all read methods with the map.
func (m *plainMap) agree(t *rapid.T) {
	var want store.OperationCounts
	for _, op := range m.ops {
		switch op.Status {
		case store.OperationPending:
			want.Pending++
		case store.OperationProcessing:
			want.Processing++
		case store.OperationCompleted:
			want.Completed++
		case store.OperationFailed:
			want.Failed++
		}
	}
	if got, err := m.q.Counts(m.q.Context()); got != want || err != nil {
		t.Fatalf("Counts: got %+v and %v, want %+v", got, err, want)
	}
	kinds := m.kinds(t)
	at, err := m.q.NextDue(m.q.Context(), kinds...)
	if due := m.due(kinds); len(due) == 0 && !errors.Is(err, store.ErrNotFound) || len(due) > 0 &&
		!at.Equal(due[0].NextAttemptAt) {
		t.Fatalf("NextDue of %v: got %v and %v, want the first of %q", kinds, at, err, operationIDs(due))
	}
	m.agreeList(t)
	for id, want := range m.stories {
		list, err := m.q.Activity(m.q.Context(), id)
		got := make([]string, len(list))
		for i, a := range list {
			got[i] = a.Event
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("story of %s: got %q and %v, want %q", id, got, err, want)
		}
	}
}

func (m *plainMap) agreeList(t *rapid.T) {
	f := store.OperationFilter{
		Status:        rapid.SampledFrom(append([]store.OperationStatus{""}, allStatuses...)).Draw(t, "filter status"),
		AppointmentID: rapid.SampledFrom([]string{"", "a", "aa"}).Draw(t, "filter appointment"),
		Limit:         rapid.IntRange(1, 5).Draw(t, "limit"),
	}
	if rapid.Bool().Draw(t, "later page") {
		f.After = m.id(t)
	}
	var want []store.Operation
	for _, id := range slices.Sorted(maps.Keys(m.ops)) {
		op := m.ops[id]
		if id > f.After && (f.Status == "" || op.Status == f.Status) &&
			(f.AppointmentID == "" || op.AppointmentID == f.AppointmentID) && len(want) < f.Limit {
			want = append(want, op)
		}
	}
	got, err := m.q.Operations(m.q.Context(), f)
	if err != nil || !slices.Equal(operationIDs(got), operationIDs(want)) {
		t.Fatalf("Operations %+v: got %q and %v, want %q", f, operationIDs(got), err, operationIDs(want))
	}
	for i := range want {
		if diff := difference(got[i], want[i]); diff != "" {
			t.Fatalf("Operations: %s: %s", want[i].ID, diff)
		}
	}
}
