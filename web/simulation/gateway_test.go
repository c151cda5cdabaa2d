package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"holdfast/engine/notice/noticetest"
	"holdfast/store"
	"holdfast/web/pipetest"
	"holdfast/web/simulation/referee"
)

// gateway is the clinic's SMS gateway. It keeps running when the server restarts. It is sometimes slow or busy, limits
// the rate, fails before or after it has accepted a message, closes the connection, or is unreachable for hours. It
// never declines a message so often that the server may give up.
type gateway struct {
	outage
	listener *pipetest.Listener
	server   *http.Server
	serving  sync.WaitGroup
	fake     noticetest.Gateway

	mu       sync.Mutex
	fate     *rand.Rand
	declined map[string]int // how often, by number and text
	texts    []referee.Text // not judged yet
}

// smsSettings sets the country code of numbers that have none.
var smsSettings = map[string]any{"countryCode": "49"}

func newGateway(seed uint64) *gateway {
	g := &gateway{listener: pipetest.NewListener(), fate: rand.New(rand.NewPCG(seed, 8)), declined: map[string]int{}}
	g.fake.Answer(g.answer)
	g.server = &http.Server{Handler: &g.fake}
	g.serving.Go(func() { _ = g.server.Serve(g.listener) })
	return g
}

func (g *gateway) close() {
	_ = g.server.Close()
	g.serving.Wait()
}

// answer accepts one message or lets it fail, and records it for the referee.
func (g *gateway) answer(m noticetest.Text) (status int, body string) {
	t, status, delay := g.takes(m)
	g.mu.Lock()
	g.texts = append(g.texts, t)
	g.mu.Unlock()
	time.Sleep(delay)
	return status, ""
}

func (g *gateway) takes(m noticetest.Text) (t referee.Text, status int, delay time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t = referee.Text{To: m.To, Body: m.Text, At: time.Now(), Settled: true, Taken: true}
	status = http.StatusOK
	switch chance := g.fate.IntN(100); {
	case chance < 12 && g.declined[t.To+t.Body] < mostFailures:
		g.declined[t.To+t.Body]++
		t.Settled, t.Taken = false, false
		status = []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[chance%2]
	case chance < 12:
	case chance < 16: // the response is lost, and possibly the message
		t.Taken, status = chance%2 == 0, 0
	case chance < 20:
		t.Taken, status = chance%2 == 0, http.StatusInternalServerError
	case chance < 24: // may be too slow for a sender that waits 15 seconds
		delay = time.Duration(1+g.fate.IntN(40)) * time.Second
	}
	return t, status, delay
}

// pending returns the messages that have arrived since the last call.
func (g *gateway) pending() []referee.Text {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.texts
	g.texts = nil
	return list
}

// agreed returns the number of a patient who agrees to text messages, or an empty string. Every second patient agrees.
func agreed(who map[string]any) string {
	name := who["name"].(string)
	if name[len(name)-1]%2 == 1 {
		return ""
	}
	return international(who["phone"].(string))
}

// international returns a German number in international format, which is the format that the gateway receives.
func international(phone string) string {
	return "+49" + strings.TrimPrefix(strings.ReplaceAll(phone, " ", ""), "0")
}

// agrees adds to a booking whether its patient agrees to text messages.
func agrees(body map[string]any) {
	body["sms"] = agreed(body["patient"].(map[string]any)) != ""
}

// texted informs the referee which text messages the patient of a new appointment has agreed to.
func (l *life) texted(id string, who map[string]any, since time.Time) {
	if number := agreed(who); number != "" {
		l.phones[id] = who["phone"].(string)
		l.Agrees(id, number, since, time.Now())
	}
}

// text makes the gateway unreachable for up to three hours, gives or withdraws a patient's consent, changes a number,
// or moves an appointment away and back.
func (l *life) text(r *rand.Rand) error {
	if l.faults.isArmed() {
		return nil
	}
	if r.IntN(4) == 0 {
		l.trouble = append(l.trouble, l.gateway.leaveForHours(r))
		return nil
	}
	var list []*referee.Appointment
	for id, a := range l.Appointments {
		if l.phones[id] != "" && !a.Cancelled && !a.Erased && a.Start.After(time.Now().Add(5*time.Minute)) {
			list = append(list, a)
		}
	}
	sortBy(list, func(a *referee.Appointment) string { return a.Span.String() + a.Name + a.ID })
	a := oneOf(r, list)
	if a == nil {
		return nil
	}
	if r.IntN(3) == 0 && !a.Overbook && l.Proposals[a.ID] == nil && !l.inVisit[a.ID] && a.Type != "scarce" {
		return l.moveAndBack(r, a)
	}
	phone, body := l.phones[a.ID], map[string]any{"notify": r.IntN(2) == 0}
	switch {
	case l.Number(a.ID) == "":
		body["sms"], body["notify"] = true, true // a silent change plans no reminders
	case r.IntN(2) == 0:
		body["sms"] = false
	default:
		phone = fmt.Sprintf("0170 %07d", r.IntN(10_000_000))
		body["patient"] = map[string]any{"phone": phone}
	}
	asked := time.Now()
	reply, err := l.do(&request{method: "PATCH", path: "/v1/appointments/" + a.ID, admin: true, body: body})
	if err != nil || reply.status != 200 {
		return fmt.Errorf("changing the number of %s got %v %+v", a, err, reply)
	}
	l.phones[a.ID] = phone
	number := international(phone)
	if body["sms"] == false {
		number = ""
	}
	l.Agrees(a.ID, number, asked, time.Now())
	l.counts["changed numbers and agreements"]++
	return nil
}

// moveAndBack moves an appointment to another free time, and up to 90 s later moves it back if its old time is still
// free.
func (l *life) moveAndBack(r *rand.Rand, a *referee.Appointment) error {
	before := a.Start
	for _, at := range []time.Time{l.otherStart(a), before} {
		if at.IsZero() || l.Appointments[a.ID].Cancelled || l.faults.isOff() {
			return nil
		}
		if moved, err := l.moveTo(a, at); err != nil || !moved {
			return err
		}
		if at.Equal(before) {
			l.counts["moved and back"]++
			return nil
		}
		time.Sleep(time.Duration(1+r.IntN(90)) * time.Second)
	}
	return nil
}

// otherStart returns a free start of the same type, specialist and day. It returns the zero time if there is none.
func (l *life) otherStart(a *referee.Appointment) time.Time {
	for _, start := range l.Starts(a.Type, a.Specialist, a.Start.Year(), a.Start.Month(), a.Start.Day()) {
		to := l.SpanOf(a.Type, a.Specialist, start)
		if !start.Equal(a.Start) && l.Offered(to, time.Now()) && len(l.FreeSeats(to, a.ID)) > 0 {
			return start
		}
	}
	return time.Time{}
}

// moveTo moves an appointment at the desk, and lets the referee count the move. It returns false if the start is held
// or near a clock change.
func (l *life) moveTo(a *referee.Appointment, start time.Time) (moved bool, err error) {
	reply, err := l.do(&request{method: "POST", path: "/v1/appointments/" + a.ID + "/reschedule", admin: true,
		body: map[string]any{"slotStartDate": stamp(start), "specialistId": a.Specialist, "displace": true}})
	if err != nil || reply.status != 200 {
		return false, err
	}
	err = l.took(reply, a)
	l.ReviewTexts(time.Now())
	return true, err
}

// moveWithLateText moves an appointment while the gateway is unreachable for some seconds, so that the message about
// the move is sent while the next change can still be undone.
func (l *life) moveWithLateText(r *rand.Rand, a *referee.Appointment) error {
	start := l.otherStart(a)
	if start.IsZero() || l.faults.isArmed() || l.faults.isOff() || a.Overbook || l.Proposals[a.ID] != nil {
		return nil
	}
	if !l.gateway.isGone() {
		l.trouble = append(l.trouble, l.gateway.leave(4*time.Second))
	}
	moved, err := l.moveTo(a, start)
	if moved {
		l.counts["moves with a late text message"]++
		time.Sleep(time.Duration(4+r.IntN(6)) * time.Second)
	}
	return err
}

// checkTexts passes the text messages since the last check to the referee, and opens the links of the last ones.
func (l *life) checkTexts() error {
	l.ReviewTexts(time.Now())
	list := l.gateway.pending()
	if len(list) > 0 {
		if err := l.readOffers(); err != nil {
			return err
		}
	}
	for _, t := range list {
		l.counts["text messages"]++
		if err := l.Texted(t); err != nil {
			return err
		}
	}
	if err := l.openOffer(); err != nil {
		return err
	}
	t := l.LastText()
	if t == nil || t.Link() == l.openedLink || !l.IsCurrent(t) || l.faults.isOff() {
		return nil
	}
	a, err := l.asks(&request{method: "GET", path: "/v1/appointments/managed", manage: t.Link(), check: true})
	if err != nil || a.status >= 500 {
		return nil
	}
	if a.status != 200 || !strings.Contains(a.raw, t.About()) {
		return fmt.Errorf("the link of the text message %q to %s got %d %s", t.Body, t.To, a.status, a.raw)
	}
	l.openedLink = t.Link()
	l.counts["opened links of text messages"]++
	return nil
}

// openOffer opens the link of the last text message about an offer that is still open.
func (l *life) openOffer() error {
	t, entry := l.LastOffer(time.Now())
	if t == nil || t.Link() == l.openedOffer || l.faults.isOff() {
		return nil
	}
	a, err := l.asks(&request{method: "GET", path: "/v1/waitlist/managed", manage: t.Link(), check: true})
	if err != nil || a.status >= 500 {
		return nil
	}
	if a.status != 200 || !strings.Contains(a.raw, entry) {
		return fmt.Errorf("the link of the text message %q to %s got %d %s", t.Body, t.To, a.status, a.raw)
	}
	l.openedOffer = t.Link()
	l.counts["opened links of offers"]++
	return nil
}

// readOffers reads all offers and proposals from the database for the referee, and counts the messages that may ask a
// displaced patient for another time.
func (l *life) readOffers() error {
	rows, err := l.rows.Query(`SELECT o.id, o.entry_id, o.appointment_type_id, o.specialist_id, o.slot_start, o.slot_end,
			o.created_at, o.expires_at, COALESCE(o.ended_at, 0), o.status, e.absence_id, e.appointment_id, e.displaced
		FROM waitlist_offers o JOIN waitlist_entries e ON e.id = o.entry_id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var list []referee.OfferedTime
	asked := map[string]int{}
	for rows.Next() {
		var o referee.OfferedTime
		var start, end, created, expires, ended int64
		var status, absence, appointment, displaced string
		if err := rows.Scan(&o.ID, &o.Entry, &o.Type, &o.Specialist, &start, &end, &created, &expires, &ended, &status,
			&absence, &appointment, &displaced); err != nil {
			return err
		}
		o.Start, o.End = time.UnixMilli(start).UTC(), time.UnixMilli(end).UTC()
		o.Created, o.Expires = time.UnixMilli(created), time.UnixMilli(expires)
		if ended != 0 {
			o.Ended = time.UnixMilli(ended)
		}
		if absence != "" {
			o.Appointment, o.By = appointment, string(store.Unpacked[store.Displaced](displaced).By)
		}
		if absence != "" && status == "withdrawn" {
			asked[appointment]++
		}
		list = append(list, o)
	}
	l.OffersAre(list)
	for _, x := range l.allAbsences {
		for id := range x.timeless {
			asked[id]++
		}
	}
	for id, n := range asked {
		l.MovesAsked(id, n)
	}
	return rows.Err()
}

// span is a period during which the gateway or the server did not work.
type span struct{ from, until time.Time }

// health returns how long the gateway was reachable between two instants.
func (l *life) health(from, until time.Time) (worked time.Duration) {
	for at := from; at.Before(until); at = at.Add(time.Minute) {
		is := true
		for _, s := range l.trouble {
			is = is && (at.Before(s.from.Add(-time.Minute)) || at.After(s.until.Add(6*time.Minute)))
		}
		if is {
			worked += time.Minute
		}
	}
	return worked
}

// checkTextsDue checks, once no message is pending, that every text message that was due has arrived.
func (l *life) checkTextsDue() error {
	if err := errors.Join(l.readOffers(), l.checkTexts()); err != nil {
		return err
	}
	var list []store.Delivery
	isUndecided := func(id, kind string) bool {
		var err error
		if list, err = l.store.Deliveries(context.Background(), id); err != nil {
			return false
		}
		for _, d := range list {
			if d.Channel == string(store.ChannelSMS) && d.Notice == kind && d.State == "needs_review" {
				return true
			}
		}
		return false
	}
	for kind, n := range l.TextKinds() {
		l.counts["text messages: "+kind] = n
	}
	err := l.TextsDue(time.Now(), l.health, isUndecided)
	if err == nil {
		err = l.OfferTextsDue(time.Now(), l.health, isUndecided)
	}
	if err != nil {
		err = fmt.Errorf("%w; its deliveries are %+v", err, list)
	}
	return err
}
