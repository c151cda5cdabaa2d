package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/enginetest"
)

// TestGuessesCountOnAllNodes: guessing a password through all nodes allows no more attempts than guessing through one.
// The right password still signs in.
func TestGuessesCountOnAllNodes(t *testing.T) {
	c := newNodes(t, 2, nil)
	c.clinic("ada")
	if _, err := c.all[0].Account.CreateUser(t.Context(), "system", enginetest.Owner()); err != nil {
		t.Fatal(err)
	}
	try := func(n *node, password, address string) error {
		_, _, err := n.Account.SignIn(t.Context(), account.Credentials{Email: "owner@example.org",
			Password: password, Address: address})
		return err
	}
	var backoff *account.BackoffError
	tries := 0
	for began := time.Now(); tries < 20; tries++ {
		err := try(c.all[tries%2], fmt.Sprintf("wrong password %d", tries), "192.0.2.7")
		if errors.As(err, &backoff) {
			if !backoff.Until.After(began) || backoff.Until.After(time.Now().Add(time.Minute)) {
				t.Errorf("the next attempt is allowed at %v, want within a minute", backoff.Until)
			}
			break
		}
		if !errors.Is(err, account.ErrWrongPassword) {
			t.Fatalf("try %d: got %v, want ErrWrongPassword", tries, err)
		}
	}
	if tries < 5 || tries > 6 { // 5 without a delay; on a slow machine, the first delay (1 s) may already be over
		t.Errorf("%d guesses through two nodes, want the 5 of one node", tries)
	}
	for i, n := range c.all {
		if err := try(n, enginetest.GoodPassword, fmt.Sprintf("198.51.100.%d", i+1)); err != nil {
			t.Errorf("from another network at node %d: got %v", i, err)
		}
	}
}
