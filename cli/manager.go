package cli

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// manager reports the state of the server to the service manager that started it (sd_notify(3)).
type manager struct {
	notify func(state string)              // sends one message
	alive  func(ctx context.Context) error // returns nil if the server responds
	// the service manager restarts the server after this time without a message; 0 means never
	watchdog time.Duration
}

// startPause is the time between two checks while the server starts.
const startPause = 50 * time.Millisecond

// run reports that the server is ready once it responds, and that it is stopping once ctx has ended. In between, it
// reports twice per watchdog interval that the server still responds. A server that hangs sends no report, so the
// service manager restarts it.
func (m *manager) run(ctx context.Context) {
	defer m.notify(daemon.SdNotifyStopping)
	pause, ready := startPause, false
	for {
		checking, cancel := context.WithTimeout(ctx, healthcheckPatience)
		err := m.alive(checking)
		cancel()
		switch {
		case err == nil && !ready:
			ready = true
			m.notify(daemon.SdNotifyReady)
			if m.watchdog == 0 {
				<-ctx.Done()
				return
			}
			pause = m.watchdog / 2
			m.notify(daemon.SdNotifyWatchdog)
		case err == nil:
			m.notify(daemon.SdNotifyWatchdog)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// reportState reports the server's state to the service manager until ctx ends. It does nothing if no service manager
// expects reports.
func (h *house) reportState(ctx context.Context) {
	if asked, err := daemon.SdNotify(false, "STATUS=Starting"); !asked || err != nil {
		if err != nil {
			h.log.Warn("service manager unreachable; status not reported", "error", err)
		}
		return
	}
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		h.log.Warn("invalid watchdog interval from the service manager; watchdog off", "error", err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	m := &manager{
		notify: func(state string) {
			if state == daemon.SdNotifyReady {
				state += "\nSTATUS=Serving " + h.base()
			}
			if _, err := daemon.SdNotify(false, state); err != nil {
				h.log.Debug("failed to notify the service manager", "state", state, "error", err)
			}
		},
		alive: func(ctx context.Context) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.local+"/livez", nil)
			if err != nil {
				return err
			}
			answer, err := client.Do(r)
			if err != nil {
				return err
			}
			if answer.StatusCode != http.StatusOK {
				_ = answer.Body.Close()
				return fmt.Errorf("status %d", answer.StatusCode)
			}
			return answer.Body.Close()
		},
		watchdog: watchdog,
	}
	m.run(ctx)
}
