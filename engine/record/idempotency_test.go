package record

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"holdfast/store"
)

// TestAnswersInMemoryAreBounded fills the memory over and over, and asks for the first and the last.
func TestAnswersInMemoryAreBounded(t *testing.T) {
	var a answers
	now := time.Now()
	body := bytes.Repeat([]byte("x"), 64<<10)
	last := 10 * maxAnswerBytes / len(body)
	for n := range last + 1 {
		a.put(store.IdempotencyRecord{Scope: "s", Key: fmt.Sprint(n), Body: body, CreatedAt: now})
	}
	total := 0
	for _, half := range []map[answerKey]store.IdempotencyRecord{a.new, a.old} {
		for _, r := range half {
			total += len(r.Body)
		}
	}
	if total > 2*maxAnswerBytes {
		t.Errorf("%d bytes are remembered, want at most %d", total, 2*maxAnswerBytes)
	}
	if _, known := a.get("s", "0", now); known {
		t.Error("the first of very many is still remembered")
	}
	if _, known := a.get("s", fmt.Sprint(last), now); !known {
		t.Error("the last is not remembered")
	}
}

// TestAnswersInMemoryAreForgottenByAge: none outlives the retention, and nobody else's has to be added for that.
func TestAnswersInMemoryAreForgottenByAge(t *testing.T) {
	var a answers
	now := time.Now()
	a.put(store.IdempotencyRecord{Scope: "s", Key: "k", CreatedAt: now})
	for _, x := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {store.IdempotencyRetention - time.Second, true}, {store.IdempotencyRetention, false}} {
		if _, known := a.get("s", "k", now.Add(x.after)); known != x.want {
			t.Errorf("after %v: remembered is %v, want %v", x.after, known, x.want)
		}
	}
	a.put(store.IdempotencyRecord{Scope: "s", Key: "a day later", CreatedAt: now.Add(24 * time.Hour)})
	a.put(store.IdempotencyRecord{Scope: "s", Key: "two days later", CreatedAt: now.Add(48 * time.Hour)})
	if len(a.new)+len(a.old) != 2 {
		t.Errorf("%d answers are kept, want those of the last day", len(a.new)+len(a.old))
	}
}
