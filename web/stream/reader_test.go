package stream

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/holds"
	"holdfast/holds/memory"
	"holdfast/store"
)

// The stream tests share this code: a hub over a real engine, and a reader that opens a stream from the hub.

type streams struct {
	t      testing.TB
	engine *engine.Engine
	holds  *memory.Backend
	hub    *Hub
	stop   context.CancelFunc
	ended  chan struct{}
	day    time.Time // 09:00 UTC, in two days
}

func newStreams(t testing.TB, o Options, change ...func(*Source)) *streams {
	t.Helper()
	ctx := context.Background()
	db := enginetest.Database(t)
	live := enginetest.Holds(t, db)
	e, err := engine.New(ctx, engine.Options{Store: db, Holds: live})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Clinic.Import(ctx, "system", streamClinic()); err != nil {
		t.Fatal(err)
	}
	source := sourceOf(e)
	for _, c := range change {
		c(&source)
	}
	h := New(source, slog.New(slog.DiscardHandler), o)
	running, stop := context.WithCancel(ctx)
	s := &streams{t: t, engine: e, holds: live, hub: h, stop: stop, ended: make(chan struct{})}
	s.day = time.Now().UTC().Truncate(24 * time.Hour).Add(48*time.Hour + 9*time.Hour)
	enginetest.Run(t, e.Run)
	go func() {
		defer close(s.ended)
		h.Run(running)
	}()
	t.Cleanup(func() {
		stop()
		<-s.ended
	})
	return s
}

// sourceOf returns the Source that web would build from the engine.
func sourceOf(e *engine.Engine) Source {
	return Source{
		Epoch: e.Booking.Epoch, Watch: e.Booking.Watch, Concerns: e.Clinic.Concerns,
		Slots: func(ctx context.Context, appointmentTypeID string) (Snapshot, error) {
			now, err := e.Booking.StreamStart(ctx, appointmentTypeID)
			return Snapshot{Generation: now.Generation, Holds: now.Holds, Looking: now.Looking}, err
		},
		Presence: func(ctx context.Context) (Snapshot, error) {
			generation := e.Clinic.Generation("")
			now, err := e.Presence.StreamStart(ctx)
			return Snapshot{Generation: generation, Presence: now}, err
		},
	}
}

func streamClinic() clinic.File {
	f := clinic.File{Clinic: &clinic.FileClinic{Name: "Harbour Clinic", Timezone: "UTC"}}
	var hours []clinic.HoursEntry
	for day := range 7 {
		hours = append(hours, clinic.HoursEntry{Weekday: store.Weekday(day), Start: 0, End: 1440})
	}
	for _, id := range []string{"ada", "bea"} {
		f.Specialists = append(f.Specialists, clinic.SpecialistEntry{ID: id,
			Name: id, Active: true, WeeklyHours: hours})
	}
	for id, who := range map[string][]string{"checkup": {"ada", "bea"}, "hygiene": {"ada"}, "other": {"bea"}} {
		entry := clinic.AppointmentTypeEntry{
			ID: id, Name: id, DurationMinutes: 30, HorizonDays: 60, Capacity: 1, HoldTTLSeconds: 30,
			MaxHoldSeconds: 900, HoldQuota: 100, Active: true,
		}
		for _, p := range who {
			entry.Specialists = append(entry.Specialists, clinic.AssignmentEntry{SpecialistID: p})
		}
		f.AppointmentTypes = append(f.AppointmentTypes, entry)
	}
	return f
}

// hijacked is a ResponseWriter whose connection is one end of a pipe.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
}

func (w hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.conn, bufio.NewReadWriter(bufio.NewReader(w.conn), bufio.NewWriter(w.conn)), nil
}

// listen opens a stream for an appointment type over a pipe and returns the client's end.
func (s *streams) listen(appointmentType string, client holds.ClientID, lease time.Duration) *reader {
	s.t.Helper()
	return s.open(Request{Topic: appointmentType, Client: client, Lease: lease})
}

// open opens the requested stream.
func (s *streams) open(q Request) *reader {
	s.t.Helper()
	near, far := net.Pipe()
	r := httptest.NewRequest("GET", "/v1/holds/stream", nil)
	go func() {
		err := s.hub.Open(hijacked{httptest.NewRecorder(), near}, r, q)
		if err != nil {
			s.t.Error(err)
		}
	}()
	c := &reader{t: s.t, conn: far, in: bufio.NewReader(far)}
	s.t.Cleanup(func() { far.Close() })
	for { // the head
		line, err := c.in.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		if line == "\r\n" {
			return c
		}
	}
}

type reader struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

type frame struct {
	text string // as received, without the empty line
	id   string
	Type string `json:"type"`

	HoldID, SpecialistID, Reason, ClientID, ConnectionID string
	IsOwnHold                                            bool
	Generation                                           uint64
}

// next reads one frame. It returns io.EOF when the server has closed the stream.
func (r *reader) next() (frame, error) {
	var f frame
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			return f, err
		}
		if line == "\n" {
			f.text = strings.TrimSuffix(f.text, "\n")
			return f, nil
		}
		f.text += line
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			f.id = strings.TrimSpace(id)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &f); err != nil {
				return f, fmt.Errorf("%q: %w", line, err)
			}
		}
	}
}

func (r *reader) must() frame {
	r.t.Helper()
	f, err := r.next()
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

// upTo reads frames up to the first one of this type, and returns it.
func (r *reader) upTo(kind string) frame {
	r.t.Helper()
	for {
		if f := r.must(); f.Type == kind {
			return f
		}
	}
}

func (s *streams) claim(appointmentType, specialist string, slot int, client holds.ClientID) holds.Hold {
	s.t.Helper()
	h, err := s.engine.Booking.Hold(context.Background(), booking.HoldRequest{
		AppointmentTypeID: appointmentType, SpecialistID: specialist,
		SlotStart: s.day.Add(time.Duration(slot) * 30 * time.Minute), Client: client,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return h
}

const (
	ownClient   holds.ClientID = "own-client-0123456789"
	otherClient holds.ClientID = "other-client-0123456789"
)
