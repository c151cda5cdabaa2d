package account

import (
	"context"
	"encoding/hex"
	"time"

	"holdfast/store"
)

// # Guesses at several nodes
//
// Each node counts the guesses that it is asked (guess.go), also those that are not decided yet. Where there are other nodes, the failed
// ones are counted in the database as well, under keyed hashes, and a guess waits for those of all nodes. What is right forgives at its
// own node; in the database a failure counts for maxBackoff, and the wait is counted from the last one.

// beginGuess counts one guess as failed, until endGuess says otherwise. If it has to wait it is not counted, and until is the earliest
// instant at which it may be tried again; asked then, it may have to wait once more.
func (ac *Account) beginGuess(ctx context.Context, now time.Time, x guess) (until time.Time, err error) {
	if ac.shared {
		if until, err = ac.waitForAll(ctx, now, x); err != nil || until.After(now) {
			return until, err
		}
	}
	return ac.guesses.begin(now, x), nil
}

// endGuess says what became of a guess that beginGuess has counted.
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

// waitForAll is until when a guess waits for what failed at any node; a past instant or zero: it need not.
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

// tallyOf is the key under which failures are counted in the database.
func (ac *Account) tallyOf(c counted) string {
	return "guess/" + ac.keys.Current().Name("guess "+hex.EncodeToString(c.key[:]))
}
