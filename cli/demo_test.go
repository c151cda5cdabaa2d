package cli

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/demo"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// TestDemoStartsWithActiveQueue: five seconds after the start and half a minute later, the day is booked, and some
// writes to the practice-management system are delivered and some are pending.
func TestDemoStartsWithActiveQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(72 * time.Hour) // the bubble begins in the year 2000, and so do the bookable times
		cfg, _, err := resolved(t, nil, "--data", filepath.Join(t.TempDir(), "data"), "--admin-key", longEnough)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		file, err := demo.ClinicAt(now)
		if err != nil {
			t.Fatal(err)
		}
		h, err := openHouse(t.Context(), cfg, houseOptions{log: slog.New(slog.DiscardHandler),
			demo: true, line: demoPractice(&cfg, file)})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.seedDemo(t.Context(), now, file); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { h.engine.Run(ctx) })
		for _, after := range []time.Duration{5 * time.Second, 25 * time.Second} {
			time.Sleep(after)
			synctest.Wait()
			q, err := h.engine.Outbound.Status(t.Context(),
				outbound.QueueFilter{Kinds: []store.OperationKind{store.UpstreamBook}})
			if err != nil || q.Completed == 0 || q.Pending == 0 || q.Failed > 0 {
				t.Errorf("after %v: got %+v, %v; want delivered and waiting operations", after,
					q.OperationCounts, err)
			}
		}
		stop()
		running.Wait()
		if err := h.close(); err != nil {
			t.Error(err)
		}
	})
}

// The demo's patients are invented and its password is public, so it sends no email and can be reached only from this
// machine.
func TestDemoRefusesMailServerAndNetwork(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--smtp-url", "smtp://127.0.0.1:2525", "--listen", "127.0.0.1:0"}, "remove --smtp-url"},
		{[]string{"--listen", "0.0.0.0:0"}, "loopback only"},
		{[]string{"--listen", ":0"}, "loopback only"},
	} {
		got := command(t, nil, "", append([]string{"demo"}, c.args...)...)
		if got.code != 1 {
			t.Errorf("%v: exit code %d, want 1", c.args, got.code)
		}
		contains(t, strings.Join(c.args, " "), got.stderr, c.says)
	}
}

// TestDemoFromStartToEnd: the demo serves its data, takes another port if its default port is in use, and deletes its
// directory at the end.
func TestDemoFromStartToEnd(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	s := started(t, "demo", "--listen", "127.0.0.1:0")
	status, body := get(t, s.base+"/v1/appointment-types", "")
	var types struct {
		AppointmentTypes []struct {
			Capacity           int `json:"capacity"`
			BufferAfterMinutes int `json:"bufferAfterMinutes"`
		} `json:"appointmentTypes"`
	}
	if err := json.Unmarshal([]byte(body), &types); err != nil || status != http.StatusOK ||
		len(types.AppointmentTypes) != 5 {
		t.Fatalf("appointment types: got %d %s", status, body)
	}
	group, buffers := false, false
	for _, a := range types.AppointmentTypes {
		group, buffers = group || a.Capacity >= 6, buffers || a.BufferAfterMinutes > 0
	}
	if !group || !buffers {
		t.Errorf("a group type: %t, one with buffers: %t; want both", group, buffers)
	}
	temporary := func() []string {
		found, err := filepath.Glob(filepath.Join(tmp, "holdfast-demo-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if n := len(temporary()); n != 1 {
		t.Errorf("got %d temporary directories, want 1", n)
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.ended(t); code != 0 {
		t.Errorf("exit code: got %d, want 0; it printed %s", code, s.stderr)
	}
	if left := temporary(); len(left) != 0 {
		t.Errorf("%v remain, want no files", left)
	}
	if strings.Contains(s.stderr.String(), "level=ERROR") {
		t.Errorf("the log: %s", s.stderr)
	}
}
