package upstreamtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
)

const (
	patient = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
	sibling = "3f2504e0-4f89-11d3-9a0c-0305e82c3302"
	view    = "11111111-2222-4333-8444-555555555555"
	column  = "66666666-7777-4888-8999-aaaaaaaaaaaa"
	typ     = "bbbbbbbb-cccc-4ddd-8eee-ffffffffffff"
)

var ten = time.Date(2026, 1, 20, 15, 0, 0, 0, time.UTC) // 10 AM in New York

func newYork(t *testing.T) *time.Location {
	t.Helper()
	zone, err := upstream.Zone("Eastern Standard Time")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func wanted(t *testing.T) upstream.NewAppointment {
	return upstream.NewAppointment{
		PatientGUID: patient, Start: ten, Zone: newYork(t),
		ScheduleViewGUID: view, ScheduleColumnGUID: column, AppointmentTypeGUID: typ, Minutes: 30,
	}
}

// overNetwork and inProcess are the two ways to call a Server.
func overNetwork(t *testing.T, s *upstreamtest.Server) *upstream.Client {
	t.Helper()
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return client(t, upstream.Options{URL: server.URL + "/GetData.ashx"})
}

func inProcess(t *testing.T, s *upstreamtest.Server) *upstream.Client {
	t.Helper()
	return client(t, upstream.Options{URL: "http://upstream.example/GetData.ashx", HTTP: s.Client()})
}

func client(t *testing.T, o upstream.Options) *upstream.Client {
	t.Helper()
	if o.ClientID == "" {
		o.ClientID, o.User, o.Password = "client-of-nobody", "user", "password"
	}
	c, err := upstream.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOutcomes checks each outcome, over a network and without one: the result for the client, and the state
// afterwards.
func TestOutcomes(t *testing.T) {
	tests := []struct {
		step    upstreamtest.Step
		class   upstream.Class
		reason  upstream.Reason
		lookUp  bool
		written int
	}{
		{upstreamtest.Step{Outcome: upstreamtest.OK}, "", "", false, 1},
		{upstreamtest.Step{}, "", "", false, 1},
		{upstreamtest.Step{Outcome: upstreamtest.OKNoGUID}, "", "", true, 1},
		{upstreamtest.Step{Outcome: upstreamtest.Slow, Delay: time.Millisecond}, "", "", false, 1},
		{upstreamtest.Step{Outcome: upstreamtest.RateLimited}, upstream.RateLimited, "", false, 0},
		{upstreamtest.Step{Outcome: upstreamtest.SlotTaken}, upstream.Refused, upstream.SlotTaken, false, 0},
		{upstreamtest.Step{Outcome: upstreamtest.AlreadyBooked}, upstream.Refused, upstream.AlreadyBooked, false, 0},
		{upstreamtest.Step{Outcome: upstreamtest.PatientUnknown}, upstream.Refused, upstream.PatientUnknown, false, 0},
		{upstreamtest.Step{Outcome: upstreamtest.Unauthorized}, upstream.Misconfigured, "", false, 0},
		{upstreamtest.Step{Outcome: upstreamtest.LostApplied}, upstream.Unknown, "", false, 1},
		{upstreamtest.Step{Outcome: upstreamtest.LostNotApplied}, upstream.Unknown, "", false, 0},
		{upstreamtest.Step{Outcome: upstreamtest.Late, Delay: time.Hour}, upstream.Unknown, "", false, 0},
		{upstreamtest.Step{Outcome: upstreamtest.Half, Applied: true}, upstream.Unknown, "", false, 1},
		{upstreamtest.Step{Outcome: upstreamtest.Half}, upstream.Unknown, "", false, 0},
		{upstreamtest.Step{Outcome: upstreamtest.Garbage, Applied: true}, upstream.Unknown, "", false, 1},
		{upstreamtest.Step{Outcome: upstreamtest.Garbage}, upstream.Unknown, "", false, 0},
		{upstreamtest.Step{Outcome: upstreamtest.WrongRoot, Applied: true}, upstream.Unknown, "", false, 1},
		{upstreamtest.Step{Outcome: upstreamtest.WrongRoot}, upstream.Unknown, "", false, 0},
		{upstreamtest.Step{Outcome: upstreamtest.ServerError, Applied: true}, upstream.Unknown, "", false, 1},
		{upstreamtest.Step{Outcome: upstreamtest.ServerError}, upstream.Unknown, "", false, 0},
	}
	for way, connect := range map[string]func(*testing.T, *upstreamtest.Server) *upstream.Client{
		"network": overNetwork, "in process": inProcess} {
		for _, test := range tests {
			name := way + " " + string(test.step.Outcome)
			if test.step.Applied {
				name += " applied"
			}
			t.Run(name, func(t *testing.T) {
				s := upstreamtest.New(upstreamtest.Options{Zone: newYork(t)})
				s.Script(test.step)
				c := connect(t, s)
				got, err := c.SetAppointment(t.Context(), wanted(t))
				if upstream.ClassOf(err) != test.class || upstream.ReasonOf(err) != test.reason {
					t.Fatalf("got %v, want class %q, reason %q", err, test.class, test.reason)
				}
				if err == nil && got.LookUp != test.lookUp {
					t.Errorf("got %+v, want LookUp %v", got, test.lookUp)
				}
				list, err := c.GetAppointmentListByPatient(t.Context(), patient, newYork(t))
				found := wanted(t).Match(list)
				if err != nil || len(found) != test.written || len(s.Appointments()) != test.written {
					t.Fatalf("looked up: got %+v, %v; want %d", list, err, test.written)
				}
				if got.GUID != "" && !upstream.EqualGUID(got.GUID, found[0].GUID) {
					t.Errorf("got GUID %s and listed %s, want one", got.GUID, found[0].GUID)
				}
				call := s.Calls()[0]
				if call.Procedure != "SetAppointment" || call.PatientGUID != patient || !call.Start.Equal(ten) ||
					call.ScheduleColumnGUID != column || call.Applied != (test.written == 1 ||
					test.step.Outcome == upstreamtest.Late) {
					t.Errorf("got call %+v", call)
				}
			})
		}
	}
}

// TestTimeInBubble covers, inside a bubble, a timeout, a response that arrives late, and a write that arrives long
// after the connection was cut.
func TestTimeInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := upstreamtest.New(upstreamtest.Options{Zone: newYork(t)})
		s.Outcomes(upstreamtest.Slow, upstreamtest.Late)
		s.Script(upstreamtest.Step{Outcome: upstreamtest.LostNotApplied, Delay: time.Minute})
		c, start := inProcess(t, s), time.Now()
		_, err := c.SetAppointment(t.Context(), wanted(t))
		if upstream.ClassOf(err) != upstream.Unknown || !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(start) != upstream.DefaultTimeout {
			t.Errorf("an answer after the client's timeout: got %v after %v, want an unknown outcome after %v", err,
				time.Since(start), upstream.DefaultTimeout)
		}
		if got := s.Score(); got.Appointments != 1 {
			t.Errorf("got %+v, want it written in spite of the timeout", got)
		}
		_, err = c.SetAppointment(t.Context(), wanted(t))
		if upstream.ClassOf(err) != upstream.Unknown {
			t.Errorf("late write: got %v, want an unknown outcome", err)
		}
		if got := s.Score(); got.Appointments != 1 || got.Pending != 1 {
			t.Errorf("before the late write: got %+v, want 1 appointment and 1 pending", got)
		}
		time.Sleep(30 * time.Second)
		if got := s.Score(); got.Appointments != 2 || got.Pending != 0 || got.Duplicates != 1 {
			t.Errorf("after the late write: got %+v, want 2 appointments, one of them a duplicate", got)
		}
		before := time.Now()
		if _, err = c.SetAppointment(t.Context(), wanted(t)); upstream.ClassOf(err) != upstream.Unknown ||
			time.Since(before) != 15*time.Second {
			t.Errorf("no answer: got %v after %v, want an unknown outcome after 15s", err, time.Since(before))
		}
	})
}

// TestWritesPerMinute: five writes a minute are accepted, then the response is "Too many requests". The script
// continues only with the writes that are accepted.
func TestWritesPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := upstreamtest.New(upstreamtest.Options{WritesPerMinute: 5})
		s.Outcomes(upstreamtest.OK, upstreamtest.OK, upstreamtest.OK, upstreamtest.OK, upstreamtest.OK,
			upstreamtest.SlotTaken)
		c := inProcess(t, s)
		write := func() upstream.Class {
			_, err := c.SetAppointment(t.Context(), wanted(t))
			return upstream.ClassOf(err)
		}
		for i := range 5 {
			if got := write(); got != "" {
				t.Errorf("write %d: got class %q, want it written", i+1, got)
			}
			time.Sleep(time.Second)
		}
		if got := write(); got != upstream.RateLimited {
			t.Errorf("write 6: got class %q, want %q", got, upstream.RateLimited)
		}
		if err := c.SetPatientComment(t.Context(), patient, "a note"); err != nil {
			t.Errorf("a note does not count: got %v", err)
		}
		time.Sleep(55 * time.Second)
		if got := write(); got != upstream.Refused {
			t.Errorf("a minute after the first: got class %q, want the script's outcome", got)
		}
		if got := write(); got != upstream.RateLimited {
			t.Errorf("directly after that: got class %q, want %q", got, upstream.RateLimited)
		}
		want := upstreamtest.Score{Writes: 8, RateLimited: 2, Appointments: 5, Duplicates: 4}
		if got := s.Score(); got != want {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	})
}

func TestScoreCountsDuplicatesAndSpacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := upstreamtest.New(upstreamtest.Options{Zone: newYork(t)})
		c := inProcess(t, s)
		set := func(change func(*upstream.NewAppointment)) string {
			n := wanted(t)
			change(&n)
			got, err := c.SetAppointment(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			return got.GUID
		}
		same := func(*upstream.NewAppointment) {}
		first := set(same)
		time.Sleep(20 * time.Second)
		set(func(n *upstream.NewAppointment) { n.PatientGUID = strings.ToUpper(n.PatientGUID) })
		time.Sleep(7 * time.Second)
		set(func(n *upstream.NewAppointment) { n.Start = n.Start.Add(time.Hour) })
		time.Sleep(9 * time.Second)
		set(func(n *upstream.NewAppointment) { n.PatientGUID = sibling })
		time.Sleep(30 * time.Second)
		set(func(n *upstream.NewAppointment) { n.ScheduleColumnGUID = view })
		want := upstreamtest.Score{Writes: 5, Appointments: 5, Duplicates: 1, MinSpacing: 7 * time.Second}
		if got := s.Score(); got != want {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		if err := c.SetAppointmentStatusCanceled(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		want.Appointments, want.Duplicates = 4, 0
		if got := s.Score(); got != want {
			t.Errorf("one of the two cancelled: got %+v\nwant %+v", got, want)
		}
	})
}

// TestLookupBooksOnce: twenty per cent of the outcomes are unknown; half of those writes were applied, some of them
// late. A client that waits until the quarantine is over and then looks up the appointment books each patient once. A
// client that only repeats its calls books some patients twice.
func TestLookupBooksOnce(t *testing.T) {
	run := func(t *testing.T, lookUp bool) upstreamtest.Score {
		var score upstreamtest.Score
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 7))
			s := upstreamtest.New(upstreamtest.Options{Zone: newYork(t),
				Decide: func(call upstreamtest.Call) upstreamtest.Step {
					if call.Procedure != "SetAppointment" || rng.IntN(5) > 0 {
						return upstreamtest.Step{}
					}
					unknown := []upstreamtest.Outcome{upstreamtest.LostApplied, upstreamtest.LostNotApplied,
						upstreamtest.Late, upstreamtest.Slow, upstreamtest.Half, upstreamtest.ServerError}
					return upstreamtest.Step{Outcome: unknown[rng.IntN(len(unknown))], Delay: time.Minute,
						Applied: rng.IntN(2) == 0}
				}})
			pacer := upstream.NewPacer(0)
			c := client(t, upstream.Options{URL: "http://upstream.example", HTTP: s.Client(), Pacer: pacer})
			const people = 200
			for i := range people {
				n := wanted(t)
				n.PatientGUID = fmt.Sprintf("3f2504e0-4f89-11d3-9a0c-%012x", i)
				for {
					if err := pacer.Wait(t.Context(), upstream.NoBound); err != nil {
						t.Fatal(err)
					}
					_, err := c.SetAppointment(t.Context(), n)
					if err == nil {
						break
					}
					if !lookUp {
						continue
					}
					time.Sleep(90 * time.Second)
					list, err := c.GetAppointmentListByPatient(t.Context(), n.PatientGUID, n.Zone)
					if err != nil {
						t.Fatal(err)
					}
					if len(n.Match(list)) > 0 {
						break
					}
				}
			}
			time.Sleep(time.Hour)
			score = s.Score()
			if missing := people - (score.Appointments - score.Duplicates); missing != 0 {
				t.Errorf("%d people have no appointment", missing)
			}
			if score.MinSpacing < pacer.Spacing() {
				t.Errorf("got a spacing of %v, want at least %v", score.MinSpacing, pacer.Spacing())
			}
		})
		return score
	}
	if got := run(t, true); got.Duplicates != 0 {
		t.Errorf("looked up: got %+v, want no duplicates", got)
	}
	if got := run(t, false); got.Duplicates == 0 {
		t.Errorf("repeated without a look-up: got %+v, want duplicates (or the fake proves nothing)", got)
	}
}
