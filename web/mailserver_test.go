package web_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
)

// TestOwnerChoosesMailServer: an owner configures email over HTTP. If the mail server refuses, the response describes
// the cause for the page. No response contains the password.
func TestOwnerChoosesMailServer(t *testing.T) {
	host, address := noticetest.MailPort()
	certificate, roots := noticetest.Certified(t, time.Now().Add(time.Hour), host)
	(&noticetest.Script{Address: address, Certificate: certificate, User: "clinic", Password: "canarysmtp"}).Serve(t)
	h, _ := newPractice(t, func(o *engine.Options) {
		mailer, err := notice.NewMailer(notice.MailOptions{Dir: t.TempDir(), Roots: roots})
		if err != nil {
			t.Fatal(err)
		}
		o.Notices.Mailer = mailer
	})
	owner := h.signedIn("owner@clinic.example", "owner", "")
	body := map[string]any{"host": host, "port": 2525, "encryption": "starttls", "user": "clinic", "password": "wrong",
		"from": "post@clinic.example"}
	got := h.do("POST", "/v1/settings/mail-server/test", body, owner).want(200)
	if got.text("delivery") != "failed" || got.text("finding") != "password" ||
		got.text("said") != "535 5.7.8 Username and password not accepted" {
		t.Errorf("with a wrong password: %s", got.raw)
	}
	body["password"] = "canarysmtp"
	if got := h.do("POST", "/v1/settings/mail-server/test", body, owner).want(200); got.text("delivery") != "sent" ||
		got.text("to") != "owner@clinic.example" {
		t.Errorf("with the right one: %s", got.raw)
	}
	answers := h.do("PUT", "/v1/settings/mail-server", body, owner).want(200).raw
	if got := h.do("POST", "/v1/settings/mail-test", nil, owner).want(200); got.text("delivery") != "sent" {
		t.Errorf("after the choice: %s", got.raw)
	}
	got = h.do("GET", "/v1/settings/mail-server", nil, owner).want(200)
	if got.text("mailServer", "chosen", "host") != host || got.get("mailServer", "chosen", "passwordSet") != true ||
		!strings.Contains(got.text("mailServer", "sender"), "<post@clinic.example>") {
		t.Errorf("the setting is shown as %s", got.raw)
	}
	answers += got.raw
	for _, path := range []string{"/v1/settings", "/v1/export", "/v1/audit", "/v1/debug/storage"} {
		answers += h.do("GET", path, nil, owner).want(200).raw
	}
	if answers += h.log.String(); strings.Contains(answers, "canarysmtp") || strings.Contains(answers, "seal1.") {
		t.Error("an answer or the log contains the password")
	}
	// When the page saves the other settings, the mail server's settings do not change.
	settings := h.do("GET", "/v1/settings", nil, owner).want(200).get("settings")
	h.do("PUT", "/v1/settings", settings, owner).want(200)
	if got := h.do("DELETE", "/v1/settings/mail-server", nil, owner).want(200); got.get("mailServer", "chosen") != nil {
		t.Errorf("removed: %s", got.raw)
	}
}
