package simulation

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"holdfast/web/pipetest"
	"holdfast/web/simulation/referee"
)

// receiver is the clinic's program that receives webhooks. It keeps running when the server restarts. It is sometimes
// slow, responds with 500, accepts a message and closes the connection, or is unreachable for hours. It never fails a
// message so often that the server may give up.
type receiver struct {
	outage
	listener *pipetest.Listener
	server   *http.Server
	serving  sync.WaitGroup

	mu       sync.Mutex
	fate     *rand.Rand
	failures map[string]int
	judge    *referee.Receiver
	broken   error
}

// mostFailures is less than the ten attempts after which the server gives up on a message, because a kill during an
// attempt may also use up attempts.
const mostFailures = 4

func newReceiver(seed uint64) *receiver {
	v := &receiver{listener: pipetest.NewListener(), fate: rand.New(rand.NewPCG(seed, 6)), failures: map[string]int{},
		judge: referee.NewReceiver()}
	v.server = &http.Server{Handler: v}
	v.serving.Go(func() { _ = v.server.Serve(v.listener) })
	return v
}

func (v *receiver) close() {
	_ = v.server.Close()
	v.serving.Wait()
	time.Sleep(time.Minute) // until the slow handlers have ended
}

// outage is the time until which a server of the clinic is unreachable.
type outage struct {
	mu    sync.Mutex
	until time.Time
}

func (o *outage) isGone() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Now().Before(o.until)
}

// leave makes the server unreachable, and returns for when.
func (o *outage) leave(d time.Duration) span {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	o.until = now.Add(d)
	return span{now, o.until}
}

// leaveForHours makes the server unreachable for up to three hours, and returns for when.
func (o *outage) leaveForHours(r *rand.Rand) span {
	return o.leave(time.Duration(5+r.IntN(180)) * time.Minute)
}

// dial returns a function that connects if the listener is reachable and the caller's machine has power and a network.
func dial(to *pipetest.Listener, isGone func() bool,
	f *faults) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		f.mu.Lock()
		refused, dead := f.off || time.Now().Before(f.cut), time.Now().Before(f.dead)
		f.mu.Unlock()
		switch {
		case refused, isGone():
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		case dead:
			select { // like a dialer, until its context ends
			case <-time.After(5 * time.Second):
			case <-ctx.Done():
			}
			return nil, &net.OpError{Op: "dial", Err: syscall.ETIMEDOUT}
		}
		return to.Dial(ctx, network, address)
	}
}

// ServeHTTP accepts a message or lets it fail, and passes it to the referee.
func (v *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the connection broke
	}
	status, delay := v.takes(r.Header, body)
	time.Sleep(delay)
	if status == 0 {
		panic(http.ErrAbortHandler) // closes the connection
	}
	w.WriteHeader(status)
}

func (v *receiver) takes(header http.Header, body []byte) (status int, delay time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	id := header.Get("webhook-id")
	err := v.judge.Signed(id, header.Get("webhook-timestamp"), header.Get("webhook-signature"), body, time.Now())
	var said struct {
		Type string
		Data struct {
			AppointmentID, Status string
			SlotStartDate         time.Time
			Version               int64
		}
	}
	if err == nil {
		err = json.Unmarshal(body, &said)
	}
	status = http.StatusNoContent
	taken := true
	if chance := v.fate.IntN(100); v.failures[id] < mostFailures && chance < 30 {
		v.failures[id]++
		switch {
		case chance < 16:
			status, taken = http.StatusInternalServerError, false
		case chance < 20:
			status, taken = 0, false
		case chance < 24:
			status = 0
		default: // may be too slow for a sender that waits 15 seconds
			delay = time.Duration(1+v.fate.IntN(40)) * time.Second
		}
	}
	if err == nil {
		err = v.judge.Arrives(referee.Hook{
			ID: id, Event: said.Type, Appointment: said.Data.AppointmentID, Version: said.Data.Version,
			Start: said.Data.SlotStartDate, Cancelled: said.Data.Status == "cancelled", Taken: taken,
		})
	}
	if v.broken == nil {
		v.broken = err
	}
	return status, delay
}

// judged returns the first violated guarantee of the webhooks.
func (v *receiver) judged() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.broken
}

// hooks makes the receiver unreachable for up to three hours, or changes its secret.
func (l *life) hooks(r *rand.Rand) error {
	if r.IntN(2) == 0 {
		l.receiver.leaveForHours(r)
		return nil
	}
	if l.faults.isArmed() {
		return nil
	}
	return l.newSecret(r)
}

// newSecret sets the address of the webhooks and their new signing secret on the server.
func (l *life) newSecret(r *rand.Rand) error {
	raw := make([]byte, 32)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	text := "whsec_" + base64.StdEncoding.EncodeToString(raw)
	l.receiver.mu.Lock()
	err := l.receiver.judge.Secret(text, time.Now())
	l.receiver.mu.Unlock()
	if err != nil {
		return err
	}
	a, err := l.do(&request{method: "PUT", path: "/v1/settings", admin: true, body: map[string]any{"places": places,
		"sms":      smsSettings,
		"webhooks": []any{map[string]any{"id": "books", "url": "http://books.clinic.test/told", "secret": text}},
	}})
	if err == nil && a.status != 200 {
		err = fmt.Errorf("rotating the secret of a webhook got %d %s", a.status, a.raw)
	}
	return err
}

// checkHooks checks the messages that the receiver has received, once no webhook is pending.
func (l *life) checkHooks() error {
	l.receiver.mu.Lock()
	defer l.receiver.mu.Unlock()
	l.counts["webhooks"] = l.receiver.judge.Count()
	for _, id := range sorted(l.Appointments) {
		a := l.Appointments[id]
		if a.Type == "cleaning" {
			continue // its webhook is sent once the practice-management system has it, which may never happen
		}
		if err := l.receiver.judge.Told(a); err != nil {
			return err
		}
	}
	return nil
}
