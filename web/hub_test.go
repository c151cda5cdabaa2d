package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/holds"
	"holdfast/holds/memory"
	"holdfast/store"
	"holdfast/store/sqlite"
)

// The live stream: order, uniqueness, completeness, and nobody waiting for a slow reader. The hub is the real one over
// the real engine; connections are net.Pipe inside a bubble of virtual time, or sockets where the kernel's buffers matter.

type streams struct {
	t      testing.TB
	engine *engine.Engine
	holds  *memory.Backend
	hub    *hub
	stop   context.CancelFunc
	ended  chan struct{}
	day    time.Time // 09:00 UTC, two days ahead
}

func newStreams(t testing.TB, o hubOptions) *streams {
	t.Helper()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "holdfast.db")})
	if err != nil {
		t.Fatal(err)
	}
	live := memory.New(memory.Options{Booked: engine.Booked(db)})
	e, err := engine.New(ctx, engine.Options{Store: db, Holds: live})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Import(ctx, "system", streamClinic()); err != nil {
		t.Fatal(err)
	}
	h := newHub(e, slog.New(slog.DiscardHandler), o)
	running, stop := context.WithCancel(ctx)
	s := &streams{t: t, engine: e, holds: live, hub: h, stop: stop, ended: make(chan struct{})}
	s.day = time.Now().UTC().Truncate(24 * time.Hour).Add(48*time.Hour + 9*time.Hour)
	engineEnded := make(chan struct{})
	go func() {
		defer close(engineEnded)
		e.Run(running)
	}()
	go func() {
		defer close(s.ended)
		h.run(running)
	}()
	t.Cleanup(func() {
		stop()
		<-s.ended
		<-engineEnded
		if err := errors.Join(live.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func streamClinic() engine.ClinicFile {
	f := engine.ClinicFile{Clinic: &engine.ClinicEntry{Name: "Harbour Clinic", Timezone: "UTC"}}
	var hours []engine.HoursEntry
	for day := range 7 {
		hours = append(hours, engine.HoursEntry{Weekday: store.Weekday(day), Start: 0, End: 1440})
	}
	for _, id := range []string{"ada", "bea"} {
		f.Specialists = append(f.Specialists, engine.SpecialistEntry{ID: id, Name: id, Active: true, WeeklyHours: hours})
	}
	for id, who := range map[string][]string{"checkup": {"ada", "bea"}, "hygiene": {"ada"}, "other": {"bea"}} {
		entry := engine.AppointmentTypeEntry{
			ID: id, Name: id, DurationMinutes: 30, HorizonDays: 60, Capacity: 1, HoldTTLSeconds: 30, MaxHoldSeconds: 900, HoldQuota: 100, Active: true,
		}
		for _, p := range who {
			entry.Specialists = append(entry.Specialists, engine.AssignmentEntry{SpecialistID: p})
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

// listen opens a stream of a type over a pipe and returns the end that the client reads.
func (s *streams) listen(appointmentType string, client holds.ClientID, lease time.Duration) *reader {
	s.t.Helper()
	if lease == 0 {
		lease = defaultLease
	}
	near, far := net.Pipe()
	r := httptest.NewRequest("GET", "/v1/holds/stream", nil)
	go func() {
		err := s.hub.open(hijacked{httptest.NewRecorder(), near}, r, streamRequest{appointmentType, client, lease, func() {}})
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
	text string // as it came, without the empty line
	id   string
	Type string `json:"type"`

	HoldID, SpecialistID, Reason, ClientID, ConnectionID string
	IsOwnHold                                            bool
	Generation                                           uint64
}

// next reads one frame. io.EOF when the server has closed the stream.
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

// upTo reads frames until one of this type, and returns it.
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
	h, err := s.engine.Hold(context.Background(), engine.HoldRequest{
		AppointmentTypeID: appointmentType, SpecialistID: specialist, SlotStart: s.day.Add(time.Duration(slot) * 30 * time.Minute), Client: client,
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

// TestStreamLosesAndDoublesNothing opens streams in the middle of a storm of claims and releases. Each must be told of
// every hold exactly once, in its snapshot or live, and must end with the very holds that the table has.
func TestStreamLosesAndDoublesNothing(t *testing.T) {
	synctest.Test(t, stormWithVisitors)
}

func stormWithVisitors(t *testing.T) {
	s := newStreams(t, hubOptions{})
	ctx := context.Background()
	var storm, readers sync.WaitGroup
	stop := make(chan struct{})
	for n := range 4 {
		storm.Go(func() {
			client := holds.ClientID(fmt.Sprintf("storm-%016d", n))
			for i := 0; ; i++ {
				if i%20 == 19 {
					time.Sleep(time.Millisecond) // virtual: until everybody has caught up
				}
				select {
				case <-stop:
					return
				default:
				}
				h, err := s.engine.Hold(ctx, engine.HoldRequest{
					AppointmentTypeID: "checkup", SpecialistID: []string{"ada", "bea"}[i%2], SlotStart: s.day.Add(time.Duration(n*40+i%40) * 30 * time.Minute), Client: client,
				})
				if err == nil && i%40 < 36 {
					_, err = s.engine.ReleaseHold(ctx, h.ID, client)
				}
				if err != nil && !errors.Is(err, holds.ErrQuota) {
					var held *holds.HeldError
					if !errors.As(err, &held) {
						t.Error(err)
					}
				}
			}
		})
	}
	const visitors = 24
	last := make([]map[string]bool, visitors)
	var connected sync.WaitGroup
	connected.Add(visitors)
	for i := range visitors {
		r := s.listen("checkup", holds.ClientID(fmt.Sprintf("visitor-%016d", i)), 0)
		readers.Go(func() {
			live, told, seq := map[string]bool{}, map[string]bool{}, map[string]bool{}
			for {
				f, err := r.next()
				if err != nil {
					t.Errorf("visitor %d: %v", i, err)
					return
				}
				if f.id != "" && seq[f.id] {
					t.Errorf("visitor %d: event %s came twice", i, f.id)
				}
				seq[f.id] = f.id != ""
				switch f.Type {
				case "connected":
					connected.Done()
				case "hold":
					if told[f.HoldID] {
						t.Errorf("visitor %d: hold %s was told twice", i, f.HoldID)
					}
					live[f.HoldID], told[f.HoldID] = true, true
				case "release":
					delete(live, f.HoldID)
				case "availability": // the mark at the end
					last[i] = live
					return
				case "end":
					t.Errorf("visitor %d was ended: %s", i, f.Reason)
					return
				}
			}
		})
	}
	connected.Wait()
	close(stop)
	storm.Wait()
	if err := s.holds.Publish(ctx, holds.Event{Kind: holds.EventAvailability, Span: holds.Span{SpecialistID: "ada"}}); err != nil {
		t.Fatal(err)
	}
	readers.Wait()
	held, err := s.holds.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, live := range last {
		if len(live) != len(held) {
			t.Errorf("visitor %d believes in %d holds, the table has %d", i, len(live), len(held))
		}
		for _, h := range held {
			if !live[h.ID] {
				t.Errorf("visitor %d was never told of hold %s", i, h.ID)
			}
		}
	}
}

// TestStreamClientsAreSecret: an event names its client to that client alone.
func TestStreamClientsAreSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, hubOptions{})
		own, other := s.listen("checkup", ownClient, 0), s.listen("checkup", otherClient, 0)
		own.upTo("connected")
		other.upTo("connected")
		s.claim("hygiene", "ada", 0, ownClient)
		if f := own.upTo("hold"); !f.IsOwnHold || f.ClientID != string(ownClient) {
			t.Errorf("the owner reads %s", f.text)
		}
		if f := other.upTo("hold"); f.IsOwnHold || strings.Contains(f.text, string(ownClient)) || strings.Contains(f.text, "clientId") {
			t.Errorf("another client reads %s", f.text)
		}
	})
}

// TestSlowReaderIsCutAndNobodyWaits: readers that never read are cut off within the write time-out, while a healthy one
// beside them gets every event.
func TestSlowReaderIsCutAndNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, hubOptions{})
		healthy := s.listen("checkup", "", 0)
		healthy.upTo("connected")
		var slow []*reader
		for range 50 {
			r := s.listen("checkup", "", 0)
			r.upTo("connected") // and not a byte more
			slow = append(slow, r)
		}
		began := time.Now()
		for n := range 10 {
			h := s.claim("checkup", "ada", n, otherClient)
			if f := healthy.upTo("hold"); f.HoldID != h.ID {
				t.Fatalf("the healthy reader reads hold %s, want %s", f.HoldID, h.ID)
			}
			if waited := time.Since(began); waited > 0 {
				t.Fatalf("the healthy reader waited %s for the slow ones", waited)
			}
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := len(s.hub.everyone()); n != 1 {
			t.Errorf("%d streams are left 5 s after the first event, want the healthy one", n)
		}
		for _, r := range slow {
			if _, err := io.ReadAll(r.in); err != nil && !errors.Is(err, io.ErrClosedPipe) {
				t.Error(err)
			}
		}
	})
}

// TestFellOffTheRing: a reader that is further behind than the ring keeps is told, in its last frame, to come back.
func TestFellOffTheRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, hubOptions{WriteTimeout: time.Hour})
		r := s.listen("checkup", "", 0)
		r.upTo("connected")
		for range (ringChunks + 2) * chunkBytes / 200 {
			h := s.claim("checkup", "ada", 0, otherClient)
			s.engine.ReleaseHold(context.Background(), h.ID, otherClient)
		}
		synctest.Wait()
		var last frame
		for {
			f, err := r.next()
			if err != nil {
				break
			}
			last = f
		}
		if last.Type != "end" || last.Reason != string(endSendFailed) {
			t.Errorf("the last frame is %q, want end send-failed", last.text)
		}
	})
}
