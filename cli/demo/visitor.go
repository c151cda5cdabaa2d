package demo

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

// With these limits, the demo's visitors cause a change every second or two, and have so few appointments that the
// calendar never fills up.
const (
	visitorCount   = 6
	mostBooked     = 36
	visitorsLook   = 3             // days ahead, today included
	visitorsView   = 5 * time.Hour // from now, as a desk's screen shows; preferred if it has at least 4 free slots
	visitorsSooner = 24            // otherwise, how many of the next slots they choose from
)

// Visitors are the demo's simulated patients. They use the server over HTTP without a key, like real patients. Only the
// cancellations, which limit the number of appointments, use the admin key, like requests of the front desk.
type Visitors struct {
	base     string // URL of the server, without a trailing slash
	adminKey string
	types    []string // appointment type ids
	zone     *time.Location
	http     *http.Client
	log      *slog.Logger

	mu     sync.Mutex
	booked []string // ids of the appointments that are not cancelled, oldest first
}

// NewVisitors returns the visitors of a clinic on the server at the address base.
func NewVisitors(base, adminKey string, clinic clinic.File, log *slog.Logger) *Visitors {
	v := &Visitors{base: base, adminKey: adminKey, log: log, http: &http.Client{Timeout: 10 * time.Second}}
	for _, t := range clinic.AppointmentTypes {
		v.types = append(v.types, t.ID)
	}
	var err error
	if v.zone, err = time.LoadLocation(clinic.Clinic.Timezone); err != nil {
		v.zone = time.UTC
	}
	return v
}

// Run runs the visitors until ctx ends, and returns when the last one has finished. The first visit starts
// immediately.
func (v *Visitors) Run(ctx context.Context) {
	var all sync.WaitGroup
	for n := range visitorCount {
		all.Go(func() {
			for first := n == 0; first || pause(ctx, 500*time.Millisecond, 3*time.Second); first = false {
				if err := v.visit(ctx); err != nil && ctx.Err() == nil {
					v.log.Debug("simulated visitor stopped early", "error", err)
				}
			}
		})
	}
	all.Wait()
	v.http.CloseIdleConnections()
}

// visit simulates one patient. The patient lists the slots of a type, holds one of the next ones, waits, and then books
// it, releases it, or leaves.
func (v *Visitors) visit(ctx context.Context) error {
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
		return err // another client was faster
	}
	mine := map[string]any{"holdId": hold.HoldID, "clientId": client}
	if !pause(ctx, 2*time.Second, 8*time.Second) {
		return nil
	}
	switch n := random.IntN(100); {
	case n < 15: // leaves: the hold expires
		return nil
	case n < 50:
		return v.call(ctx, http.MethodDelete, "/v1/holds", mine, nil)
	case n < 70: // needs more time: renews the hold
		if err := v.call(ctx, http.MethodPatch, "/v1/holds", mine, nil); err != nil {
			return err
		}
		if !pause(ctx, 2*time.Second, 10*time.Second) {
			return nil
		}
	}
	return v.book(ctx, appointmentType, hold.HoldID, client)
}

// choose returns the start of one of the next free slots, or an empty string if there is none.
func (v *Visitors) choose(ctx context.Context, appointmentType string) (start string, err error) {
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
			if s.Start < view { // RFC 3339 strings in UTC sort by time
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

// book books the held slot, and cancels the oldest appointment if there are too many.
func (v *Visitors) book(ctx context.Context, appointmentType, hold, client string) error {
	var reply struct {
		Appointment struct {
			ID string `json:"id"`
		} `json:"appointment"`
	}
	err := v.call(ctx, http.MethodPost, "/v1/appointment-types/"+appointmentType+"/book", map[string]any{
		"clientId": client, "holdId": hold, "patient": map[string]any{"name": invented(),
			"email": "visitor@example.com"}}, &reply)
	if err != nil {
		return err
	}
	v.mu.Lock()
	v.booked = append(v.booked, reply.Appointment.ID)
	oldest := ""
	// Sometimes it cancels one earlier, so that the demo shows a cancellation before it has many appointments.
	if len(v.booked) > mostBooked || random.IntN(5) == 0 {
		oldest, v.booked = v.booked[0], v.booked[1:]
	}
	v.mu.Unlock()
	if oldest == "" {
		return nil
	}
	return v.call(ctx, http.MethodPost, "/v1/appointments/"+oldest+"/cancel", map[string]any{}, nil)
}

// call makes one request. A refusal is an error with the status.
func (v *Visitors) call(ctx context.Context, method, path string, body, into any) error {
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
	if strings.HasPrefix(path, "/v1/appointments/") { // with the key of the front desk
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

var givenNames = []string{"Mara", "Elias", "Noor", "Theo", "Ines", "Jonah", "Liv", "Samir", "Clara", "Pavel", "Yuki",
	"Rosa"}
var familyNames = []string{"Winter", "Okoye", "Lindqvist", "Marsh", "Becker", "Ferreira", "Novak", "Sato", "Kaya",
	"Moreau"}

// invented returns a random, made-up name.
func invented() string {
	return givenNames[random.IntN(len(givenNames))] + " " + familyNames[random.IntN(len(familyNames))]
}

// pause waits for a random time between least and most. It returns false if ctx has ended.
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
