package store_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// TestBackoffFollowsDocumentedRule checks the published retry rule of the practice-management system: 20, 40, 80 and
// 160 seconds, then always 300.
func TestBackoffFollowsDocumentedRule(t *testing.T) {
	for _, c := range []struct {
		base    time.Duration
		attempt int
		want    time.Duration
	}{
		{10 * time.Second, 0, 10 * time.Second},
		{10 * time.Second, 1, 20 * time.Second},
		{10 * time.Second, 2, 40 * time.Second},
		{10 * time.Second, 3, 80 * time.Second},
		{10 * time.Second, 4, 160 * time.Second},
		{10 * time.Second, 5, 300 * time.Second},
		{10 * time.Second, 6, 300 * time.Second},
		{10 * time.Second, 10, 300 * time.Second},
		{10 * time.Second, 1 << 40, 300 * time.Second}, // no overflow, and no loop with that many rounds
		{50 * time.Millisecond, 1, 100 * time.Millisecond},
		{50 * time.Millisecond, 12, 204800 * time.Millisecond},
		{50 * time.Millisecond, 13, 300 * time.Second},
		{time.Hour, 0, 300 * time.Second},
		{time.Hour, 1, 300 * time.Second},
	} {
		if got := store.Backoff(c.base, c.attempt); got != c.want {
			t.Errorf("Backoff(%v, %d): got %v, want %v", c.base, c.attempt, got, c.want)
		}
	}
}

func TestOnlyCompletedAndFailedAreFinal(t *testing.T) {
	for status, want := range map[store.OperationStatus]bool{
		store.OperationPending: false, store.OperationProcessing: false,
		store.OperationCompleted: true, store.OperationFailed: true,
	} {
		if got := status.Final(); got != want {
			t.Errorf("%s.Final(): got %v, want %v", status, got, want)
		}
	}
}

func TestValidateRefusesInvalidOperation(t *testing.T) {
	good := store.Operation{ID: "op-1780000000000-a1b2c3", Kind: store.UpstreamBook, Status: store.OperationPending}
	for _, c := range []struct {
		name  string
		edit  func(*store.Operation)
		names string // a part of the error; empty means that the operation is accepted
	}{
		{"the smallest there is", func(*store.Operation) {}, ""},
		{"an appointment and a payload", func(op *store.Operation) {
			op.AppointmentID, op.Payload = "01978c3e-0000-7000-8000-000000000001", json.RawMessage(` {"a": 1} `)
		}, ""},
		{"an id of 64 characters", func(op *store.Operation) { op.ID = strings.Repeat("x", 64) }, ""},
		{"an id of 65", func(op *store.Operation) { op.ID = strings.Repeat("x", 65) }, "id"},
		{"no id", func(op *store.Operation) { op.ID = "" }, "id"},
		{"an id with a zero byte inside", func(op *store.Operation) { op.ID = "op\x00op" }, "id"},
		{"an appointment id with a slash", func(op *store.Operation) { op.AppointmentID = "a/b" }, "appointment"},
		{"no kind", func(op *store.Operation) { op.Kind = "" }, "kind"},
		{"a kind in capitals", func(op *store.Operation) { op.Kind = "Webhook" }, "kind"},
		{"no status", func(op *store.Operation) { op.Status = "" }, "status"},
		{"an unknown status", func(op *store.Operation) { op.Status = "lost" }, "status"},
		{"half a payload", func(op *store.Operation) { op.Payload = json.RawMessage(`{"a":`) }, "payload"},
		{"two payloads", func(op *store.Operation) { op.Payload = json.RawMessage(`{} {}`) }, "payload"},
	} {
		t.Run(c.name, func(t *testing.T) {
			op := good
			c.edit(&op)
			err := op.Validate()
			if c.names == "" {
				if err != nil {
					t.Fatalf("got %v, want nil", err)
				}
				return
			}
			if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), c.names) {
				t.Fatalf("got %v, want an ErrInvalid that names the %s", err, c.names)
			}
		})
	}
}
