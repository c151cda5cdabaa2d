package rule

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/clinic"
)

// TestReadRefusesInvalidAnswers: a decision is one of three values, and a refusal has a short reason for the patient.
func TestReadRefusesInvalidAnswers(t *testing.T) {
	for answer, want := range map[string]struct{ decision, reason, err string }{
		`{"decision": "allow"}`:                                                        {decision: "allow"},
		`{"decision": "allow", "reason": "known patient"}`:                             {decision: "allow", reason: "known patient"},
		`{"decision": "approve", "more": 1}`:                                           {decision: "approve"},
		`{"decision": "refuse", "reason": " Call us. "}`:                               {decision: "refuse", reason: "Call us."},
		`{"decision": "refuse", "reason": "  "}`:                                       {err: "needs a reason"},
		`{"decision": "refuse"}`:                                                       {err: "needs a reason"},
		`{"decision": "Allow"}`:                                                        {err: "the decision must be"},
		`{"decision": ""}`:                                                             {err: "the decision must be"},
		`{"decision": "refuse", "reason": "a\nb"}`:                                     {err: "control character"},
		`{"decision": "refuse", "reason": "a` + "\u0085b\"}":                           {err: "control character"},
		`{"decision": "refuse", "reason": "` + strings.Repeat("ä", maxReason) + `"}`:   {decision: "refuse", reason: strings.Repeat("ä", maxReason)},
		`{"decision": "refuse", "reason": "` + strings.Repeat("ä", maxReason+1) + `"}`: {err: "more than 300"},
		``: {err: "not JSON"}, `allow`: {err: "not JSON"}, `["allow"]`: {err: "not JSON"}, `{"decision": 1}`: {err: "not JSON"},
	} {
		decision, reason, err := read([]byte(answer))
		if want.err != "" {
			if err == nil || !strings.Contains(err.Error(), want.err) {
				t.Errorf("%s: got %v, want an error with %q", answer, err, want.err)
			}
			continue
		}
		if decision != want.decision || reason != want.reason || err != nil {
			t.Errorf("%s: got %q, %q, %v; want %q, %q", answer, decision, reason, err, want.decision, want.reason)
		}
	}
}

// FuzzRead: an accepted response has a known decision and a reason that a page can show.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{`{"decision": "allow"}`, `{"decision": "refuse", "reason": "Call us."}`, `{"decision": "approve"}`, `{}`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		decision, reason, err := read(answer)
		if err != nil {
			return
		}
		if decision != "allow" && decision != "refuse" && decision != "approve" || decision == "refuse" && reason == "" || strings.ContainsAny(reason, "\x00\n\r\t") {
			t.Errorf("accepted %q with %q and %q", answer, decision, reason)
		}
	})
}

// TestTryEndsAtTheDeadline: a program that does not respond costs at most the clinic's timeout.
func TestTryEndsAtTheDeadline(t *testing.T) {
	for _, millis := range []int{200, 0, 2000} {
		synctest.Test(t, func(t *testing.T) {
			r := New(nil, func(ctx context.Context, _ string, _ []string, _ string, _ time.Time, _ []byte) ([]byte, error) {
				<-ctx.Done()
				return nil, errors.New("the connection was closed")
			}, slog.New(slog.DiscardHandler))
			began, rule := time.Now(), clinic.BookingRule{URL: "https://rules.example", TimeoutMillis: millis}
			_, _, err := r.Try(t.Context(), rule)
			if took := time.Since(began); took != rule.Timeout() || err == nil || !strings.Contains(err.Error(), "no answer within") {
				t.Errorf("%d ms: got %v after %v, want no answer after %v", millis, err, took, rule.Timeout())
			}
		})
	}
}

// TestTrySendsInventedPatientOnly: a test call contains no data from the clinic, and contains a patient only if the
// rule sends one.
func TestTrySendsInventedPatientOnly(t *testing.T) {
	var sent body
	r := New(nil, func(_ context.Context, _ string, _ []string, _ string, _ time.Time, raw []byte) ([]byte, error) {
		sent = body{}
		return []byte(`{"decision": "allow"}`), json.Unmarshal(raw, &sent)
	}, slog.New(slog.DiscardHandler))
	for _, sends := range []bool{false, true} {
		decision, _, err := r.Try(t.Context(), clinic.BookingRule{URL: "https://rules.example", SendPatient: sends})
		if decision != "allow" || err != nil || sent.Type != "booking.check" || (sent.Data.Patient != nil) != sends {
			t.Errorf("with the patient %t: got %q, %v, and the body %+v", sends, decision, err, sent)
		}
	}
	if _, _, err := New(nil, nil, nil).Try(t.Context(), clinic.BookingRule{URL: "https://rules.example"}); err == nil {
		t.Error("without outbound calls, Try returns no error")
	}
}
