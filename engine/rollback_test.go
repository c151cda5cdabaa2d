package engine_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// bookWhileCut books n cleanings of new patients on the booking page while the practice-management system is
// unreachable. It then returns a copy of the data directory, as in a machine snapshot.
func (p *testPractice) bookWhileCut(n int) (snapshot string) {
	p.t.Helper()
	p.line.set(true, false)
	for i := range n {
		r := bookingOf(i, "cleaning")
		r.SlotStart, r.Client = p.slotAt(48*4+i), client(i)
		r.Patient.BirthDate = fmt.Sprintf("1980-03-%02d", 1+i)
		if _, err := p.Booking.Book(p.t.Context(), r); err != nil {
			p.t.Fatal(err)
		}
	}
	time.Sleep(time.Second)
	p.end()
	snapshot = p.t.TempDir()
	if err := os.CopyFS(snapshot, os.DirFS(p.dir)); err != nil {
		p.t.Fatal(err)
	}
	return snapshot
}

// TestRollbackWritesNothingTwice rolls the whole data directory back to an instant at which 20 bookings were in the
// outbox and none had been attempted. Seven of them were written after that instant.
func TestRollbackWritesNothingTwice(t *testing.T) {
	const booked, written = 20, 7
	for _, told := range []bool{true, false} {
		t.Run(fmt.Sprintf("flag %t", told), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPractice(t, practiceOptions{upstream: &upstreamtest.Options{}})
				snapshot := p.bookWhileCut(booked)
				p.line.set(false, false)
				p.start()
				p.until(time.Hour, "seven are written", func() bool { return p.upstream.Score().Appointments == written })
				p.end()

				p.dir, p.change = snapshot, func(o *engine.Options) { o.AfterRollback = told }
				p.start()
				p.until(2*time.Hour, "settled", p.settled)
				if s := p.upstream.Score(); s.Appointments != booked || s.Writes != booked {
					t.Errorf("upstream %+v, want each of %d bookings written once", s, booked)
				}
				if n := len(p.asked("SetPatient")); n != booked {
					t.Errorf("%d patients were added, want %d", n, booked)
				}
				for _, a := range p.bookings() {
					if a.UpstreamState != store.UpstreamConfirmed || a.UpstreamID == "" || a.UpstreamPatientID == "" {
						t.Errorf("%s is %q upstream with id %q, want confirmed", a.Patient.Name, a.UpstreamState, a.UpstreamID)
					}
				}
				if !strings.Contains(p.log.String(), "has a booking that this server has not written") && !told {
					t.Errorf("the log does not report the rollback:\n%s", p.log.String())
				}
			})
		})
	}
}

// TestRollbackWithoutLookupAsksPeople: a vendor without a patient look-up cannot report whether a booking is there.
// After a rollback a person decides. Without a rollback the bookings are written.
func TestRollbackWithoutLookupAsksPeople(t *testing.T) {
	for _, told := range []bool{true, false} {
		t.Run(fmt.Sprintf("flag %t", told), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPractice(t, practiceOptions{upstream: &upstreamtest.Options{NoLookup: true}})
				p.bookWhileCut(3)
				p.line.set(false, false)
				p.change = func(o *engine.Options) { o.AfterRollback = told }
				p.start()
				p.until(time.Hour, "settled", p.settled)
				want, writes := store.UpstreamConfirmed, 3
				if told {
					want, writes = store.UpstreamReview, 0
				}
				if s := p.upstream.Score(); s.Writes != writes {
					t.Errorf("upstream %+v, want %d writes", s, writes)
				}
				for _, a := range p.bookings() {
					if a.UpstreamState != want {
						t.Errorf("%s is %q upstream, want %q", a.Patient.Name, a.UpstreamState, want)
					}
				}
			})
		})
	}
}

// TestRollbackReusesAddedPatient: the patient was added after the snapshot and the booking was not written. The same
// patient is not added a second time.
func TestRollbackReusesAddedPatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPractice(t, practiceOptions{upstream: &upstreamtest.Options{}})
		p.bookWhileCut(1)
		guid := p.upstream.AddPatient(upstreamtest.Patient{FirstName: "Patient", LastName: "0", BirthDate: "1980-03-01", Email: "p0@example.org"})
		p.upstream.AddPatient(upstreamtest.Patient{FirstName: "Patient", LastName: "0", BirthDate: "1980-03-01", Email: "another@example.org"})
		p.line.set(false, false)
		p.change = func(o *engine.Options) { o.AfterRollback = true }
		p.start()
		p.until(time.Hour, "settled", p.settled)
		a := p.bookings()[0]
		if n := len(p.asked("SetPatient")); n != 0 || a.UpstreamPatientID != guid || a.UpstreamState != store.UpstreamConfirmed {
			t.Errorf("%d patients added, patient %s, state %s; want none, %s, confirmed", n, a.UpstreamPatientID, a.UpstreamState, guid)
		}
	})
}
