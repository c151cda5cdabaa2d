package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	random "math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/upstream/upstreamtest"
)

// The demo has a practice-management system, which accepts at most five appointments a minute, and a voice agent
// whose callers book physiotherapy. Together with the visitors, they cause enough load that the queue is visibly in
// use.

// WritesPerMinute is how many appointments a minute the demo's practice-management system accepts.
const WritesPerMinute = 5

// PracticeUser is the client id, the user name and the password for the demo's practice-management system.
const PracticeUser = "demo"

// NewPractice returns the demo's practice-management system. It contains the chairs and types that have upstream GUIDs
// in the clinic's file.
func NewPractice(clinic clinic.File) *upstreamtest.Server {
	o := upstreamtest.Options{
		ClientID: PracticeUser, User: PracticeUser, Password: PracticeUser,
		WritesPerMinute: WritesPerMinute, RefuseTaken: true,
	}
	if zone, err := time.LoadLocation(clinic.Clinic.Timezone); err == nil {
		o.Zone = zone
	}
	for _, s := range clinic.Specialists {
		if s.Upstream != nil {
			o.Columns = append(o.Columns, upstreamtest.Column{
				ScheduleViewGUID: s.Upstream.ScheduleViewGUID, ScheduleColumnGUID: s.Upstream.ScheduleColumnGUID,
				FromHour: 10, ToHour: 19, Minutes: 40,
			})
		}
	}
	return upstreamtest.New(o)
}

// Agent is the demo's voice agent. It uses the same API as every agent.
type Agent struct {
	base, key string
	types     []string // GUIDs of the appointment types it books
	http      *http.Client
	log       *slog.Logger
}

// NewAgent returns the agent of a clinic on the server at the address base. key is an admin key.
func NewAgent(base, key string, clinic clinic.File, log *slog.Logger) *Agent {
	a := &Agent{base: base, key: key, log: log, http: &http.Client{Timeout: 20 * time.Second}}
	for _, t := range clinic.AppointmentTypes {
		if t.Upstream != nil {
			a.types = append(a.types, t.Upstream.AppointmentTypeGUID)
		}
	}
	return a
}

// Run simulates calls until ctx ends, up to three at a time, so that some bookings wait in the queue.
func (a *Agent) Run(ctx context.Context) {
	for pause(ctx, 10*time.Second, 40*time.Second) && len(a.types) > 0 {
		var all sync.WaitGroup
		for range 1 + random.IntN(3) {
			all.Go(func() {
				if err := a.TakeCall(ctx); err != nil && ctx.Err() == nil {
					a.log.Debug("simulated call failed", "error", err)
				}
			})
		}
		all.Wait()
	}
	a.http.CloseIdleConnections()
}

// TakeCall identifies a parent, requests slots, and books one for a child.
func (a *Agent) TakeCall(ctx context.Context) error {
	parent, call := invented(), fmt.Sprintf("demo-%d", time.Now().UnixNano())
	var who struct {
		PatientGUID      string `json:"patientGUID"`
		BookingAuthToken string `json:"bookingAuthToken"`
	}
	first, last, _ := strings.Cut(parent, " ")
	if err := a.call(ctx, "/v1/agent/patients", map[string]any{"firstName": first,
		"lastName": last, "uui": call, "sessionId": call}, &who); err != nil {
		return err
	}
	var offered struct {
		Slots []struct {
			BookingToken string `json:"bookingToken"`
		} `json:"slots"`
	}
	ask := map[string]any{"appointmentTypeGUID": a.types[random.IntN(len(a.types))],
		"from": time.Now().AddDate(0, 0, 1+random.IntN(50)).Format(time.DateOnly), "count": 20}
	if err := a.call(ctx, "/v1/agent/slots", ask, &offered); err != nil || len(offered.Slots) == 0 {
		return err
	}
	return a.call(ctx, "/v1/agent/appointments", map[string]any{
		"patientGUID": who.PatientGUID, "bookingAuthToken": who.BookingAuthToken,
		"bookingToken": offered.Slots[random.IntN(len(offered.Slots))].BookingToken,
		"childName":    givenNames[random.IntN(len(givenNames))] + " " + last, "note": "DOB: 02/03/2018", "uui": call,
		"sessionId": call,
	}, nil)
}

func (a *Agent) call(ctx context.Context, path string, body, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+a.key)
	reply, err := a.http.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode >= 400 {
		err = fmt.Errorf("%s: %s", path, reply.Status)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(text, into)
}
