package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"holdfast/store"
)

// testRetention checks that the Forget methods remove old rows by their age, at most limit rows at a time, and no
// others.
func testRetention(t *testing.T, h Harness) {
	ctx := context.Background()
	hour := func(n int) time.Time { return monday.Add(time.Duration(n) * time.Hour) }
	type forget func(tx store.Tx, ctx context.Context, before time.Time, limit int) (int, error)

	// Each case has rows from the hours 0 to 5. Those from even hours can be removed. The method removes those from
	// before hour 4.
	for name, x := range map[string]struct {
		put    func(tx store.Tx, n int) error
		forget forget
		left   func(s store.Store) (int, error)
		want   int
		total  int
	}{
		"sign-ins that expired": {
			put: func(tx store.Tx, n int) error {
				if n == 0 {
					if err := tx.PutUser(ctx, store.User{ID: "u1",
						Email: "u1@example.org", Name: "U", Role: store.RoleOwner, Active: true,
						CreatedAt: monday}); err != nil {
						return err
					}
				}
				return tx.InsertSignIn(ctx, store.SignIn{ID: fmt.Sprint(n),
					Hash: [32]byte{byte(n)}, UserID: "u1", CreatedAt: monday, LastSeenAt: monday, ExpiresAt: hour(n)})
			},
			forget: store.Tx.ForgetSignIns, want: 4, total: 6,
			left: func(s store.Store) (int, error) { list, err := s.SignIns(ctx, "u1"); return len(list), err },
		},
		"sessions that are over": {
			put: func(tx store.Tx, n int) error {
				x := store.Session{ID: fmt.Sprint(n), Status: store.SessionEnded,
					RequestedAt: hour(n).Add(-time.Minute), EndedAt: hour(n), UpdatedAt: hour(n), Version: 1}
				if n%2 == 1 {
					x.Status, x.EndedAt = store.SessionActive, time.Time{}
				}
				return tx.InsertSession(ctx, x)
			},
			forget: store.Tx.ForgetSessions, want: 2, total: 6,
			left: func(s store.Store) (int, error) {
				list, err := s.Sessions(ctx, store.SessionFilter{})
				return len(list), err
			},
		},
		"deliveries": {
			put: func(tx store.Tx, n int) error {
				d := store.Delivery{OperationID: fmt.Sprintf("op-%d-aaaaaa", hour(n).UnixMilli()), AppointmentID: "a1",
					Channel: "email", State: "delivered", UpdatedAt: hour(n)}
				switch n {
				case 1:
					d.State = "queued" // due later
				case 3, 5:
					d.UpdatedAt = hour(9) // retried in the meantime
				}
				return tx.PutDelivery(ctx, d)
			},
			forget: store.Tx.ForgetDeliveries, want: 2, total: 6,
			left: func(s store.Store) (int, error) { list, err := s.Deliveries(ctx, "a1"); return len(list), err },
		},
		"states for undo": {
			put: func(tx store.Tx, n int) error {
				if n == 0 {
					a := booking("ada", "checkup", 0, 30)
					a.ID = "a1"
					if err := tx.InsertAppointment(ctx, a); err != nil {
						return err
					}
				}
				u := store.UndoState{AppointmentID: "a1", Version: int64(n), ChangeID: "c", At: monday,
					ExpiresAt: hour(n)}
				return tx.InsertUndoState(ctx, u)
			},
			forget: store.Tx.ForgetUndoStates, want: 4, total: 6,
			left: func(s store.Store) (int, error) { list, err := s.UndoStates(ctx, "c"); return len(list), err },
		},
		"the log of presence": {
			put: func(tx store.Tx, n int) error {
				return tx.AppendPresence(ctx, store.PresenceChange{At: hour(n), SpecialistID: "ada", Change: "online"})
			},
			forget: store.Tx.ForgetPresence, want: 4, total: 6,
			left: func(s store.Store) (int, error) {
				list, err := s.PresenceLog(ctx, "ada", 100)
				return len(list), err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := h.open(t)
			clinic(t, s)
			for n := range x.total {
				write(t, s, func(tx store.Tx) error { return x.put(tx, n) })
			}
			gone := 0
			for step := 0; ; step++ {
				var n int
				write(t, s, func(tx store.Tx) (err error) { n, err = x.forget(tx, ctx, hour(4), 1); return err })
				if n > 1 {
					t.Errorf("step %d removed %d, want at most 1", step, n)
				}
				if gone += n; n == 0 {
					break
				}
			}
			left, err := x.left(s)
			if err != nil {
				t.Fatal(err)
			}
			if gone != x.want || left != x.total-x.want {
				t.Errorf("%d were removed and %d remain, want %d and %d", gone, left, x.want, x.total-x.want)
			}
		})
	}
}
