package storetest

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"holdfast/store"
)

func testSession(t *testing.T, h Harness) {
	requested := func(id string, minutes int) store.Session {
		at := monday.Add(time.Duration(minutes) * time.Minute)
		return store.Session{ID: id, Owner: "client-of-session-" + id, Status: store.SessionRequested, RequestedAt: at,
			ExpiresAt: at.Add(time.Minute), UpdatedAt: at, Version: 1}
	}
	put := func(t *testing.T, s store.Store, one store.Session) error {
		return s.Write(t.Context(), func(tx store.Tx) error { return tx.InsertSession(t.Context(), one) })
	}
	change := func(t *testing.T, s store.Store, one store.Session) error {
		return s.Write(t.Context(), func(tx store.Tx) error { return tx.UpdateSession(t.Context(), one) })
	}

	t.Run("every field is stored, and each version is used once", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		a := requested("s1", 0)
		a.AppointmentTypeID, a.Reason, a.PatientName, a.PatientPhone = "checkup", "a cough", "Rosa Lund", "030 5550101"
		wantErr(t, "InsertSession", put(t, s, a), nil)
		wantErr(t, "an id in use", put(t, s, a), store.ErrDuplicate)
		later := requested("s2", 0)
		later.Version = 2
		wantErr(t, "a version that is not 1", put(t, s, later), store.ErrInvalid)
		a.SpecialistID, a.Status, a.Outcome = "ada", store.SessionEnded, "helped"
		a.Reason, a.PatientName, a.PatientPhone, a.Declined = "", "", "", "ben"
		a.AcceptedAt, a.EndedAt, a.UpdatedAt = monday.Add(time.Minute), monday.Add(2*time.Minute),
			monday.Add(3*time.Minute)
		wantErr(t, "UpdateSession", change(t, s, a), nil)
		wantErr(t, "the same version again", change(t, s, a), store.ErrVersion)
		a.Version++
		if got, err := s.Session(t.Context(), "s1"); err != nil || !reflect.DeepEqual(got, a) {
			t.Errorf("got %+v, %v; want %+v", got, err, a)
		}
		a.ID = "unknown"
		wantErr(t, "changing an unknown one", change(t, s, a), store.ErrNotFound)
		_, err := s.Session(t.Context(), "unknown")
		wantErr(t, "an unknown one", err, store.ErrNotFound)
		a.ID, a.SpecialistID = "s1", "unknown"
		wantErr(t, "an unknown specialist", change(t, s, a), store.ErrInvalid)
	})

	t.Run("lists and loads", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		if loads, err := s.Loads(t.Context()); err != nil || len(loads) != 0 {
			t.Errorf("loads of an empty database: got %v, %v", loads, err)
		}
		for i, one := range []struct {
			id, specialist string
			status         store.SessionStatus
		}{
			{"s5", "ada", store.SessionActive}, {"s4", "ada", store.SessionPendingPayment},
			{"s3", "ada", store.SessionEnded}, {"s2", "ben", store.SessionActive}, {"s1", "", store.SessionRequested},
		} {
			a := requested(one.id, i)
			a.SpecialistID, a.Status = one.specialist, one.status
			wantErr(t, "InsertSession", put(t, s, a), nil)
		}
		for name, test := range map[string]struct {
			filter store.SessionFilter
			want   []string
		}{
			"all, oldest first": {store.SessionFilter{}, []string{"s5", "s4", "s3", "s2", "s1"}},
			"of a specialist":   {store.SessionFilter{SpecialistID: "ada"}, []string{"s5", "s4", "s3"}},
			"of a client":       {store.SessionFilter{Owner: "client-of-session-s2"}, []string{"s2"}},
			"of two states": {store.SessionFilter{Statuses: []store.SessionStatus{store.SessionActive,
				store.SessionRequested}}, []string{"s5", "s2", "s1"}},
			"quiet for so long": {store.SessionFilter{QuietSince: monday.Add(2 * time.Minute)},
				[]string{"s5", "s4", "s3"}},
			"limited": {store.SessionFilter{Limit: 2}, []string{"s5", "s4"}},
		} {
			list, err := s.Sessions(t.Context(), test.filter)
			var got []string
			for _, one := range list {
				got = append(got, one.ID)
			}
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%s: got %v, %v; want %v", name, got, err, test.want)
			}
		}
		loads, err := s.Loads(t.Context())
		if want := map[string]int{"ada": 2, "ben": 1}; err != nil || !reflect.DeepEqual(loads, want) {
			t.Errorf("loads: got %v, %v; want %v", loads, err, want)
		}
	})
}
