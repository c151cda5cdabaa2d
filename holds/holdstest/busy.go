package holdstest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"holdfast/holds"
)

// busy tests holds.Busy, and how Claim treats booked time.
func (h Harness) busy(t *testing.T) {
	h.prove(t, "a claim of booked time is refused, and no event is published", func(p *proof) {
		p.book("ada", "09:00", "09:30")
		before := p.stream.count(holds.EventHold)
		wish := p.wish("ada", "09:00", amal)
		p.taken(wish)
		wish.Displace, wish.Quota = true, 1
		p.taken(wish)
		p.taken(p.wish("ada", "08:45", bela))
		p.taken(p.wish("ada", "09:15", bela))
		p.claim(p.wish("bob", "09:00", amal)) // another specialist's time is free
		if n := p.stream.count(holds.EventHold) - before; len(p.list("ada")) != 0 || n > 1 {
			p.Errorf("got %d holds of ada and %d events, want none for ada", len(p.list("ada")), n)
		}
	})
	h.prove(t, "only booked time is refused", func(p *proof) {
		p.book("ada", "09:02", "09:18")
		for _, c := range []struct {
			from, to string
			want     bool
		}{
			{"08:30", "09:00", false},
			{"09:20", "09:50", false},
			{"09:18", "09:20", false}, // within the tick in which the appointment ends
			{"09:00", "09:02", false},
			{"09:05", "09:10", true},
			{"09:10", "09:15", true},
			{"09:04", "09:06", true}, // touches the tick that starts at 09:05
			{"09:14", "09:20", true},
			{"08:00", "12:00", true},
		} {
			p.takenAt("ada", p.at(c.from), p.at(c.to), c.want)
		}
		p.takenAt("bob", p.at("09:05"), p.at("09:10"), false)
	})
	h.prove(t, "a claim whose buffers overlap a booked slot is refused", func(p *proof) {
		p.book("ada", "09:00", "09:30")
		c := p.wish("ada", "09:40", amal)
		c.BusyStart = p.at("09:25")
		p.taken(c)
		c.BusyStart = p.at("09:30")
		p.claim(c)
	})
	h.prove(t, "a refused claim displaces no hold", func(p *proof) {
		hold := p.claim(p.wish("ada", "09:30", amal))
		p.book("ada", "09:00", "09:30")
		c := p.wish("ada", "09:15", bela)
		c.Displace = true
		p.taken(c)
		p.unchanged(hold)
	})
	h.prove(t, "a repeat returns the existing hold", func(p *proof) {
		hold := p.claim(p.wish("ada", "09:00", amal))
		p.book("ada", "09:00", "09:30")
		if again := p.claim(p.wish("ada", "09:00", amal)); again.ID != hold.ID {
			p.Errorf("got %s, want %s", again.ID, hold.ID)
		}
	})
	h.prove(t, "an appointment can move onto a part of its own time", func(p *proof) {
		own := p.book("ada", "09:00", "10:00")
		p.book("ada", "08:00", "08:30")
		p.book("ada", "10:30", "11:00")
		c := p.claimOf(p.spanAt("ada", p.at("09:30"), p.at("10:30")), amal)
		p.taken(c)
		c.Moving = []holds.Booked{own}
		p.released(p.claim(c))
		for _, from := range []string{"08:15", "09:45"} {
			c = p.claimOf(p.spanAt("ada", p.at(from), p.at(from).Add(time.Hour)), amal)
			c.Moving = []holds.Booked{own}
			p.taken(c) // another appointment occupies it
		}
		c = p.claimOf(p.spanAt("bob", p.at("09:30"), p.at("10:30")), amal)
		c.Moving = []holds.Booked{own}
		p.claim(c)
		theirs := p.book("cyd", "09:00", "09:30")
		c = p.claimOf(p.spanAt("cyd", p.at("09:00"), p.at("09:30")), bela)
		c.Moving = []holds.Booked{own}
		p.taken(c) // the time of the appointment to move belongs to another specialist
		c.Moving = append(c.Moving, theirs)
		p.claim(c)
	})
	h.prove(t, "cancelled time is free immediately, and other bookings stay", func(p *proof) {
		p.book("ada", "08:30", "09:00")
		cancelled := p.book("ada", "09:00", "09:30")
		p.book("ada", "09:30", "10:00")
		p.change(cancelled, holds.Booked{})
		p.takenAt("ada", p.at("09:00"), p.at("09:30"), false)
		p.takenAt("ada", p.at("08:30"), p.at("09:00"), true)
		p.takenAt("ada", p.at("09:30"), p.at("10:00"), true)
		p.book("ada", "09:00", "09:30")
		p.takenAt("ada", p.at("09:00"), p.at("09:30"), true)
	})
	h.prove(t, "a move frees the old time and books the new one", func(p *proof) {
		was := p.book("ada", "09:00", "10:00")
		moved := was
		moved.SlotStart, moved.SlotEnd = p.at("09:30"), p.at("10:30")
		p.change(was, moved)
		p.takenAt("ada", p.at("09:00"), p.at("09:30"), false)
		p.takenAt("ada", p.at("09:30"), p.at("10:00"), true)
		p.takenAt("ada", p.at("10:00"), p.at("10:30"), true)
	})
	h.prove(t, "time that is free in the database can be cleared", func(p *proof) {
		p.change(p.book("ada", "09:00", "10:00"), holds.Booked{})
		p.no(p.ClearBusy(p.ctx, "ada", p.at("09:00"), p.at("10:00")))
		p.no(p.ClearBusy(p.ctx, "bob", p.at("10:00"), p.at("09:00")))
		p.takenAt("ada", p.at("09:00"), p.at("10:00"), false)
	})
	h.prove(t, "an appointment across midnight UTC is booked on both days, in any zone", func(p *proof) {
		zone := time.FixedZone("east", 5*3600+1800)
		from, to := p.day.Add(23*time.Hour+30*time.Minute), p.day.Add(25*time.Hour)
		p.change(holds.Booked{}, holds.Booked{AppointmentID: "night", SpecialistID: "ada", SlotStart: from.In(zone),
			SlotEnd: to.In(zone)})
		p.takenAt("ada", from, from.Add(5*time.Minute), true)
		p.takenAt("ada", to.Add(-5*time.Minute).In(zone), to.In(zone), true)
		p.takenAt("ada", from.Add(-time.Hour), to.Add(time.Hour), true)
		p.takenAt("ada", from.Add(-time.Hour), from, false)
		p.takenAt("ada", to, to.Add(time.Hour), false)
	})
	h.prove(t, "every tick of a day is separate", func(p *proof) {
		for _, i := range []int{0, 7, 63, 128, 191, 256, 287} {
			from := p.day.Add(time.Duration(i) * holds.BusyTick)
			p.change(holds.Booked{}, holds.Booked{AppointmentID: from.Format("tick1504"), SpecialistID: "ada",
				SlotStart: from, SlotEnd: from.Add(holds.BusyTick)})
			for n := -1; n <= 1; n++ {
				from := from.Add(time.Duration(n) * holds.BusyTick)
				p.takenAt("ada", from, from.Add(holds.BusyTick), n == 0)
			}
		}
	})
	h.prove(t, "no client gets a hold while another client's hold is booked and confirmed", func(p *proof) {
		hold := p.claim(p.wish("ada", "09:00", amal))
		_, err := p.Pin(p.ctx, hold.ID, amal, p.seconds(30))
		p.no(err)
		bookUnderRace(p.T, func(i int) error {
			_, err := p.Claim(p.ctx, p.wish("ada", "09:00", client(i)))
			return err
		}, func() {
			p.book("ada", "09:00", "09:30")
			_, err := p.Confirm(p.ctx, hold.ID, amal)
			p.no(err)
		})
	})
}

// bookUnderRace books a slot that has a pinned hold, while racers claim it. It fails if a racer gets a hold.
func bookUnderRace(t *testing.T, claim func(i int) error, book func()) {
	t.Helper()
	var racers sync.WaitGroup
	booked := make(chan struct{})
	for i := range 4 {
		racers.Go(func() {
			for last := false; ; {
				err := claim(i)
				var held *holds.HeldError
				if !errors.As(err, &held) && !errors.Is(err, holds.ErrTaken) {
					t.Errorf("caller %d: got %v, want a HeldError or ErrTaken", i, err)
				}
				if last {
					return
				}
				select {
				case <-booked: // claim one last time, after the booking
					last = true
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
	defer racers.Wait()
	defer close(booked)
	book()
}

// book books a slot for a specialist.
func (p *proof) book(specialistID, from, to string) holds.Booked {
	p.Helper()
	b := holds.Booked{AppointmentID: specialistID + from, SpecialistID: specialistID, SlotStart: p.at(from),
		SlotEnd: p.at(to)}
	p.change(holds.Booked{}, b)
	return b
}

// change applies the next change from the feed.
func (p *proof) change(freed, taken holds.Booked) {
	p.Helper()
	p.changes++
	p.no(p.FollowBusy(p.ctx, p.changes, freed, taken))
}

func (p *proof) spanAt(specialistID string, from, to time.Time) holds.Span {
	return holds.Span{AppointmentTypeID: "checkup", SpecialistID: specialistID, SlotStart: from, SlotEnd: to,
		BusyStart: from, BusyEnd: to}
}

// taken claims booked time and fails unless the claim returns ErrTaken.
func (p *proof) taken(c holds.Claim) {
	p.Helper()
	if h, err := p.Claim(p.ctx, c); !errors.Is(err, holds.ErrTaken) {
		p.Errorf("claim %s at %s: got %q, %v, want ErrTaken", c.SpecialistID, c.SlotStart.Format("15:04"), h.ID, err)
	}
}

// takenAt claims a span. If want is true, the claim must return ErrTaken. Otherwise it must succeed, and takenAt
// releases the hold.
func (p *proof) takenAt(specialistID string, from, to time.Time, want bool) {
	p.Helper()
	c := p.claimOf(p.spanAt(specialistID, from, to), caro)
	if want {
		p.taken(c)
		return
	}
	p.released(p.claim(c))
}
