package account_test

import (
	"context"
	"errors"
	"testing"

	"holdfast/engine/account"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
)

func TestSecondFactorNeedsPasswordAndCode(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, x := range []struct {
		name     string
		password string
		steps    int // shifts the code by this many steps; 99 means no code
		want     error
	}{
		{"a wrong password", "not the right one", 0, account.ErrWrongPassword},
		{"no code", enginetest.GoodPassword, 99, account.ErrCodeNeeded},
		{"a code that was used", enginetest.GoodPassword, -1, account.ErrWrongCode},
		{"both", enginetest.GoodPassword, 0, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := enginetest.NewClinic(t, map[string]int{"ada": 1})
			u := staff(c)
			_, code := withCode(c, &u)
			here, elsewhere := signedIn(c, &u), signedIn(c, &u)
			proof := account.Proof{Password: x.password}
			if x.steps != 99 {
				proof.Code = code(x.steps)
			}
			if err := c.Account.DisableTOTP(ctx, here, proof); !errors.Is(err, x.want) {
				t.Errorf("got %v, want %v", err, x.want)
			}
			if on := user(c, u.ID).TOTPSecret != nil; on != (x.want != nil) {
				t.Errorf("two-factor authentication is on: %t, want %t", on, x.want != nil)
			}
			open := make(map[string]bool)
			list, err := c.Account.SignIns(ctx, u.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range list {
				open[s.ID] = true
			}
			if !open[here.SignIn.ID] || open[elsewhere.SignIn.ID] != (x.want != nil) {
				t.Errorf("sessions are %v; want this one, and the other one only without a change", open)
			}
			if err := c.Account.DisableTOTP(ctx, elsewhere, proof); x.want == nil &&
				!errors.Is(err, record.ErrUnauthorized) {
				t.Errorf("from an ended session: got %v, want ErrUnauthorized", err)
			}
		})
	}
}
