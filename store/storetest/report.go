package storetest

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"holdfast/store"
)

func testReport(t *testing.T, h Harness) {
	t.Run("appointments are counted by source, status and attendance", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		for i, change := range []func(*store.Appointment){
			func(*store.Appointment) {},
			func(a *store.Appointment) { a.Source, a.Attendance = store.SourceStaff, store.NoShow },
			func(a *store.Appointment) { a.Source = store.SourceStaff },
			func(a *store.Appointment) { a.Status, a.CancelledAt = store.Cancelled, monday },
		} {
			a := booking("ada", "checkup", 60*i, 30)
			a.Source, a.CreatedAt = store.SourceWeb, a.SlotStart.Add(-48*time.Hour)
			change(&a)
			mustInsert(t, s, a)
		}
		from, to := monday, monday.Add(4*time.Hour)
		list, err := s.AppointmentCounts(t.Context(), from, to, monday.Add(90*time.Minute))
		var got string
		for _, c := range list {
			got += fmt.Sprintln(c.Source, c.Status, c.Attendance, c.N, c.Started, c.Lead)
		}
		want := "staff confirmed expected 1 0 48h0m0s\nstaff confirmed no_show 1 1 48h0m0s\n" +
			"web cancelled expected 1 0 48h0m0s\nweb confirmed expected 1 1 48h0m0s\n"
		if err != nil || got != want {
			t.Errorf("got\n%s, %v; want\n%s", got, err, want)
		}
		list, err = s.AppointmentCounts(t.Context(), monday.Add(time.Hour), monday.Add(2*time.Hour), monday)
		if err != nil || len(list) != 1 || list[0].Attendance != store.NoShow {
			t.Errorf("one hour: got %v, %v; want only the no-show", list, err)
		}
		booked, err := s.BookedTime(t.Context(), from, to)
		if err != nil || len(booked) != 1 || booked["ada"] != 90*time.Minute {
			t.Errorf("booked time: got %v, %v; want 1h30m for ada", booked, err)
		}
	})

	t.Run("actions are counted", func(t *testing.T) {
		s := h.open(t)
		write(t, s, func(tx store.Tx) error {
			for i, action := range []string{
				"waitlist.joined", "waitlist.joined", "waitlist.booked", "user.created", "waitlist.joined",
			} {
				e := store.AuditEntry{ID: fmt.Sprint("e", i), At: monday.Add(time.Duration(i) * time.Hour),
					Action: action}
				if err := tx.AppendAudit(t.Context(), e); err != nil {
					return err
				}
			}
			return nil
		})
		got, err := s.ActionCounts(t.Context(), monday, monday.Add(4*time.Hour),
			[]string{"waitlist.joined", "waitlist.booked", "waitlist.offered"})
		if want := map[string]int{"waitlist.joined": 2, "waitlist.booked": 1}; err != nil || !maps.Equal(got, want) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	})
}
