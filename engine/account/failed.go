package account

import (
	"cmp"
	"context"
	"sync"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// The audit log records failed sign-ins by account and network: the first in an hour, the tenth, the hundredth and so
// on, each with the number of failures up to then. It does not record the contents of the account field, which might be
// a password typed into the wrong field. If an attacker tries a very large number of accounts and networks, the log
// gets maxFailedEntries entries an hour, and then one entry saying that the rest are omitted.

const maxFailedEntries = 200

// failedSignIns counts the failures within one hour.
type failedSignIns struct {
	mu      sync.Mutex
	hour    time.Time
	counts  map[[2]string]int // keyed by account and network
	entries int
}

// failedJSON is the audit entry for a failed sign-in.
type failedJSON struct {
	Network  string `json:"network,omitempty"`
	Failures int    `json:"failures,omitempty"` // number of failures in this hour
	More     bool   `json:"more,omitempty"`     // the log omits the other failures of this hour
}

// count counts one failure. If write is true, the caller must write entry to the audit log.
func (f *failedSignIns) count(account, network string, now time.Time) (entry failedJSON, write bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if hour := now.Truncate(time.Hour); !hour.Equal(f.hour) {
		f.hour, f.counts, f.entries = hour, make(map[[2]string]int), 0
	}
	key := [2]string{account, network}
	if f.entries > maxFailedEntries && f.counts[key] == 0 {
		return failedJSON{}, false // not counted at all, so that memory use stays bounded
	}
	f.counts[key]++
	n := f.counts[key]
	if !isPowerOfTen(n) {
		return failedJSON{}, false
	}
	if f.entries++; f.entries > maxFailedEntries {
		return failedJSON{More: true}, f.entries == maxFailedEntries+1
	}
	return failedJSON{Network: network, Failures: n}, true
}

func isPowerOfTen(n int) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}

// noteFailed records a failed sign-in in the audit log. userID is empty if no account has that email address.
func (ac *Account) noteFailed(ctx context.Context, userID, address string, why error, now time.Time) {
	subject := "user:" + cmp.Or(userID, "unknown")
	entry, write := ac.failed.count(subject, networkOf(address), now)
	if !write {
		return
	}
	if entry.More {
		subject = "user:unknown"
	}
	err := ac.store.Write(context.WithoutCancel(ctx), func(tx store.Tx) error {
		return record.Audit(ctx, tx, now, "client", record.ActionUserSignInFailed, subject, why.Error(), nil, entry)
	})
	if err != nil {
		ac.log.Warn("failed to record a failed sign-in in the audit log", "error", err)
	}
}
