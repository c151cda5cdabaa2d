package outbound_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// TestGoneReceiverDisablesWebhook: after a 410, the server no longer calls the receiver, emails the owner once, and has
// no failed operation. A settings change reactivates the webhook.
func TestGoneReceiverDisablesWebhook(t *testing.T) {
	t.Parallel()
	c, folder := enginetest.NoticeClinic(t)
	ctx := context.Background()
	var calls atomic.Int32
	booked := make(chan struct{}) // otherwise the webhook would be disabled before all three are written
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-booked
		calls.Add(1)
		w.WriteHeader(http.StatusGone)
	}))
	defer receiver.Close()
	for role, name := range map[store.Role]string{store.RoleOwner: "olga", store.RoleReception: "rita"} {
		if _, err := c.Account.CreateUser(ctx, "system", account.NewUser{Email: name +
			"@clinic.example", Name: name, Role: role, Password: "correct horse battery"}); err != nil {
			t.Fatal(err)
		}
	}
	put := func(active bool) clinic.WebhookEndpoint {
		t.Helper()
		s, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) {
			s.Webhooks = []clinic.WebhookEndpoint{{ID: "crm", URL: receiver.URL, Active: active}}
		})
		if err != nil {
			t.Fatal(err)
		}
		return s.Webhooks[0]
	}
	put(true)
	for i := range 3 {
		r := enginetest.BookingOf(i, "checkup")
		r.SlotStart = c.Start.Add(time.Duration(i) * time.Hour)
		c.MustBook(r)
	}
	close(booked)
	eventually(t, "three webhooks completed, none failed", func() bool {
		n, err := c.Outbound.Status(ctx, outbound.QueueFilter{Kinds: []store.OperationKind{store.Webhook}})
		return err == nil && n.Completed == 3 && n.Failed == 0
	})
	w := c.Clinic.Settings().Webhooks[0]
	if w.Active || w.DisabledAt.IsZero() {
		t.Errorf("after 410 the webhook is %+v, want it disabled", w)
	}
	var toStaff []string
	eventually(t, "an email to the owner", func() bool {
		toStaff = nil
		files, _ := filepath.Glob(filepath.Join(folder, "*.eml"))
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "@clinic.example>") {
				toStaff = append(toStaff, string(text))
			}
		}
		return len(toStaff) > 0
	})
	if len(toStaff) != 1 || !strings.Contains(toStaff[0], "olga@clinic.example") ||
		!strings.Contains(toStaff[0], "crm") {
		t.Errorf("got the emails %v, want one to the owner with the webhook's URL", toStaff)
	}
	before := calls.Load()
	r := enginetest.BookingOf(9, "checkup")
	r.SlotStart = c.Start.Add(5 * time.Hour)
	c.MustBook(r)
	if n, err := c.Outbound.Status(ctx,
		outbound.QueueFilter{Kinds: []store.OperationKind{store.Webhook}}); err != nil || n.Completed+n.Pending+
		n.Processing != 3 || calls.Load() != before {
		t.Errorf("a booking after 410: %+v, %v, %d calls; want no new one", n.OperationCounts, err, calls.Load()-before)
	}
	if w := put(false); w.DisabledAt.IsZero() {
		t.Error("saving the settings of a disabled webhook clears the time at which it was disabled")
	}
	if w := put(true); !w.Active || !w.DisabledAt.IsZero() {
		t.Errorf("reactivated, the webhook is %+v", w)
	}
}

// eventually waits until reached returns true, for at most 2 minutes.
func eventually(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Minute); !reached(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not reached within 30 s", what)
		}
	}
}
