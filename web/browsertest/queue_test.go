package browsertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/outbound"
	"holdfast/engine/practice"
	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
	"holdfast/web"
)

// newPractice does the same as newHouse, and adds a practice-management system that the test controls, with a queue in
// front of it. backoff is half of the wait after the first refusal.
func newPractice(t testing.TB, backoff time.Duration) (*house, *upstreamtest.Server) {
	t.Helper()
	return newPracticeOn(t, enginetest.Queue(t), backoff)
}

// newPracticeOn does the same as newPractice, with this queue.
func newPracticeOn(t testing.TB, queue store.Queue, backoff time.Duration) (*house, *upstreamtest.Server) {
	t.Helper()
	fake, pacer := upstreamtest.New(upstreamtest.Options{}), upstream.NewPacer(time.Millisecond)
	client, err := upstream.New(upstream.Options{
		URL: "https://practice.example/GetData.ashx", ClientID: "client", User: "user", Password: "secret",
		Pacer: pacer, HTTP: fake.Client(),
	})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouseWith(t, engine.Options{
		Queue: queue, Upstream: client, Pacer: pacer,
		Outbound: outbound.Limits{Backoff: backoff, Quarantine: time.Millisecond, MaxAttempts: 10},
		Practice: practice.Limits{RetryDelay: time.Millisecond},
	}, web.Options{}, func(f *clinic.File) {
		for i := range f.Specialists {
			f.Specialists[i].MaxSessions = 2
			f.Specialists[i].Upstream = &clinic.UpstreamSpecialist{
				ScheduleViewGUID:   "11111111-2222-4333-8444-555555555555",
				ScheduleColumnGUID: fmt.Sprintf("66666666-7777-4888-8999-%012d", i+1),
			}
		}
		for i := range f.AppointmentTypes {
			f.AppointmentTypes[i].Upstream = &clinic.UpstreamType{AppointmentTypeGUID: "bbbbbbbb-cccc-4ddd-8eee-ffffffffffff"}
		}
	})
	return h, fake
}

// queued books a patient at the desk and waits until the queue shows the given status.
func (h *house) queued(name, clock, status string, review bool) {
	h.t.Helper()
	h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(clock),
		"patient": map[string]any{"name": name, "phone": "030 1112233"},
	}, asAdmin)
	h.operation(name, status, review)
}

// operation waits until one patient's booking has the given status.
func (h *house) operation(name, status string, review bool) map[string]any {
	h.t.Helper()
	var last any
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		list, _ := h.must(200, "GET", "/v1/queue-status", nil, asAdmin).get("operations").([]any)
		for _, o := range list {
			op := o.(map[string]any)
			if op["childName"] == name && op["kind"] == "upstream.book" {
				last = op
				if op["status"] == status && op["needsReview"] == review {
					return op
				}
			}
		}
	}
	h.t.Fatalf("the booking of %s is %v, want %s, review %v", name, last, status, review)
	return nil
}

// line returns a script that finds one patient's line on the Queue page.
func line(name string) string {
	return `[...document.querySelectorAll('.lines .line')].find(l => l.innerText.includes(` + quoted(name) + `))`
}

// onLine presses a button on one line.
func (p *tab) onLine(name, button string) {
	p.t.Helper()
	p.until(`(b => b && (b.id = 'press') && true)([...(` + line(name) +
		`?.querySelectorAll('button') || [])].find(b => b.innerText === ` + quoted(button) + `))`)
	p.click("#press")
	p.run(`document.querySelector('#press')?.removeAttribute('id')`)
}

func (p *tab) lineSays(name, text string) {
	p.t.Helper()
	p.until(`(` + line(name) + `)?.innerText.replace(/\s+/g, ' ').includes(` + quoted(text) + `)`)
}

// TestQueuePageRetriesAndGivesUp: the upstream limits the rate. The page shows this and counts down to the next
// attempt, and a person can retry now or give up.
func TestQueuePageRetriesAndGivesUp(t *testing.T) {
	t.Parallel()
	h, fake := newPractice(t, 60*time.Second)
	fake.Outcomes(upstreamtest.RateLimited, upstreamtest.RateLimited)
	h.queued("Lena Vogt", "09:00", "pending", false)

	p := h.desk(t, store.RoleReception)
	p.click(`nav a[href="#queue"]`)
	p.lineSays("Lena Vogt", "Practice system: booking")
	p.lineSays("Lena Vogt", "1/10 attempts")
	p.lineSays("Lena Vogt", "The other system told Holdfast to slow down.")
	p.until(`/next attempt in [123]:\d\d/.test((` + line("Lena Vogt") + `).innerText)`)
	was := ask[string](p, `(`+line("Lena Vogt")+`).innerText`)
	p.until(`(` + line("Lena Vogt") + `).innerText !== ` + quoted(was)) // it counts down automatically
	p.onLine("Lena Vogt", "Retry now")
	p.says("Trying again now.")
	p.lineSays("Lena Vogt", "2/10 attempts")

	fake.Outcomes(upstreamtest.RateLimited)
	h.queued("Per Lind", "10:00", "pending", false)
	p.lineSays("Per Lind", "Waiting")
	p.onLine("Per Lind", "Give up")
	p.says("The practice system will not receive this booking. The appointment stays here.")
	p.shot("queue-2-giveup")
	p.click("dialog .btn.solid")
	p.says("Holdfast will not send this message. The appointment does not change.")
	p.until(`!` + line("Per Lind"))
	p.shot("queue-1")
	if n := len(h.bookings()); n != 2 {
		t.Errorf("there are %d appointments, want both", n)
	}
	p.onLine("Lena Vogt", "Retry now")
	p.lineSays("Lena Vogt", "Done")
	if n := fake.Score().Appointments; n != 1 {
		t.Errorf("the practice system has %d appointments, want only the one that was not given up", n)
	}
}

// fillingQueue is a queue whose disk is full after the first attempt is recorded, until the test makes room.
type fillingQueue struct {
	store.Queue
	changes *atomic.Int32
	room    *atomic.Bool
}

func (q fillingQueue) Change(ctx context.Context, op store.Operation, event, detail string) error {
	if q.changes.Add(1) > 1 && !q.room.Load() {
		return store.ErrFull
	}
	return q.Queue.Change(ctx, op, event, detail)
}

// TestQueuePageActsOnStuckDelivery: the disk is full when an attempt ends, so the operation stays in progress. Once
// there is room, the page offers the actions, and a person retries the operation.
func TestQueuePageActsOnStuckDelivery(t *testing.T) {
	t.Parallel()
	room := &atomic.Bool{}
	h, fake := newPracticeOn(t, fillingQueue{enginetest.Queue(t), &atomic.Int32{}, room}, time.Hour)
	fake.Script(upstreamtest.Step{Procedure: "SetPatient", Outcome: upstreamtest.RateLimited})
	h.queued("Lena Vogt", "09:00", "processing", false)
	for deadline := time.Now().Add(patience); h.engine.Outbound.Unsaved() == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the outcome of the attempt was stored")
		}
	}
	p := h.desk(t, store.RoleReception)
	p.click(`nav a[href="#queue"]`)
	p.lineSays("Lena Vogt", "Sending")
	room.Store(true)
	p.lineSays("Lena Vogt", "The other system told Holdfast to slow down.")
	p.onLine("Lena Vogt", "Retry now")
	p.lineSays("Lena Vogt", "Done")
	if n := fake.Score().Appointments; n != 1 {
		t.Errorf("the practice system has %d appointments, want one", n)
	}
}

// TestQueuePageRetriesAllFailed: two bookings have failed. One click retries both.
func TestQueuePageRetriesAllFailed(t *testing.T) {
	t.Parallel()
	h, fake := newPractice(t, time.Millisecond)
	for _, name := range []string{"Lena Vogt", "Per Lind"} {
		fake.Outcomes(upstreamtest.PatientUnknown)
		h.queued(name, map[string]string{"Lena Vogt": "09:00", "Per Lind": "10:00"}[name], "failed", false)
	}
	p := h.desk(t, store.RoleReception)
	p.click(`nav a[href="#queue"]`)
	p.lineSays("Per Lind", "Failed")
	p.accessible("bookings that failed")
	p.click("#retry-all")
	p.says("Retrying 2 messages.")
	p.lineSays("Lena Vogt", "Done")
	p.lineSays("Per Lind", "Done")
	p.until(`!document.querySelector('#retry-all')`)
}

// TestDeskShowsRefusedUpstreamWrite: a time that the upstream has refused is closed temporarily, and the desk sees the
// time and the end of the closure.
func TestDeskShowsRefusedUpstreamWrite(t *testing.T) {
	t.Parallel()
	h, _ := newPractice(t, time.Millisecond)
	start, err := time.Parse(time.RFC3339, h.at("09:00"))
	if err != nil {
		t.Fatal(err)
	}
	h.engine.Booking.CloseTime(t.Context(), "ada", "refused", start, start.Add(30*time.Minute))
	p := h.desk(t, store.RoleReception)
	p.click(`nav a[href="#queue"]`)
	p.there("#practice li")
	if got := p.text("#practice"); !strings.Contains(got, "closed here until") ||
		!strings.Contains(got, "Dr Ada Brandt") || !strings.Contains(got, "09:00") {
		t.Errorf("the desk shows %q", got)
	}
	p.accessible("time that was refused")
}

// TestQueuePageReviewsUnknownOutcome: the outcome of three bookings is unknown, and look-ups fail. A person decides.
func TestQueuePageReviewsUnknownOutcome(t *testing.T) {
	t.Parallel()
	h, fake := newPractice(t, time.Millisecond)
	blind := slices.Repeat([]upstreamtest.Step{{Procedure: "GetAppointmentListByPatient",
		Outcome: upstreamtest.ServerError}}, 3)
	for i, doubt := range []struct {
		name, clock string
		outcome     upstreamtest.Outcome
	}{{"Lena Vogt", "09:00", upstreamtest.LostApplied}, {"Per Lind", "10:00", upstreamtest.LostNotApplied},
		{"Mia Sand", "11:00", upstreamtest.LostNotApplied}} {
		fake.Outcomes(doubt.outcome)
		fake.Script(blind...)
		h.queued(doubt.name, doubt.clock, "failed", true)
		if got := len(fake.Appointments()); got != 1 {
			t.Fatalf("after %d bookings the practice system has %d, want the first one's", i+1, got)
		}
	}
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#queue")
	p.lineSays("Lena Vogt", "Needs your decision")
	p.lineSays("Lena Vogt", "The other system did not respond, and could not confirm whether the message had arrived.")
	p.says("3 messages need your attention")
	p.accessible("bookings in doubt")
	p.shot("queue-3-review")
	p.onLine("Lena Vogt", "Mark as arrived")
	p.says("Marked as arrived.")
	h.operation("Lena Vogt", "completed", false)
	p.lineSays("Lena Vogt", "Done")
	if first := p.text(".lines .line"); !strings.Contains(first, "Lena Vogt") {
		t.Errorf("the lines changed places below the pointer: the first is now %q", first)
	}
	p.onLine("Per Lind", "Send again")
	p.says("Sending again.")
	h.operation("Per Lind", "completed", false)
	p.onLine("Mia Sand", "Give up")
	p.click("dialog .btn.solid")
	p.until(`!` + line("Mia Sand"))
	p.lineSays("Per Lind", "Done")
	if got := fake.Score(); got.Appointments != 2 || got.Duplicates != 0 {
		t.Errorf("the practice system has %+v, want two appointments and no duplicate", got)
	}
	states := map[any]int{}
	for _, a := range h.bookings() {
		states[a["upstreamState"]]++
	}
	if states["confirmed"] != 2 || states["failed"] != 1 {
		t.Errorf("the appointments are %v", states)
	}
	p.open("/staff?lang=en#list/" + h.date)
	p.says("Mia Sand")
}

// TestQueueReasonIsTranslated: the console shows the server's usual reasons in its own language, and marks any other
// reason as English.
func TestQueueReasonIsTranslated(t *testing.T) {
	t.Parallel()
	h, _ := newPractice(t, 0)
	for i, reason := range []string{"the queue could not be written", "earlier bookings were still waiting",
		"the person was erased, so there is nothing to write", "550 mailbox full"} {
		op := store.Operation{
			ID: fmt.Sprintf("op-179000000000%d-aaaaaa", i), Kind: store.Email, Status: store.OperationFailed,
			Attempts: 1, MaxAttempts: 10, LastError: reason, CreatedAt: time.Now(), FinishedAt: time.Now(),
		}
		if err := h.engine.Outbound.Queue.Add(t.Context(), op); err != nil {
			t.Fatal(err)
		}
	}
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=de#queue")
	p.says("Es ist nichts mehr zu senden.")
	p.says("Wartet, bis sie an der Reihe ist.")
	p.says("seine eigenen Daten nicht lesen oder speichern")
	if text := ask[string](p, `document.querySelector('.line-why [lang=en]').innerText`); text != "550 mailbox full" {
		t.Errorf("the reason marked as English is %q", text)
	}
}
