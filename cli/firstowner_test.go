package cli

import (
	"io"
	"testing"

	"holdfast/engine/enginetest"
)

// TestTwoNodesCreateOneOwner: two nodes with the same settings start on a new database. The node whose owner comes
// second starts too, instead of ending with an error.
func TestTwoNodesCreateOneOwner(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, nil)
	cfg := config{ownerEmail: "owner@example.org", ownerPassword: enginetest.GoodPassword}
	first := func() {
		if err := firstRun(t.Context(), io.Discard, &house{engine: c.Engine}, cfg); err != nil {
			t.Fatal(err)
		}
	}
	if err := firstRun(t.Context(), io.Discard, &house{engine: c.Beside(first)}, cfg); err != nil {
		t.Error(err)
	}
	users, err := c.Engine.Account.Users(t.Context())
	if err != nil || len(users) != 1 {
		t.Errorf("got %d users and %v, want one owner", len(users), err)
	}
}
