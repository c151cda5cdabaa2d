package cli

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

// demoWrites is how many appointments a minute the demo's practice-management system accepts.
const demoWrites = 5

// newPractice returns the demo's practice-management system, and sets its address and credentials in cfg. It has the
// chairs and types for which the clinic's file has GUIDs of the upstream.
func newPractice(cfg *config, clinic clinic.File) *upstreamtest.Server {
	cfg.practice.OpeningsEvery = 0 // its openings are for the demo's agent; the visitors book the clinic's own calendar
	cfg.upstream.url, cfg.upstream.clientID, cfg.upstream.user, cfg.upstream.password = "https://practice.example/GetData.ashx", "demo", "demo", "demo"
	o := upstreamtest.Options{ClientID: "demo", User: "demo", Password: "demo", WritesPerMinute: demoWrites, RefuseTaken: true}
	if zone, err := time.LoadLocation(clinic.Clinic.Timezone); err == nil {
		o.Zone = zone
	}
	for _, s := range clinic.Specialists {
		if s.Upstream != nil {
			o.Columns = append(o.Columns, upstreamtest.Column{
				ScheduleViewGUID: s.Upstream.ScheduleViewGUID, ScheduleColumnGUID: s.Upstream.ScheduleColumnGUID, FromHour: 10, ToHour: 19, Minutes: 40,
			})
		}
	}
	return upstreamtest.New(o)
}

// agent is the demo's voice agent. It uses the same API as every agent.
type agent struct {
	base, key string
	types     []string // GUIDs of the appointment types it books
	http      *http.Client
	log       *slog.Logger
}

func newAgent(base, key string, clinic clinic.File, log *slog.Logger) *agent {
	a := &agent{base: base, key: key, log: log, http: &http.Client{Timeout: 20 * time.Second}}
	for _, t := range clinic.AppointmentTypes {
		if t.Upstream != nil {
			a.types = append(a.types, t.Upstream.AppointmentTypeGUID)
		}
	}
	return a
}

// run takes calls until ctx ends, up to three at a time. The third of them waits in the queue.
func (a *agent) run(ctx context.Context) {
	for pause(ctx, 10*time.Second, 40*time.Second) && len(a.types) > 0 {
		var all sync.WaitGroup
		for range 1 + random.IntN(3) {
			all.Go(func() {
				if err := a.takeCall(ctx); err != nil && ctx.Err() == nil {
					a.log.Debug("caller of the admin socket disconnected", "error", err)
				}
			})
		}
		all.Wait()
	}
	a.http.CloseIdleConnections()
}

// takeCall identifies a parent, requests slots, and books one for a child.
func (a *agent) takeCall(ctx context.Context) error {
	parent, call := invented(), fmt.Sprintf("demo-%d", time.Now().UnixNano())
	var who struct {
		PatientGUID      string `json:"patientGUID"`
		BookingAuthToken string `json:"bookingAuthToken"`
	}
	first, last, _ := strings.Cut(parent, " ")
	if err := a.call(ctx, "/v1/agent/patients", map[string]any{"firstName": first, "lastName": last, "uui": call, "sessionId": call}, &who); err != nil {
		return err
	}
	var offered struct {
		Slots []struct {
			BookingToken string `json:"bookingToken"`
		} `json:"slots"`
	}
	ask := map[string]any{"appointmentTypeGUID": a.types[random.IntN(len(a.types))], "from": time.Now().AddDate(0, 0, 1+random.IntN(50)).Format(time.DateOnly), "count": 20}
	if err := a.call(ctx, "/v1/agent/slots", ask, &offered); err != nil || len(offered.Slots) == 0 {
		return err
	}
	return a.call(ctx, "/v1/agent/appointments", map[string]any{
		"patientGUID": who.PatientGUID, "bookingAuthToken": who.BookingAuthToken, "bookingToken": offered.Slots[random.IntN(len(offered.Slots))].BookingToken,
		"childName": givenNames[random.IntN(len(givenNames))] + " " + last, "note": "DOB: 02/03/2018", "uui": call, "sessionId": call,
	}, nil)
}

func (a *agent) call(ctx context.Context, path string, body, into any) error {
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
