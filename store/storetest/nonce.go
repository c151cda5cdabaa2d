package storetest

import (
	"fmt"
	"testing"
	"time"

	"holdfast/store"
)

func testNonce(t *testing.T, h Harness) {
	s := h.open(t)
	ctx := t.Context()
	use := func(u store.NonceUse) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.UseNonce(ctx, u) })
	}
	first := store.NonceUse{Nonce: "n1", PatientID: "p1", AppointmentID: "a1", ExpiresAt: monday}
	_, err := s.NonceUse(ctx, "n1")
	wantErr(t, "unused", err, store.ErrNotFound)
	wantErr(t, "the first use", use(first), nil)
	wantErr(t, "the second use", use(store.NonceUse{Nonce: "n1", PatientID: "p2", AppointmentID: "a2"}),
		store.ErrDuplicate)
	if got, err := s.NonceUse(ctx, "n1"); err != nil || got != first {
		t.Errorf("got %+v, %v; want %+v", got, err, first)
	}
	write(t, s, func(tx store.Tx) error { return tx.FreeNonces(ctx, "a1") })
	wantErr(t, "a use after it was freed", use(first), nil)

	for i := range 4 {
		wantErr(t, "use", use(store.NonceUse{Nonce: fmt.Sprint("m", i), AppointmentID: "a3",
			ExpiresAt: monday.Add(time.Duration(i) * time.Hour)}), nil)
	}
	for round, want := range []int{2, 1, 0} { // n1 and m0, then m1; m2 expires exactly at the instant
		n := 0
		write(t, s, func(tx store.Tx) (err error) {
			n, err = tx.ForgetNonces(ctx, monday.Add(2*time.Hour), 2)
			return err
		})
		if n != want {
			t.Errorf("round %d: got %d forgotten, want %d", round, n, want)
		}
	}
	_, err = s.NonceUse(ctx, "m2")
	wantErr(t, "one that lapses at the instant", err, nil)
}
