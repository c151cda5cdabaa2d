package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// stopLimit is how long a server may take to exit after SIGTERM: 0.5 s for requests on idle connections, 2 s for
// streams, 10 s for running requests and 10 s for a running backup. A supervisor waits for 30 s (deploy/systemd). On a
// busy machine it may take three times as long.
const stopLimit = 3 * 30 * time.Second

// TestStopUnderLoadLosesNothing sends SIGTERM to a server with many open streams while clients book. Every stream ends
// with the reason, the server exits within its limit, and the next server shows all acknowledged bookings and no
// others. HOLDFAST_STREAMS is the number of streams (100 by default).
func TestStopUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	streams := numberOf(t, "HOLDFAST_STREAMS", 100)
	dir, file := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "clinic.json")
	writeJSON(t, file, openClinic(t))
	must(t, "import", "--data", dir, file)
	args := []string{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--rate-limit", "off", "--admin-key-file",
		write(t, longEnough)}
	s := started(t, args...)

	var connected, notified atomic.Int64
	var reading sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for n := range streams {
		reading.Go(func() {
			reply, err := client.Get(fmt.Sprintf("%s/v1/holds/stream?appointmentTypeId=checkup&clientId=a-watching-client-%06d",
				s.base, n))
			if err != nil {
				t.Errorf("stream %d: %v", n, err)
				return
			}
			defer reply.Body.Close()
			last := ""
			for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
				if event, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					if last == "" {
						connected.Add(1)
					}
					last = event
				}
			}
			if !strings.Contains(last, `"server-shutdown"`) {
				t.Errorf("stream %d: got %q as its last event, want the reason server-shutdown", n, last)
				return
			}
			notified.Add(1)
		})
	}
	eventually(t, "every stream is connected", func() bool { return connected.Load() == int64(streams) })

	const clients, before = 8, 100
	var acknowledged, unanswered sync.Map // slot: id; slot: error
	var answered, next atomic.Int64
	var stopping, exited atomic.Bool
	var booking sync.WaitGroup
	patients := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	for range clients {
		booking.Go(func() {
			for ; !exited.Load(); <-time.After(20 * time.Millisecond) { // no stream may fall behind
				slot := int(next.Add(1))
				id, err := bookSlot(patients, s.base, slot)
				switch {
				case errors.Is(err, syscall.ECONNREFUSED) && stopping.Load():
					return
				case err != nil && !stopping.Load():
					t.Errorf("slot %d before the stop: %v", slot, err)
					return
				case err != nil:
					unanswered.Store(slot, err)
				default:
					acknowledged.Store(slot, id)
					answered.Add(1)
				}
			}
		})
	}
	eventually(t, "the clients book", func() bool { return answered.Load() >= before || t.Failed() })
	stopping.Store(true)
	began := time.Now()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	code := s.ended(t)
	took := time.Since(began)
	exited.Store(true)
	booking.Wait()
	reading.Wait()
	if code != 0 || took > stopLimit {
		t.Errorf("the server stopped with %d after %v, want 0 within %v: %s", code, took, stopLimit, s.stderr)
	}

	again := started(t, args...)
	here := map[string]string{}
	for _, a := range appointments(t, again.base, longEnough) {
		if a.Status == "confirmed" {
			here[a.SlotStartDate.UTC().Format(time.RFC3339)] = a.ID
		}
	}
	acknowledged.Range(func(slot, id any) bool {
		start := slotAt(slot.(int))
		if here[start] != id {
			t.Errorf("slot %d was acknowledged as %v, but the next server has %q", slot, id, here[start])
		}
		delete(here, start)
		return true
	})
	unanswered.Range(func(slot, _ any) bool { delete(here, slotAt(slot.(int))); return true })
	if len(here) > 0 {
		t.Errorf("the next server has bookings that no client requested: %v", here)
	}
	if err := again.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := again.ended(t); code != 0 {
		t.Errorf("the next server ended with %d: %s", code, again.stderr)
	}
	contains(t, "verify", must(t, "verify", "--data", dir), "intact")
	t.Logf("%d streams notified, %d bookings acknowledged, exit after %v", notified.Load(), answered.Load(),
		took.Round(time.Millisecond))
}

// bookSlot books a slot, and returns the appointment's id.
func bookSlot(client *http.Client, base string, slot int) (id string, err error) {
	body := fmt.Sprintf(`{"clientId":"a-client-secret-%08d","slotStartDate":%q,`+
		`"patient":{"name":"Jo Doe","phone":"030 1234567"}}`, slot, slotAt(slot))
	reply, err := client.Post(base+"/v1/appointment-types/checkup/book", "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	raw, err := io.ReadAll(reply.Body)
	if err != nil {
		return "", err
	}
	var answer struct{ Appointment struct{ ID string } }
	if err := json.Unmarshal(raw, &answer); err != nil || reply.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("got %d %s", reply.StatusCode, raw)
	}
	return answer.Appointment.ID, nil
}
