package account

import (
	"cmp"
	"context"
	"sync"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// Failed sign-ins are in the audit log by account and network: the first of an hour, the tenth, the hundredth and so on, each with how
// many there were. What was typed as an account is not: it may be a password in the wrong field. Whoever tries accounts and networks
// without end gets maxFailedEntries lines an hour and then one that says so.

const maxFailedEntries = 200

// failedSignIns counts the failures of one hour.
type failedSignIns struct {
	mu      sync.Mutex
	hour    time.Time
	counts  map[[2]string]int // by account and network
	entries int
}

// failedJSON is what the audit log says of them.
type failedJSON struct {
	Network  string `json:"network,omitempty"`
	Failures int    `json:"failures,omitempty"` // in this hour
	More     bool   `json:"more,omitempty"`     // the others of this hour are not listed
}

// count counts one failure, and says what is to be written about it, if anything.
func (f *failedSignIns) count(account, network string, now time.Time) (entry failedJSON, write bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if hour := now.Truncate(time.Hour); !hour.Equal(f.hour) {
		f.hour, f.counts, f.entries = hour, make(map[[2]string]int), 0
	}
	key := [2]string{account, network}
	if f.entries > maxFailedEntries && f.counts[key] == 0 {
		return failedJSON{}, false // not even counted, so the memory is bounded
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

// noteFailed writes a failed sign-in down. userID is empty where no account has the address.
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
		ac.log.Warn("failed sign-in not audited", "error", err)
	}
}
