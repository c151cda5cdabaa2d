package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/store"
)

// queuePromises cover how operations are stored, changed and listed.
var queuePromises = []queuePromise{
	{"Add/every field comes back", func(q *queue) {
		op := operationFull("op-1")
		op.NextAttemptAt = op.NextAttemptAt.Add(999 * time.Microsecond).In(time.FixedZone("east", 3600))
		bare := store.Operation{ID: "op-2", Kind: store.Email, Status: store.OperationPending, NextAttemptAt: nine}
		q.add(op, bare)
		for range 2 {
			q.wantSame(q.get("op-1"), op)
			q.wantSame(q.get("op-2"), bare)
			q.reopen()
		}
	}},
	{"Add/adding again changes nothing", func(q *queue) {
		q.add(operationDue("op-1", store.Webhook, nine))
		taken := q.take(nine)
		q.add(operationDue("op-1", store.Webhook, nine), operationDue("op-2", store.Webhook, nine.Add(time.Hour)))
		q.wantSame(q.get("op-1"), taken)
		q.wantCounts(1, 1, 0, 0)
		q.wantEvents("op-1", "added", "attempted")
	}},
	{"Add/the first of two with one id stays", func(q *queue) {
		first, second := operationDue("op-1", store.Webhook, nine), operationDue("op-1", store.Email, nine)
		q.add(first, second)
		q.wantSame(q.get("op-1"), first)
		q.wantCounts(1, 0, 0, 0)
	}},
	{"Add/all or none", func(q *queue) {
		err := q.Add(q.Context(), operationDue("op-1", store.Webhook, nine), operationDue("op/2", store.Webhook, nine))
		if !errors.Is(err, store.ErrInvalid) {
			q.Errorf("Add: got %v, want ErrInvalid", err)
		}
		q.wantCounts(0, 0, 0, 0)
		q.add() // adding nothing is allowed
		q.wantCounts(0, 0, 0, 0)
	}},
	{"Add/in any state", func(q *queue) {
		for i, status := range allStatuses {
			op := operationFull(fmt.Sprint("op-", i))
			op.Status = status
			q.add(op)
			q.wantSame(q.get(op.ID), op)
		}
		q.wantCounts(1, 1, 1, 1)
	}},
	{"what cannot be kept is refused", func(q *queue) {
		q.add(operationDue("op-1", store.Webhook, nine))
		for name, spoil := range map[string]func(*store.Operation){
			"kind":        func(op *store.Operation) { op.Kind = "" },
			"status":      func(op *store.Operation) { op.Status = "lost" },
			"payload":     func(op *store.Operation) { op.Payload = json.RawMessage(`{`) },
			"appointment": func(op *store.Operation) { op.AppointmentID = "a b" },
		} {
			op := operationDue("op-1", store.Webhook, nine)
			spoil(&op)
			if err := q.Change(q.Context(), op, "changed", ""); !errors.Is(err, store.ErrInvalid) {
				q.Errorf("Change with a bad %s: got %v, want ErrInvalid", name, err)
			}
			op.ID = "op-2"
			if err := q.Add(q.Context(), op); !errors.Is(err, store.ErrInvalid) {
				q.Errorf("Add with a bad %s: got %v, want ErrInvalid", name, err)
			}
		}
		q.wantSame(q.get("op-1"), operationDue("op-1", store.Webhook, nine))
		q.wantCounts(1, 0, 0, 0)
	}},
	{"what the far side said may be garbage", func(q *queue) {
		q.add(operationDue("op-1", store.UpstreamBook, nine))
		op := q.take(nine)
		op.LastError, op.Result = "begin \xff\xfe\x00 end", "begin \xc3\x28 end"
		if err := q.Change(q.Context(), op, "retried", op.LastError); err != nil {
			q.Fatalf("Change with a long error: got %v, want it accepted: an attempt must not be lost because of its error", err)
		}
		got := q.get("op-1")
		for _, text := range []string{got.LastError, got.Result} {
			if !utf8.ValidString(text) || !strings.HasPrefix(text, "begin ") || !strings.HasSuffix(text, " end") {
				q.Errorf("got %q, want readable text with the beginning and the end of the error", text)
			}
		}
	}},
	{"Change/any state to any state", func(q *queue) {
		for _, from := range allStatuses {
			for _, to := range allStatuses {
				before := operationFull(fmt.Sprintf("op-%s-%s", from, to))
				before.Status = from
				q.add(before)
				after := operationFull(before.ID)
				after.Status, after.Kind, after.AppointmentID = to, store.Email, "another"
				after.NextAttemptAt, after.FinishedAt = nine.Add(-time.Hour), nine.Add(-time.Minute)
				after.Payload = nil
				q.change(after, "changed")
				q.wantSame(q.get(before.ID), after)
				q.wantEvents(before.ID, "added", "changed")
			}
		}
		q.wantCounts(4, 4, 4, 4)
		q.wantNextDue(time.Time{}, store.UpstreamBook)
		q.wantNextDue(nine.Add(-time.Hour), store.Email)
		if got := q.list(store.OperationFilter{AppointmentID: "another"}); len(got) != 16 {
			q.Errorf("operations of the new appointment: got %d, want 16", len(got))
		}
		if got := q.list(store.OperationFilter{AppointmentID: "appointment-of-op-failed-pending"}); len(got) != 0 {
			q.Errorf("operations of the old appointment: got %q, want none", operationIDs(got))
		}
	}},
	{"an unknown id", func(q *queue) {
		if _, err := q.Operation(q.Context(), "op-9"); !errors.Is(err, store.ErrNotFound) {
			q.Errorf("Operation: got %v, want ErrNotFound", err)
		}
		if _, err := q.Operation(q.Context(), ""); !errors.Is(err, store.ErrNotFound) {
			q.Errorf("Operation with an empty id: got %v, want ErrNotFound", err)
		}
		if err := q.Change(q.Context(), operationDue("op-9", store.Email, nine), "changed", ""); !errors.Is(err,
			store.ErrNotFound) {
			q.Errorf("Change: got %v, want ErrNotFound", err)
		}
		if err := q.Remove(q.Context(), "op-9"); err != nil {
			q.Errorf("Remove: got %v, want nil", err)
		}
		q.wantEvents("op-9")
		q.wantCounts(0, 0, 0, 0)
	}},
	{"Operations/by id, page by page", func(q *queue) {
		var want []string
		var ops []store.Operation
		for i := range 1203 {
			op := operationDue(fmt.Sprintf("op-%05d", 7919*i%1203), store.Webhook, nine) // stored in a different order
			want, ops = append(want, op.ID), append(ops, op)
		}
		slices.Sort(want)
		q.add(ops...)
		for _, c := range []struct{ limit, want int }{{0, 100}, {-1, 100}, {1, 1}, {500, 500}, {501, 500},
			{100000, 500}} {
			if got := len(q.list(store.OperationFilter{Limit: c.limit})); got != c.want {
				q.Errorf("limit %d: got %d operations, want %d", c.limit, got, c.want)
			}
		}
		if got := operationIDs(q.all(store.OperationFilter{})); !slices.Equal(got, want) {
			q.Errorf("all pages: got %d operations, want %d in order of their ids", len(got), len(want))
		}
		if got := operationIDs(q.list(store.OperationFilter{After: "op-00600x", Limit: 2})); !slices.Equal(got,
			[]string{"op-00601", "op-00602"}) {
			q.Errorf("after a missing id: got %q, want the next two", got)
		}
		if got := q.list(store.OperationFilter{After: "op-01202"}); len(got) != 0 {
			q.Errorf("after the last: got %q, want none", operationIDs(got))
		}
	}},
	{"Operations/filtered", func(q *queue) {
		for i := range 40 {
			op := operationDue(fmt.Sprintf("op-%02d", i), store.Webhook, nine)
			op.Status = allStatuses[i%4]
			op.AppointmentID = []string{"", "a", "ab", "b", "B"}[i%5]
			q.add(op)
		}
		want := func(f store.OperationFilter, want ...string) {
			q.Helper()
			if got := operationIDs(q.list(f)); !slices.Equal(got, want) {
				q.Errorf("%+v: got %q, want %q", f, got, want)
			}
		}
		want(store.OperationFilter{AppointmentID: "a"}, "op-01", "op-06", "op-11", "op-16", "op-21", "op-26", "op-31",
			"op-36")
		want(store.OperationFilter{AppointmentID: "a", After: "op-16", Limit: 2}, "op-21", "op-26")
		want(store.OperationFilter{AppointmentID: "B", Status: store.OperationPending}, "op-04", "op-24")
		want(store.OperationFilter{AppointmentID: "a", Status: store.OperationFailed, After: "op-11", Limit: 1},
			"op-31")
		want(store.OperationFilter{Status: store.OperationProcessing, After: "op-25"}, "op-29", "op-33", "op-37")
		want(store.OperationFilter{AppointmentID: "c"})
	}},
	{"Counts", func(q *queue) {
		q.wantCounts(0, 0, 0, 0)
		q.add(operationDue("op-1", store.Email, nine), operationDue("op-2", store.Email, nine),
			operationDue("op-3", store.Email, nine), operationDue("op-4", store.Email, nine))
		q.wantCounts(4, 0, 0, 0)
		op := q.take(nine)
		q.take(nine)
		q.wantCounts(2, 2, 0, 0)
		op.Status, op.FinishedAt = store.OperationCompleted, nine
		q.change(op, "completed")
		q.wantCounts(2, 1, 1, 0)
		if err := q.Remove(q.Context(), "op-4"); err != nil {
			q.Fatalf("Remove: %v", err)
		}
		q.wantCounts(1, 1, 1, 0)
		q.reopen()
		q.wantCounts(1, 1, 1, 0)
	}},
	{"counts a text message that waits for the morning as pending", func(q *queue) {
		waits := operationDue("op-1", store.SMS, nine.Add(11*time.Hour))
		waits.AttemptedAt = nine.Add(-time.Minute)
		q.add(waits, operationDue("op-2", store.SMS, nine.Add(11*time.Hour)))
		if got, err := q.Scheduled(q.Context(), nine, store.SMS); err != nil || got != 1 {
			q.Errorf("Scheduled: got %d, %v; want 1: op-1 was attempted before", got, err)
		}
	}},
	{"counts and lists by kind, and mail for later by itself", func(q *queue) {
		later, retried := operationDue("op-3", store.Email, nine.Add(time.Minute)),
			operationDue("op-4", store.Email, nine.Add(time.Minute))
		retried.AttemptedAt = nine
		q.add(operationDue("op-1", store.UpstreamBook, nine), operationDue("op-2", store.Email, nine), later, retried,
			operationDue("op-5", store.Email, nine.Add(30*24*time.Hour)),
			operationDue("op-6", store.Webhook, nine.Add(time.Minute)))
		counts := func(pending, processing int, kinds ...store.OperationKind) {
			q.Helper()
			got, err := q.Counts(q.Context(), kinds...)
			if want := (store.OperationCounts{Pending: pending, Processing: processing}); err != nil || got != want {
				q.Errorf("Counts of %v: got %+v, %v; want %+v", kinds, got, err, want)
			}
		}
		scheduled := func(now time.Time, want int) {
			q.Helper()
			if got, err := q.Scheduled(q.Context(), now); err != nil || got != want {
				q.Errorf("Scheduled at %s: got %d, %v; want %d", now, got, err, want)
			}
		}
		all := func() {
			q.Helper()
			counts(6, 0)
			counts(1, 0, store.UpstreamBook)
			counts(4, 0, store.Email)
			counts(2, 0, store.UpstreamBook, store.Webhook)
			counts(0, 0, store.UpstreamCancel)
			scheduled(nine, 2) // not op-2, which is due, nor op-4, which is being retried
			scheduled(nine.Add(time.Minute), 1)
			scheduled(nine.Add(31*24*time.Hour), 0)
		}
		all()
		q.reopen()
		all()
		for _, want := range []struct {
			filter store.OperationFilter
			ids    string
		}{
			{store.OperationFilter{Kinds: []store.OperationKind{store.Email}, Due: nine}, "op-2 op-4"},
			{store.OperationFilter{Due: nine.Add(time.Minute)}, "op-1 op-2 op-3 op-4 op-6"},
			{store.OperationFilter{Kinds: []store.OperationKind{store.UpstreamBook, store.Webhook},
				Status: store.OperationPending}, "op-1 op-6"},
		} {
			list, err := q.Operations(q.Context(), want.filter)
			var got []string
			for _, op := range list {
				got = append(got, op.ID)
			}
			if err != nil || strings.Join(got, " ") != want.ids {
				q.Errorf("Operations(%+v): got %v, %v; want %s", want.filter, got, err, want.ids)
			}
		}
		op := q.take(nine)
		counts(5, 1)
		op.Kind, op.Status = store.UpstreamReschedule, store.OperationPending
		q.change(op, "changed")
		counts(0, 0, store.UpstreamBook)
		counts(1, 0, store.UpstreamReschedule)
		if err := q.Remove(q.Context(), op.ID); err != nil {
			q.Fatal(err)
		}
		counts(0, 0, store.UpstreamReschedule)
	}},
	{"a caller who has gone changes nothing", func(q *queue) {
		q.add(operationDue("op-1", store.Email, nine))
		gone, leave := context.WithCancel(q.Context())
		leave()
		for name, call := range map[string]func() error{
			"Add":     func() error { return q.Add(gone, operationDue("op-2", store.Email, nine)) },
			"Take":    func() error { _, err := q.Take(gone, nine); return err },
			"Change":  func() error { return q.Change(gone, operationDue("op-1", store.Webhook, nine), "changed", "") },
			"Remove":  func() error { return q.Remove(gone, "op-1") },
			"Recover": func() error { _, err := q.Recover(gone, nine); return err },
			"Prune":   func() error { _, err := q.Prune(gone, nine); return err },
			"Erase":   func() error { return q.Erase(gone, "op-1") },
			"Counts":  func() error { _, err := q.Counts(gone); return err },
		} {
			if err := call(); !errors.Is(err, context.Canceled) {
				q.Errorf("%s: got %v, want context.Canceled", name, err)
			}
		}
		q.wantSame(q.get("op-1"), operationDue("op-1", store.Email, nine))
		q.wantCounts(1, 0, 0, 0)
		q.wantEvents("op-1", "added")
	}},
}
