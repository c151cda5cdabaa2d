package practice_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// bookWhileCut books n cleanings for new patients on the booking page while the practice-management system is
// unreachable. It then returns a copy of the data directory, as in a machine snapshot.
func bookWhileCut(p *enginetest.TestPractice, n int) (snapshot string) {
	p.T.Helper()
	p.Line.Set(true, false)
	for i := range n {
		r := enginetest.BookingOf(i, "cleaning")
		r.SlotStart, r.Client = p.SlotAt(48*4+i), enginetest.Client(i)
		r.Patient.BirthDate = fmt.Sprintf("1980-03-%02d", 1+i)
		if _, err := p.Booking.Book(p.T.Context(), r); err != nil {
			p.T.Fatal(err)
		}
	}
	time.Sleep(time.Second)
	p.End()
	snapshot = p.T.TempDir()
	if err := os.CopyFS(snapshot, os.DirFS(p.Dir)); err != nil {
		p.T.Fatal(err)
	}
	return snapshot
}

// TestRollbackWritesNothingTwice rolls the whole data directory back to an instant at which 20 bookings were in the
// outbox and none of them had been attempted. Seven of them were written after that instant.
func TestRollbackWritesNothingTwice(t *testing.T) {
	t.Parallel()
	const booked, written = 20, 7
	for _, told := range []bool{true, false} {
		t.Run(fmt.Sprintf("flag %t", told), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
				snapshot := bookWhileCut(p, booked)
				p.Line.Set(false, false)
				p.Open()
				p.Until(time.Hour, "seven are written", func() bool {
					return p.Upstream.Score().Appointments == written
				})
				p.End()

				p.Dir, p.Change = snapshot, func(o *engine.Options) { o.AfterRollback = told }
				p.Open()
				p.Until(2*time.Hour, "settled", p.Settled)
				if s := p.Upstream.Score(); s.Appointments != booked || s.Writes != booked {
					t.Errorf("practice system: %+v, want each of %d bookings written once", s, booked)
				}
				if n := len(p.Asked("SetPatient")); n != booked {
					t.Errorf("%d patients were added, want %d", n, booked)
				}
				for _, a := range p.Bookings() {
					if a.UpstreamState != store.UpstreamConfirmed || a.UpstreamID == "" || a.UpstreamPatientID == "" {
						t.Errorf("%s is %q upstream with id %q, want confirmed", a.Patient.Name, a.UpstreamState,
							a.UpstreamID)
					}
				}
				if !strings.Contains(p.Log.String(), "has no record of sending") && !told {
					t.Errorf("the log does not report the rollback:\n%s", p.Log.String())
				}
			})
		})
	}
}

// TestRollbackWithoutLookupAsksPeople: a vendor without a patient look-up cannot report whether a booking exists. After
// a rollback, a person decides. Without a rollback, the bookings are written.
func TestRollbackWithoutLookupAsksPeople(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		t.Run(fmt.Sprintf("flag %t", told), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := enginetest.NewPractice(t,
					enginetest.PracticeOptions{Upstream: &upstreamtest.Options{NoLookup: true}})
				bookWhileCut(p, 3)
				p.Line.Set(false, false)
				p.Change = func(o *engine.Options) { o.AfterRollback = told }
				p.Open()
				p.Until(time.Hour, "settled", p.Settled)
				want, writes := store.UpstreamConfirmed, 3
				if told {
					want, writes = store.UpstreamReview, 0
				}
				if s := p.Upstream.Score(); s.Writes != writes {
					t.Errorf("practice system: %+v, want %d writes", s, writes)
				}
				for _, a := range p.Bookings() {
					if a.UpstreamState != want {
						t.Errorf("%s is %q upstream, want %q", a.Patient.Name, a.UpstreamState, want)
					}
				}
			})
		})
	}
}

// TestRollbackReusesAddedPatient: the patient was added after the snapshot, but the booking was not written. The
// patient is not added a second time.
func TestRollbackReusesAddedPatient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		bookWhileCut(p, 1)
		guid := p.Upstream.AddPatient(upstreamtest.Patient{FirstName: "Patient", LastName: "0", BirthDate: "1980-03-01",
			Email: "p0@example.org"})
		p.Upstream.AddPatient(upstreamtest.Patient{FirstName: "Patient", LastName: "0", BirthDate: "1980-03-01",
			Email: "another@example.org"})
		p.Line.Set(false, false)
		p.Change = func(o *engine.Options) { o.AfterRollback = true }
		p.Open()
		p.Until(time.Hour, "settled", p.Settled)
		a := p.Bookings()[0]
		if n := len(p.Asked("SetPatient")); n != 0 || a.UpstreamPatientID != guid ||
			a.UpstreamState != store.UpstreamConfirmed {
			t.Errorf("%d patients added, patient %s, state %s; want none, %s, confirmed", n, a.UpstreamPatientID,
				a.UpstreamState, guid)
		}
	})
}
