package account

import (
	"context"
	"encoding/hex"
	"time"

	"holdfast/store"
)

// # Guesses on several nodes
//
// Each node counts the attempts that it receives (guess.go), including those without a result yet. In a cluster, nodes
// also count failed attempts in the database, under keyed hashes, and the wait depends on the failures on all nodes. A
// correct attempt resets only the counts of the node that received it. In the database, a failure counts for
// maxBackoff, and the wait starts at the last failure.

// beginGuess counts one attempt as failed until endGuess corrects the count. If the attempt has to wait, beginGuess
// does not count it, and until is the earliest instant when the attempt might be allowed. Even then, it might have to
// wait again.
func (ac *Account) beginGuess(ctx context.Context, now time.Time, x guess) (until time.Time, err error) {
	if err := store.Trial(ctx); err != nil {
		return time.Time{}, err
	}
	if ac.shared {
		if until, err = ac.waitForAll(ctx, now, x); err != nil || until.After(now) {
			return until, err
		}
	}
	return ac.guesses.begin(now, x), nil
}

// endGuess records the outcome of an attempt that beginGuess counted.
func (ac *Account) endGuess(ctx context.Context, x guess, err error) {
	ac.guesses.end(x, err)
	if !ac.shared || !isWrong(err) {
		return
	}
	at, ctx := time.Now().UTC(), context.WithoutCancel(ctx)
	failed := ac.store.Write(ctx, func(tx store.Tx) error {
		for _, c := range x {
			if err := tx.AddTally(ctx, ac.tallyOf(c), at); err != nil {
				return err
			}
		}
		return nil
	})
	if failed != nil {
		ac.log.Warn("failed sign-in counted on this node only", "error", failed)
	}
}

// waitForAll returns the instant until which an attempt must wait because of failures on all nodes. A past or zero
// instant means no wait.
func (ac *Account) waitForAll(ctx context.Context, now time.Time, x guess) (until time.Time, err error) {
	for _, c := range x {
		n, _, err := ac.store.Tally(ctx, ac.tallyOf(c), now.Add(-maxBackoff))
		if err != nil {
			return until, err
		}
		if n < c.free {
			continue
		}
		wait := c.wait(n)
		lately, first, err := ac.store.Tally(ctx, ac.tallyOf(c), now.Add(-wait))
		if err != nil {
			return until, err
		}
		if at := first.Add(wait); lately > 0 && at.After(until) {
			until = at
		}
	}
	return until, nil
}

// tallyOf returns the database key for a count.
func (ac *Account) tallyOf(c counted) string {
	return "guess/" + ac.keys.Current().Name("guess "+hex.EncodeToString(c.key[:]))
}
