package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	random "math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"holdfast/engine/clinic"
)

// The bounds of the demo's bustle: enough that something moves every second or two, and so few appointments at a time
// that the calendar never fills up.
const (
	visitorCount   = 6
	mostBooked     = 36
	visitorsLook   = 3             // days ahead, today included
	visitorsView   = 5 * time.Hour // what a desk's screen shows; they choose there if there is room
	visitorsSooner = 24            // else among so many of the next slots
)

// visitors are the people of the demo. They use the server as everybody else does: over HTTP, without a key. Only the
// cancellations, which keep their number down, are the front desk's.
type visitors struct {
	base     string // of the server, without a trailing slash
	adminKey string
	types    []string // appointment type ids
	zone     *time.Location
	http     *http.Client
	log      *slog.Logger

	mu     sync.Mutex
	booked []string // ids of the appointments that stand, oldest first
}

func newVisitors(base, adminKey string, clinic clinic.File, log *slog.Logger) *visitors {
	v := &visitors{base: base, adminKey: adminKey, log: log, http: &http.Client{Timeout: 10 * time.Second}}
	for _, t := range clinic.AppointmentTypes {
		v.types = append(v.types, t.ID)
	}
	var err error
	if v.zone, err = time.LoadLocation(clinic.Clinic.Timezone); err != nil {
		v.zone = time.UTC
	}
	return v
}

// run lets them come and go until ctx ends, and returns when the last has left. The first comes at once.
func (v *visitors) run(ctx context.Context) {
	var all sync.WaitGroup
	for n := range visitorCount {
		all.Go(func() {
			for first := n == 0; first || pause(ctx, 500*time.Millisecond, 3*time.Second); first = false {
				if err := v.visit(ctx); err != nil && ctx.Err() == nil {
					v.log.Debug("a visitor left early", "error", err)
				}
			}
		})
	}
	all.Wait()
	v.http.CloseIdleConnections()
}

// visit is one person: looks at a type's slots, holds one of the next, thinks, and books it or does not.
func (v *visitors) visit(ctx context.Context) error {
	client, appointmentType := rand.Text(), v.types[random.IntN(len(v.types))]
	start, err := v.choose(ctx, appointmentType)
	if err != nil || start == "" {
		return err
	}
	var hold struct {
		HoldID string `json:"holdId"`
	}
	err = v.call(ctx, http.MethodPost, "/v1/holds", map[string]any{
		"appointmentTypeId": appointmentType, "slotStartDate": start, "clientId": client}, &hold)
	if err != nil {
		return err // somebody was faster
	}
	mine := map[string]any{"holdId": hold.HoldID, "clientId": client}
	if !pause(ctx, 2*time.Second, 8*time.Second) {
		return nil
	}
	switch n := random.IntN(100); {
	case n < 15: // walks away: the hold lapses by itself
		return nil
	case n < 50:
		return v.call(ctx, http.MethodDelete, "/v1/holds", mine, nil)
	case n < 70: // thinks it over
		if err := v.call(ctx, http.MethodPatch, "/v1/holds", mine, nil); err != nil {
			return err
		}
		if !pause(ctx, 2*time.Second, 10*time.Second) {
			return nil
		}
	}
	return v.book(ctx, appointmentType, hold.HoldID, client)
}

// choose picks one of the next free slots; none is an empty string.
func (v *visitors) choose(ctx context.Context, appointmentType string) (start string, err error) {
	today, view := time.Now().In(v.zone), time.Now().Add(visitorsView).UTC().Format(time.RFC3339)
	var list struct {
		Slots []struct {
			Start     string `json:"start"`
			Available int    `json:"available"`
		} `json:"slots"`
	}
	path := fmt.Sprintf("/v1/appointment-types/%s/timeslots?from=%s&to=%s", appointmentType,
		today.Format(time.DateOnly), today.AddDate(0, 0, visitorsLook).Format(time.DateOnly))
	if err := v.call(ctx, http.MethodGet, path, nil, &list); err != nil {
		return "", err
	}
	var free []string
	near := 0
	for _, s := range list.Slots {
		if s.Available > 0 && len(free) < visitorsSooner {
			free = append(free, s.Start)
			if s.Start < view { // instants in UTC sort as texts
				near = len(free)
			}
		}
	}
	if near >= 4 {
		free = free[:near]
	}
	if len(free) == 0 {
		return "", nil
	}
	return free[random.IntN(len(free))], nil
}

// book books the held slot, and has the oldest appointment cancelled if there are too many now.
func (v *visitors) book(ctx context.Context, appointmentType, hold, client string) error {
	var reply struct {
		Appointment struct {
			ID string `json:"id"`
		} `json:"appointment"`
	}
	err := v.call(ctx, http.MethodPost, "/v1/appointment-types/"+appointmentType+"/book", map[string]any{
		"clientId": client, "holdId": hold, "patient": map[string]any{"name": invented(), "email": "visitor@example.com"}}, &reply)
	if err != nil {
		return err
	}
	v.mu.Lock()
	v.booked = append(v.booked, reply.Appointment.ID)
	oldest := ""
	// Now and then somebody changes their mind, so that a cancellation is seen before the calendar is half full.
	if len(v.booked) > mostBooked || random.IntN(5) == 0 {
		oldest, v.booked = v.booked[0], v.booked[1:]
	}
	v.mu.Unlock()
	if oldest == "" {
		return nil
	}
	return v.call(ctx, http.MethodPost, "/v1/appointments/"+oldest+"/cancel", map[string]any{}, nil)
}

// call makes one request. A refusal is an error with the status in it.
func (v *visitors) call(ctx context.Context, method, path string, body, into any) error {
	var send io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, v.base+path, send)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(path, "/v1/appointments/") { // the front desk
		r.Header.Set("Authorization", "Bearer "+v.adminKey)
	}
	reply, err := v.http.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	b, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode >= 400 {
		err = errors.New(method + ": " + reply.Status)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(b, into)
}

var givenNames = []string{"Mara", "Elias", "Noor", "Theo", "Ines", "Jonah", "Liv", "Samir", "Clara", "Pavel", "Yuki", "Rosa"}
var familyNames = []string{"Winter", "Okoye", "Lindqvist", "Marsh", "Becker", "Ferreira", "Novak", "Sato", "Kaya", "Moreau"}

// invented is a name of nobody.
func invented() string {
	return givenNames[random.IntN(len(givenNames))] + " " + familyNames[random.IntN(len(familyNames))]
}

// pause waits for a random time between the two, and reports whether ctx still stands.
func pause(ctx context.Context, least, most time.Duration) bool {
	wait := time.NewTimer(least + random.N(most-least))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wait.C:
		return true
	}
}
