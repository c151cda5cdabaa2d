package record

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"holdfast/store"
)

// TestAnswersInMemoryExpire: no response outlives the retention period, even if no other response is added.
func TestAnswersInMemoryExpire(t *testing.T) {
	now := time.Now()
	r := New(nil)
	once := &Once{Scope: "s", Key: "k", Answer: func(any) (int, []byte) { return 201, []byte("it") }}
	r.Remember(once, nil, now)
	for _, x := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {store.IdempotencyRetention - time.Second, true}, {store.IdempotencyRetention, false}} {
		if _, known := r.answered(once, now.Add(x.after)); known != x.want {
			t.Errorf("after %v: remembered is %v, want %v", x.after, known, x.want)
		}
	}
}

// TestAnswersInMemoryAreBounded fills the memory several times over, and recalls the first and the last response.
func TestAnswersInMemoryAreBounded(t *testing.T) {
	r, now := New(nil), time.Now()
	body := bytes.Repeat([]byte("x"), 64<<10)
	nth := func(n int) *Once {
		return &Once{Scope: "s", Key: fmt.Sprint(n), Answer: func(any) (int, []byte) { return 201, body }}
	}
	last := 10 * maxAnswerBytes / len(body)
	remembered := 0
	for n := range last + 1 {
		r.Remember(nth(n), nil, now)
	}
	for n := range last + 1 {
		if _, known := r.answered(nth(n), now); known {
			remembered += len(body)
		}
	}
	if remembered > 2*maxAnswerBytes {
		t.Errorf("%d bytes are stored, want at most %d", remembered, 2*maxAnswerBytes)
	}
	if _, known := r.answered(nth(0), now); known {
		t.Error("the first of many answers is still stored")
	}
	if _, known := r.answered(nth(last), now); !known {
		t.Error("the last answer is not stored")
	}
}
