package cli

import (
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// TestWarnsOfWritesWithoutUpstream: a server without the settings of the practice-management system warns of the writes
// that wait for it. Other operations and failed writes cause no warning.
func TestWarnsOfWritesWithoutUpstream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind   store.OperationKind
		status store.OperationStatus
		want   bool
	}{
		"a waiting write": {store.UpstreamBook, store.OperationPending, true},
		"a failed write":  {store.UpstreamBook, store.OperationFailed, false},
		"a webhook":       {store.Webhook, store.OperationPending, false},
	} {
		h, log := backingUp(t, clinicDir(t))
		err := h.store.Write(t.Context(), func(tx store.Tx) error {
			return tx.Promise(t.Context(), store.Operation{
				ID: "op-1-aaaaaa", Kind: c.kind, Status: c.status, MaxAttempts: 1, CreatedAt: time.Now(),
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		h.warnWithoutUpstream(t.Context())
		if got := strings.Contains(log.String(), "--upstream-url is not set"); got != c.want {
			t.Errorf("%s: got the log %q, want a warning: %t", name, log.String(), c.want)
		}
	}
}
