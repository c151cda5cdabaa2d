package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast/store"
)

// journal is a follower that records every change.
type journal struct {
	mu      sync.Mutex
	changes []store.Change
	inside  bool // a call is running
	twice   bool // two calls ran at the same time
}

func (j *journal) take(changes []store.Change) {
	j.mu.Lock()
	j.twice, j.inside = j.twice || j.inside, true
	j.changes = append(j.changes, changes...)
	j.mu.Unlock()
	j.mu.Lock()
	j.inside = false
	j.mu.Unlock()
}

func (j *journal) all() []store.Change {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.changes)
}

func follow(t testing.TB, s store.Store) *journal {
	t.Helper()
	j := &journal{}
	if err := s.Changes(t.Context(), s.LastChange(), j.take); err != nil {
		t.Fatalf("Changes: %v", err)
	}
	return j
}

func testChange(t *testing.T, h Harness) {
	t.Run("Await returns after the change", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		wantErr(t, "of a change that is known", s.Await(t.Context(), s.LastChange()), nil)
		brief, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		wantErr(t, "of a change that does not come", s.Await(brief, s.LastChange()+1), context.DeadlineExceeded)
		j := follow(t, s)
		next, found := s.LastChange()+1, make(chan error, 1)
		go func() {
			err := s.Await(context.Background(), next)
			if err == nil && len(j.all()) == 0 {
				err = errors.New("the follower did not receive the change")
			}
			found <- err
		}()
		mustInsert(t, s, booking("ada", "checkup", 0, 30))
		select {
		case err := <-found:
			wantErr(t, "of the next change", err, nil)
		case <-time.After(10 * time.Minute):
			t.Fatal("Await is still waiting")
		}
		ended := make(chan error, 1)
		go func() { ended <- s.Await(context.Background(), s.LastChange()+1) }()
		wantErr(t, "Close", s.Close(), nil)
		wantErr(t, "of a store that is closed meanwhile", <-ended, store.ErrClosed)
	})
	t.Run("Write returns after its change was delivered", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		j := follow(t, s)
		a := mustInsert(t, s, booking("ada", "checkup", 0, 30))
		moved := a
		moved.SlotStart, moved.SlotEnd = a.SlotStart.Add(time.Hour), a.SlotEnd.Add(time.Hour)
		moved.BusyStart, moved.BusyEnd = moved.SlotStart, moved.SlotEnd
		arrived := moved
		arrived.Attendance, arrived.Version = store.Arrived, 2
		confirmed := arrived
		confirmed.UpstreamState, confirmed.Version = store.UpstreamConfirmed, 3
		renamed := confirmed
		renamed.Patient.Name, renamed.Version = "Jo Roe", 4
		cancelled := renamed
		cancelled.Status, cancelled.Version, cancelled.CancelledAt = store.Cancelled, 5, monday
		for i, step := range []struct {
			what          store.Kind
			row           *store.Appointment // nil means the inserted appointment
			before, after *store.Taken
		}{
			{store.KindCreated, nil, nil, a.Takes()},
			{store.KindRescheduled, &moved, a.Takes(), moved.Takes()},
			{store.KindAttendance, &arrived, moved.Takes(), moved.Takes()},
			{store.KindUpstream + "confirmed", &confirmed, moved.Takes(), moved.Takes()},
			{store.KindUpdated, &renamed, moved.Takes(), moved.Takes()},
			{store.KindCancelled, &cancelled, moved.Takes(), nil},
		} {
			if step.row != nil {
				wantErr(t, string(step.what), update(t, s, *step.row), nil)
			}
			got := j.all()
			if len(got) != i+1 {
				t.Fatalf("%s: the feed delivered %d changes, want %d", step.what, len(got), i+1)
			}
			c := got[i]
			if c.Noun != store.NounAppointment || c.ID != a.ID || c.What != step.what || c.Version != int64(i+1) ||
				c.Owner != a.Owner {
				t.Errorf("got %+v, want %s with version %d", c, step.what, i+1)
			}
			if !sameTaken(c.Before, step.before) || !sameTaken(c.After, step.after) {
				t.Errorf("%s: got before %+v and after %+v, want %+v and %+v", step.what, c.Before, c.After, step.before,
					step.after)
			}
		}
	})

	t.Run("numbers increase, also after a restart", func(t *testing.T) {
		dir := t.TempDir()
		s := h.Open(t, dir)
		clinic(t, s)
		j := follow(t, s)
		mustInsert(t, s, booking("ada", "checkup", 0, 30))
		told := j.all()
		if len(told) != 1 || told[0].Number != s.LastChange() || told[0].Number <= 0 {
			t.Fatalf("the feed delivered %+v, and the last change is %d", told, s.LastChange())
		}
		Verify(t, s)
		again := h.Open(t, dir)
		defer Verify(t, again)
		if got := again.LastChange(); got != told[0].Number {
			t.Errorf("after a restart the last change is %d, want %d", got, told[0].Number)
		}
		j = follow(t, again)
		mustInsert(t, again, booking("ada", "checkup", 60, 30))
		if got := j.all(); len(got) != 1 || got[0].Number <= told[0].Number {
			t.Errorf("after a restart: %+v, want one change with a number above %d", got, told[0].Number)
		}
	})

	t.Run("a late follower receives the changes that it missed", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		from := s.LastChange()
		mustInsert(t, s, booking("ada", "checkup", 0, 30))
		mustInsert(t, s, booking("ada", "checkup", 60, 30))
		j := &journal{}
		wantErr(t, "Changes", s.Changes(t.Context(), from, j.take), nil)
		if got := j.all(); len(got) != 2 {
			t.Errorf("the feed delivered %d changes, want 2", len(got))
		}
		wantErr(t, "Changes from the future", s.Changes(t.Context(), s.LastChange()+1, j.take), store.ErrBehind)
	})

	t.Run("refused and undone writes are not in the feed", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		mustInsert(t, s, booking("ada", "checkup", 0, 30))
		j := follow(t, s)
		wantErr(t, "an overlap", insert(t, s, booking("ada", "checkup", 0, 30)), store.ErrSlotTaken)
		own := errors.New("changed my mind")
		err := s.Write(t.Context(), func(tx store.Tx) error {
			return errors.Join(tx.InsertAppointment(t.Context(), booking("ada", "checkup", 90, 30)), own)
		})
		wantErr(t, "Write", err, own)
		if got := j.all(); len(got) != 0 {
			t.Errorf("the feed delivered %+v, want nothing", got)
		}
	})

	t.Run("a follower that left receives no changes", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		ctx, leave := context.WithCancel(t.Context())
		j := &journal{}
		wantErr(t, "Changes", s.Changes(ctx, s.LastChange(), j.take), nil)
		leave()
		mustInsert(t, s, booking("ada", "checkup", 0, 30))
		if got := j.all(); len(got) != 0 {
			t.Errorf("the feed delivered %+v after it left", got)
		}
	})

	t.Run("the feed has changes of every noun", func(t *testing.T) { nounsAreTold(t, h.open(t)) })

	t.Run("a memory copy that follows the feed equals the database", func(t *testing.T) {
		for seed := range uint64(20) {
			memoryFollows(t, h.open(t), seed)
		}
	})

	t.Run("a rule that reads before it writes holds under concurrency", func(t *testing.T) { readModifyWrite(t, h.open(t)) })
}

func sameTaken(a, b *store.Taken) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// nounsAreTold changes one row of every noun that a process may cache, and expects a change to each noun in the feed.
func nounsAreTold(t *testing.T, s store.Store) {
	clinic(t, s)
	ctx := t.Context()
	write(t, s, func(tx store.Tx) error {
		return errors.Join(
			tx.PutUser(ctx, store.User{ID: "jo", Email: "jo@example.org", Name: "Jo", Role: store.RoleOwner,
				Active: true, CreatedAt: monday}),
			tx.InsertAPIKey(ctx, store.APIKey{ID: "k", Name: "k", Scope: store.ScopeAdmin, Hash: [32]byte{1},
				CreatedAt: monday}))
	})
	override := store.Override{ID: "o", SpecialistID: "ada", Date: store.DateOf(monday), Closed: true}
	session := store.Session{ID: "s", Owner: "client-0123456789abcdef", Status: store.SessionRequested,
		RequestedAt: monday,
		ExpiresAt:   monday.Add(time.Minute), UpdatedAt: monday, Version: 1}
	j := follow(t, s)
	for _, step := range []struct {
		name string
		do   func(store.Tx) error
		want store.Change
	}{
		{"the clinic", func(tx store.Tx) error { return tx.PutClinic(ctx, store.Clinic{Name: "C", Timezone: "UTC"}) },
			store.Change{Noun: store.NounClinic}},
		{"a type", func(tx store.Tx) error { return tx.PutAppointmentType(ctx, appointmentType("checkup", 20)) },
			store.Change{Noun: store.NounAppointmentType, ID: "checkup"}},
		{"a type that goes", func(tx store.Tx) error { return tx.ArchiveAppointmentType(ctx, "long") },
			store.Change{Noun: store.NounAppointmentType, ID: "long"}},
		{"a specialist", func(tx store.Tx) error { return tx.PutSpecialist(ctx, specialist("ada")) },
			store.Change{Noun: store.NounSpecialist, ID: "ada"}},
		{"hours", func(tx store.Tx) error { return tx.PutWeeklyHours(ctx, "ada", nil) },
			store.Change{Noun: store.NounSpecialist, ID: "ada"}},
		{"an override", func(tx store.Tx) error { return tx.PutOverride(ctx, override) },
			store.Change{Noun: store.NounSpecialist, ID: "ada"}},
		{"an override that goes", func(tx store.Tx) error { _, err := tx.DeleteOverride(ctx, "o"); return err },
			store.Change{Noun: store.NounSpecialist, ID: "ada"}},
		{"a block", func(tx store.Tx) error {
			return tx.PutBlock(ctx, store.Block{ID: "b", SpecialistID: "ada", Start: monday,
				End: monday.Add(time.Hour)})
		}, store.Change{Noun: store.NounSpecialist, ID: "ada"}},
		{"a block that goes", func(tx store.Tx) error { _, err := tx.DeleteBlock(ctx, "b"); return err },
			store.Change{Noun: store.NounSpecialist, ID: "ada"}},
		{"a specialist who goes", func(tx store.Tx) error { return tx.ArchiveSpecialist(ctx, "ben") },
			store.Change{Noun: store.NounSpecialist, ID: "ben"}},
		{"a user", func(tx store.Tx) error {
			return tx.PutUser(ctx, store.User{ID: "jo", Email: "jo@example.org", Name: "Jo", Role: store.RoleOwner,
				CreatedAt: monday})
		}, store.Change{Noun: store.NounUser, ID: "jo"}},
		{"a sign-in that ends", func(tx store.Tx) error { return tx.DeleteSignIn(ctx, "x") },
			store.Change{Noun: store.NounSignIn, ID: "x"}},
		{"all sign-ins of one user", func(tx store.Tx) error { _, err := tx.DeleteSignIns(ctx, "jo", ""); return err },
			store.Change{Noun: store.NounSignIn, Assigned: "jo"}},
		{"a key that is revoked", func(tx store.Tx) error { return tx.RevokeAPIKey(ctx, "k", monday) },
			store.Change{Noun: store.NounAPIKey, ID: "k"}},
		{"a session", func(tx store.Tx) error { return tx.InsertSession(ctx, session) },
			store.Change{Noun: store.NounSession, ID: "s", Version: 1, Owner: session.Owner,
				Session: store.SessionAt{Status: store.SessionRequested, ExpiresAt: session.ExpiresAt}}},
		{"a session that is accepted", func(tx store.Tx) error {
			active := session
			active.SpecialistID, active.Status = "ada", store.SessionActive
			return tx.UpdateSession(ctx, active)
		}, store.Change{Noun: store.NounSession, ID: "s", Version: 2, Owner: session.Owner, Assigned: "ada",
			Session: store.SessionAt{Status: store.SessionActive, ExpiresAt: session.ExpiresAt}}},
	} {
		before := len(j.all())
		write(t, s, step.do)
		got := j.all()[before:]
		if len(got) != 1 {
			t.Errorf("%s: the feed delivered %d changes, want 1", step.name, len(got))
			continue
		}
		c := got[0]
		c.Number = 0
		if c != step.want {
			t.Errorf("%s: the feed delivered %+v, want %+v", step.name, c, step.want)
		}
	}
}

// memoryFollows changes a few appointments concurrently, so that many changes share a commit, and builds a copy in
// memory from the feed. When a Write returns, the copy must have its change. At the end, the copy must equal the
// database.
func memoryFollows(t *testing.T, s store.Store, seed uint64) {
	t.Helper()
	clinic(t, s)
	var mu sync.Mutex
	memory := map[string]*store.Taken{}
	versions := map[string]int64{}
	j := &journal{}
	err := s.Changes(t.Context(), s.LastChange(), func(changes []store.Change) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range changes {
			if !sameTaken(memory[c.ID], c.Before) || c.Version != versions[c.ID]+1 {
				t.Errorf("seed %d: version %d of %s follows version %d; before is %+v, and memory has %+v",
					seed, c.Version, c.ID, versions[c.ID], c.Before, memory[c.ID])
			}
			memory[c.ID], versions[c.ID] = c.After, c.Version
		}
		j.take(changes)
	})
	wantErr(t, "Changes", err, nil)
	var ids []string
	for i := range 4 {
		ids = append(ids, mustInsert(t, s, booking("ada", "checkup", i*60, 30)).ID)
	}
	var all sync.WaitGroup
	for worker := range uint64(8) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, worker))
			for range 10 {
				id, move := ids[r.IntN(len(ids))], r.IntN(4)
				var wrote int64
				err := s.Write(context.Background(), func(tx store.Tx) error {
					a, err := tx.Appointment(context.Background(), id)
					if err != nil {
						return err
					}
					switch move {
					case 0:
						a.Attendance = store.Arrived
					case 1:
						a.Status, a.CancelledAt = store.Cancelled, monday
					case 2:
						a.Status, a.CancelledAt = store.Confirmed, time.Time{}
					default:
						shift := time.Duration(1+worker) * 24 * time.Hour
						a.SlotStart, a.SlotEnd = monday.Add(shift), monday.Add(shift+30*time.Minute)
						a.BusyStart, a.BusyEnd = a.SlotStart, a.SlotEnd
					}
					wrote = a.Version + 1
					return tx.UpdateAppointment(context.Background(), a)
				})
				mu.Lock()
				if err == nil && versions[id] < wrote {
					t.Errorf("seed %d: a write of version %d returned while memory had version %d", seed, wrote,
						versions[id])
				}
				mu.Unlock()
				if err != nil && !errors.Is(err, store.ErrSlotTaken) {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
	all.Wait()
	var got []store.Taken
	for _, taken := range memory {
		if taken != nil {
			got = append(got, *taken)
		}
	}
	want, err := s.Taken(t.Context(), []string{"ada"}, monday.Add(-time.Hour), monday.Add(30*24*time.Hour))
	wantErr(t, "Taken", err, nil)
	order := func(a, b store.Taken) int {
		return cmp.Or(a.SlotStart.Compare(b.SlotStart), cmp.Compare(a.AppointmentID, b.AppointmentID))
	}
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if !slices.Equal(got, want) {
		t.Errorf("seed %d: memory has\n%+v\nand the database\n%+v", seed, got, want)
	}
	numbers := j.all()
	if j.twice || !slices.IsSortedFunc(numbers, func(a, b store.Change) int {
		return cmp.Compare(a.Number, b.Number)
	}) {
		t.Errorf("seed %d: the feed delivered two batches concurrently or out of order", seed)
	}
}

// readModifyWrite counts up to a limit from many goroutines. If writes were not serial, several would read the same
// count.
func readModifyWrite(t *testing.T, s store.Store) {
	clinic(t, s)
	const limit = 5
	full := errors.New("full")
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			err := s.Write(context.Background(), func(tx store.Tx) error {
				list, _, err := tx.Appointments(context.Background(), store.AppointmentFilter{SpecialistID: "ada"})
				if err != nil {
					return err
				}
				if len(list) >= limit {
					return full
				}
				return tx.InsertAppointment(context.Background(), booking("ada", "checkup", i*30, 30))
			})
			if err != nil && err != full {
				t.Error(fmt.Errorf("writer %d: %w", i, err))
			}
		})
	}
	all.Wait()
	list, _, err := s.Appointments(t.Context(), store.AppointmentFilter{SpecialistID: "ada"})
	if err != nil || len(list) != limit {
		t.Errorf("%d appointments, %v; want exactly %d", len(list), err, limit)
	}
}
