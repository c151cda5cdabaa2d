package presence_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/presence"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

func TestUnansweredSessionExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada")
		c.online("ada")
		events := c.Events(holds.EventSession)
		lost, answered := c.request(1), c.request(2)
		time.Sleep(presence.SessionRequestTTL - time.Millisecond)
		c.mustAccept(answered.ID, "ada")
		time.Sleep(time.Millisecond)
		_, err := c.Presence.AcceptSession(t.Context(), lost.ID, "ada") // whether or not a sweep has expired it yet
		enginetest.WantRefusal(t, "at its end", err, presence.ReasonEnded)
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if s, err := c.Presence.Session(t.Context(), lost.ID); err != nil || s.Status != store.SessionExpired ||
			s.EndedAt.IsZero() {
			t.Errorf("unanswered: got %+v, %v; want expired", s, err)
		}
		if s, err := c.Presence.Session(t.Context(), answered.ID); err != nil || s.Status != store.SessionActive {
			t.Errorf("answered in time: got %+v, %v; want active", s, err)
		}
		told := 0
		for _, ev := range events() {
			if ev.SessionID == lost.ID && ev.Reason == "expired" {
				told++
			}
		}
		if told != 1 {
			t.Errorf("the streams received %d events that the request expired, want one", told)
		}
		if again := c.request(1); again.ID == lost.ID {
			t.Error("a new request returned the expired one")
		}
	})
}

// TestIdleNodeReadsNoSessions: without an open session the node does not read the database, and still expires a session
// that another node opens.
func TestIdleNodeReadsNoSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada")
		time.Sleep(time.Second)
		before := c.counted.sessions.Load()
		for range 2 {
			time.Sleep(3 * time.Hour)
			if n := c.counted.sessions.Load() - before; n != 0 {
				t.Errorf("an idle node read the sessions %d times in 3 hours", n)
			}
			now := time.Now()
			s := store.Session{ID: record.NewID(), Owner: "client", Version: 1,
				Status: store.SessionRequested, RequestedAt: now, ExpiresAt: now.Add(presence.SessionRequestTTL)}
			insert := func(tx store.Tx) error { return tx.InsertSession(t.Context(), s) }
			if err := c.Store.Write(t.Context(), insert); err != nil {
				t.Fatal(err)
			}
			time.Sleep(presence.SessionRequestTTL + time.Second)
			if s, err := c.Presence.Session(t.Context(), s.ID); err != nil || s.Status != store.SessionExpired {
				t.Errorf("a session of another node: got %+v, %v; want expired", s, err)
			}
			before = c.counted.sessions.Load()
		}
	})
}

// TestUnendedSessionExpires: an expired session frees its place, the streams get the event, and a sign of life
// postpones the expiry.
func TestUnendedSessionExpires(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	for name, c := range map[string]struct {
		settings int // minutes; 0 means the default
		pending  bool
		life     func(c *onCall, id string) error // activity halfway through
		want     time.Duration                    // after the acceptance
	}{
		"accepted":                     {want: 4 * time.Hour},
		"with its payment pending":     {pending: true, want: 4 * time.Hour},
		"after the clinic's own limit": {settings: 30, want: 30 * time.Minute},
		"accepted once more by the same": {life: func(c *onCall, id string) error {
			_, err := c.Presence.AcceptSession(c.T.Context(), id, "ada")
			return err
		}, want: 6 * time.Hour},
		"handed to the one who has it": {life: func(c *onCall, id string) error {
			_, err := c.Presence.RerouteSession(c.T.Context(), id, "ada")
			return err
		}, want: 6 * time.Hour},
		"with its payment asked for again": {pending: true, life: func(c *onCall, id string) error {
			_, err := c.Presence.SetSessionPayment(c.T.Context(), id, true)
			return err
		}, want: 6 * time.Hour},
		"looked at, which is no sign of life": {life: func(c *onCall, id string) error {
			_, err := c.Presence.Session(c.T.Context(), id)
			return err
		}, want: 4 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOnCall(t, presence.Options{}, "ada")
				ping := false
				o.settings(func(s *clinic.Settings) { s.RequirePing, s.SessionIdleMinutes = &ping, c.settings })
				o.online("ada")
				events := o.Events(holds.EventSession)
				s := o.request(1)
				accepted := o.mustAccept(s.ID, "ada").AcceptedAt
				if c.pending {
					if _, err := o.Presence.SetSessionPayment(t.Context(), s.ID, true); err != nil {
						t.Fatal(err)
					}
				}
				if c.life != nil {
					time.Sleep(2 * time.Hour)
					if err := c.life(o, s.ID); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Until(accepted.Add(c.want)) - time.Second)
				if now, err := o.Presence.Session(t.Context(), s.ID); err != nil || now.Status == store.SessionExpired {
					t.Errorf("a second before %v: got %s, %v", c.want, now.Status, err)
				}
				o.wantLoads(map[string]int{"ada": 1})
				time.Sleep(time.Minute + 2*time.Second)
				if now, err := o.Presence.Session(t.Context(), s.ID); err != nil ||
					now.Status != store.SessionExpired || now.EndedAt.IsZero() || now.SpecialistID != "ada" {
					t.Errorf("a minute after %v: got %+v, %v; want expired", c.want, now, err)
				}
				o.wantLoads(map[string]int{"ada": 0})
				told := 0
				for _, e := range events() {
					if e.SessionID == s.ID && e.Reason == "expired" && e.SpecialistID == "ada" {
						told++
					}
				}
				if told != 1 {
					t.Errorf("the streams received %d events that it expired, want one", told)
				}
				_, err := o.Presence.EndSession(t.Context(), s.ID, "late")
				enginetest.WantRefusal(t, "ending it afterwards", err, presence.ReasonEnded)
			})
		})
	}
}

// TestSessionListIsBounded: more sessions are waiting than one read returns, and none of them is due. The loop waits
// until the first one expires.
func TestSessionListIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada")
		for i := range 501 {
			c.request(i)
		}
		synctest.Wait() // never returns if the loop reads again and again
		time.Sleep(presence.SessionRequestTTL + 2*time.Second)
		synctest.Wait()
		left, err := c.Presence.Sessions(t.Context(),
			store.SessionFilter{Statuses: []store.SessionStatus{store.SessionRequested}})
		if err != nil || len(left) != 0 {
			t.Errorf("got %d open requests, %v; want none", len(left), err)
		}
	})
}
