package message_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/engine/notice/noticetest"
	"holdfast/store"
)

// TestMissingBackupsNotifyClinic: if backups are missing, the clinic gets an email. If the email cannot be sent, the
// caller gets an error with the reason.
func TestMissingBackupsNotifyClinic(t *testing.T) {
	t.Parallel()
	var to string
	address := noticetest.MailServer(t, func(line string) string { to = line; return "250 ok" })
	var log enginetest.Buffer
	c, _ := enginetest.NoticeClinic(t, enginetest.MailBy(t, address, &log))
	since := enginetest.Noon(time.UTC, -4)
	if err := c.Message.NotifyOfBackups(t.Context(), since, "the disk is full"); err == nil ||
		!strings.Contains(err.Error(), "email address") {
		t.Errorf("a clinic without an email address: %v", err)
	}
	if _, err := c.Clinic.UpdateClinic(t.Context(), "system", func(k *store.Clinic) {
		k.Email = "desk@clinic.example"
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.Message.NotifyOfBackups(t.Context(), since, "the disk is full"); err != nil ||
		!strings.Contains(to, "desk@clinic.example") {
		t.Errorf("got %v, and the email went to %q; want desk@clinic.example", err, to)
	}
	without, _ := enginetest.NoticeClinic(t)
	if err := without.Message.NotifyOfBackups(t.Context(), since, "the disk is full"); err == nil ||
		!strings.Contains(err.Error(), "--smtp-url") {
		t.Errorf("without a mail server: %v", err)
	}
}
