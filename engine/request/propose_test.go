package request_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/request"
	"holdfast/holds"
	"holdfast/store"
)

// propose proposes a time to the patient who made a request.
func propose(c *enginetest.TestClinic, r *store.BookingRequest, start time.Time) (store.BookingRequest, error) {
	return c.Request.Propose(context.Background(), r.ID, "", start, enginetest.Jo, nil)
}

// TestProposedTimeIsHeldAndBooked: the proposed time is held from then on, the requested time is free, the email
// contains both times, and the link books the proposed time.
func TestProposedTimeIsHeldAndBooked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		approved(c, 0)
		r := asks(c, 1, c.Start)
		next := c.Start.Add(2 * time.Hour)
		got, err := propose(c, r, next)
		if err != nil || !got.SlotStart.Equal(next) || !got.WantedStart.Equal(c.Start) ||
			got.SlotEnd.Sub(got.SlotStart) != r.SlotEnd.Sub(r.SlotStart) {
			t.Fatalf("got %+v, %v", got, err)
		}
		if free(c, 3, next) || !free(c, 3, c.Start) {
			t.Error("the proposed time is free, or the requested one is held")
		}
		time.Sleep(time.Minute)
		mail := c.Mails(folder, r.ID)["request_proposed"]
		for _, want := range []string{"A different time for your request", next.Format("15:04"), c.Start.Format("15:04")} {
			if !strings.Contains(mail, want) {
				t.Errorf("the email misses %q:\n%s", want, mail)
			}
		}
		a, err := c.Request.Confirm(context.Background(), r.ID, next, "manage", nil)
		if err != nil || !a.SlotStart.Equal(next) {
			t.Errorf("got %v, %v; want it booked at the proposed time", a.SlotStart, err)
		}
	})
}

// TestProposalCanOverlapRequestedTime checks that the desk can propose a time that overlaps the time of the request,
// unless another client holds part of it. A refused proposal keeps the hold of the requested time.
func TestProposalCanOverlapRequestedTime(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinic(t)
	approved(c, 0)
	r := asks(c, 1, c.Start)
	length := r.SlotEnd.Sub(r.SlotStart)
	sooner, later := c.Start.Add(-length/2), c.Start.Add(length/2)
	if _, err := c.Hold(2, "checkup", c.Start.Add(length), r.SpecialistID); err != nil {
		t.Fatal(err)
	}
	if _, err := propose(c, r, later); !errors.As(err, new(*holds.HeldError)) {
		t.Errorf("proposing a time that another client partly holds: got %v, want a *HeldError", err)
	}
	if free(c, 3, c.Start) {
		t.Error("after a refused proposal, the requested time is free")
	}
	got, err := propose(c, r, sooner)
	if err != nil || !got.SlotStart.Equal(sooner) {
		t.Fatalf("got %v, %v; want the request at %v", got.SlotStart, err, sooner)
	}
	a, err := c.Request.Confirm(context.Background(), r.ID, sooner, "manage", nil)
	if err != nil || !a.SlotStart.Equal(sooner) {
		t.Errorf("got %v, %v; want it booked at the proposed time", a.SlotStart, err)
	}
}

// rival is a live state in which another client claims a time directly before the second of the next claims.
type rival struct {
	holds.Backend
	wanted *holds.Claim
	claims int
}

func (r *rival) Claim(ctx context.Context, c holds.Claim) (holds.Hold, error) {
	if r.wanted != nil {
		if r.claims++; r.claims == 2 {
			theirs := *r.wanted
			r.wanted = nil
			if _, err := r.Backend.Claim(ctx, theirs); err != nil {
				return holds.Hold{}, err
			}
		}
	}
	return r.Backend.Claim(ctx, c)
}

// TestProposalNeverTakesClaimedTime: another client claims the rest of the proposed time after the server has found
// that only the request's own hold is in the way. The proposal is refused, and both clients keep their holds.
func TestProposalNeverTakesClaimedTime(t *testing.T) {
	t.Parallel()
	live := &rival{}
	c, _ := enginetest.NoticeClinic(t, func(o *engine.Options) { live.Backend, o.Holds = o.Holds, live })
	approved(c, 0)
	r := asks(c, 1, c.Start)
	length := r.SlotEnd.Sub(r.SlotStart)
	rest := holds.Span{AppointmentTypeID: r.AppointmentTypeID, SpecialistID: r.SpecialistID,
		SlotStart: c.Start.Add(length), SlotEnd: c.Start.Add(2 * length)}
	rest.BusyStart, rest.BusyEnd = rest.SlotStart, rest.SlotEnd
	theirs := enginetest.Client(2).Owner()
	live.wanted = &holds.Claim{Span: rest, Owner: theirs, Seats: []int{0}, TTL: time.Minute, MaxLife: time.Minute}
	if _, err := propose(c, r, c.Start.Add(length/2)); !errors.As(err, new(*holds.HeldError)) {
		t.Errorf("got %v, want a *HeldError", err)
	}
	list, err := live.List(t.Context(), r.SpecialistID)
	if err != nil || len(list) != 2 || list[0].Owner.String() != r.HoldOwner || !list[1].Owner.Is(theirs) {
		t.Errorf("got %+v, %v; want the holds of the request and of the other client", list, err)
	}
}

// TestProposalNamesAnotherSpecialist: the desk can propose the same time with another specialist. A second proposal
// keeps the time that the patient wanted first, and a request that the patient had to confirm by email then has the
// time limit of a request for approval.
func TestProposalNamesAnotherSpecialist(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinic(t)
	ctx := context.Background()
	if _, err := c.Clinic.Import(ctx, "system", enginetest.ClinicFile(map[string]int{"ada": 1, "ben": 2})); err != nil {
		t.Fatal(err)
	}
	settle(c, func(p *clinic.PublicBookings) { p.Confirm = true })
	r := asks(c, 1, c.Start)
	other := map[string]string{"ada": "ben", "ben": "ada"}[r.SpecialistID]
	got, err := c.Request.Propose(ctx, r.ID, other, c.Start, enginetest.Jo, nil)
	if err != nil || got.SpecialistID != other || !got.SlotStart.Equal(c.Start) {
		t.Fatalf("got %+v, %v; want the same time of %s", got, err, other)
	}
	if got.ExpiresAt.Sub(r.ExpiresAt) < time.Hour {
		t.Errorf("the proposal expires at %v, want hours later than %v", got.ExpiresAt, r.ExpiresAt)
	}
	if _, err := c.Request.Propose(ctx, r.ID, "", c.Start, enginetest.Jo, nil); err == nil {
		t.Error("proposing the same time of the same specialist: want a refusal")
	}
	var next time.Time
	for _, hours := range []time.Duration{2, 4} {
		next = c.Start.Add(hours * time.Hour)
		got, err = c.Request.Propose(ctx, r.ID, "", next, enginetest.Jo, nil)
		if err != nil || got.SpecialistID != other || !got.SlotStart.Equal(next) || !got.WantedStart.Equal(c.Start) {
			t.Errorf("got %+v, %v; want another time of %s, and the first one as wanted", got, err, other)
		}
	}
	a, err := c.Request.Confirm(ctx, r.ID, next, "manage", nil)
	if err != nil || a.SpecialistID != other || !a.SlotStart.Equal(next) {
		t.Errorf("got %+v, %v; want it booked as proposed", a, err)
	}
}

// TestLateProposalFreesTimeOfClosedRequest checks that a proposal which loses against a decline leaves no hold, whether
// or not its time overlaps that of the request.
func TestLateProposalFreesTimeOfClosedRequest(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]float64{"overlapping": 0.5, "apart": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := enginetest.NoticeClinic(t)
			approved(c, 0)
			ctx := context.Background()
			r := asks(c, 1, c.Start)
			later := c.Start.Add(time.Duration(after * float64(r.SlotEnd.Sub(r.SlotStart))))
			other := c.Beside(func() {
				if _, err := c.Request.Decline(ctx, r.ID, enginetest.Jo, false, nil); err != nil {
					t.Error(err)
				}
			})
			if _, err := other.Request.Propose(ctx, r.ID, "", later, enginetest.Jo, nil); !errors.Is(err,
				store.ErrVersion) {
				t.Errorf("proposing for a declined request: got %v, want store.ErrVersion", err)
			}
			c.WantNoHolds()
		})
	}
}

// TestRefusedProposalChangesNothing: a time that is taken, held, in the past or unchanged is refused, and the request
// keeps its time.
func TestRefusedProposalChangesNothing(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinic(t)
	approved(c, 0)
	r := asks(c, 1, c.Start)
	held, later := c.Start.Add(time.Hour), c.Start.Add(2*time.Hour)
	if _, err := c.Hold(2, "checkup", held, r.SpecialistID); err != nil {
		t.Fatal(err)
	}
	_, err := propose(c, r, held)
	if !errors.As(err, new(*holds.HeldError)) {
		t.Errorf("proposing a held time: got %v", err)
	}
	for name, start := range map[string]time.Time{"the same": c.Start, "in the past": time.Now().Add(-time.Hour)} {
		if _, err := propose(c, r, start); err == nil {
			t.Errorf("%s: want a refusal", name)
		}
	}
	if got, err := c.Request.Get(context.Background(), r.ID); err != nil || !got.SlotStart.Equal(c.Start) ||
		!got.WantedStart.IsZero() || got.HoldOwner != r.HoldOwner {
		t.Errorf("afterwards: %+v, %v; want it unchanged", got, err)
	}
	if free(c, 3, c.Start) {
		t.Error("the time of the request is free")
	}
	// The patient is looking at the first proposed time while the desk proposes another one.
	if _, err := propose(c, r, later); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Request.Confirm(context.Background(), r.ID, c.Start, "manage", nil); !errors.Is(err,
		store.ErrVersion) {
		t.Errorf("confirmation with the old version: got %v, want store.ErrVersion", err)
	}
}

// TestDeclinedAndExpiredProposals: both close the request and free the proposed time; when a proposal expires, the
// patient gets an email about the time that they originally requested.
func TestDeclinedAndExpiredProposals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		approved(c, 4)
		ctx := context.Background()
		week := c.Start.Add(7 * 24 * time.Hour)
		r, other := asks(c, 1, week), asks(c, 2, week.Add(time.Hour))
		if _, err := propose(c, r, week.Add(3*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Request.Decline(ctx, r.ID, "manage", false, nil); err != nil {
			t.Fatal(err)
		}
		if !free(c, 3, week.Add(3*time.Hour)) {
			t.Error("after the decline, the proposed time is held")
		}
		time.Sleep(time.Hour)
		if _, err := propose(c, other, week.Add(4*time.Hour)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4*time.Hour - time.Minute)
		if free(c, 3, week.Add(4*time.Hour)) {
			t.Error("the proposed time is free before the proposal expires")
		}
		time.Sleep(10 * time.Minute)
		if !free(c, 3, week.Add(4*time.Hour)) {
			t.Error("after the expiry, the proposed time is held")
		}
		var lapsed *request.LapsedError
		if _, err := c.Request.Confirm(ctx, other.ID, time.Time{}, "manage", nil); !errors.As(err, &lapsed) {
			t.Errorf("confirmation after the expiry: got %v", err)
		}
		if mail := c.Mails(folder, other.ID)["request_declined"]; !strings.Contains(mail,
			other.SlotStart.Format("15:04")) {
			t.Errorf("the email misses the time that the patient asked for:\n%s", mail)
		}
	})
}
