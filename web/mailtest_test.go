package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
)

// TestMailTestRoute: an owner tests email. The server sends one message to the owner's address and reports its real
// result.
func TestMailTestRoute(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mail")
	for _, c := range []struct {
		name, delivery string
		options        *notice.MailOptions
	}{
		{"no mail at all", "none", nil},
		{"files", "file", &notice.MailOptions{Dir: dir}},
		{"a mail server that is not there", "failed", &notice.MailOptions{URL: "smtp://127.0.0.1:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, _ := newPractice(t, func(o *engine.Options) {
				if c.options == nil {
					return
				}
				mailer, err := notice.NewMailer(*c.options)
				if err != nil {
					t.Fatal(err)
				}
				o.Notices.Mailer, o.Notices.From = mailer, "post@clinic.example"
			})
			owner := h.signedIn("owner@clinic.example", "owner", "")
			got := h.do("POST", "/v1/settings/mail-test", nil, owner).want(200)
			if got.text("delivery") != c.delivery || got.text("to") != "owner@clinic.example" ||
				(got.get("detail") != nil) != (c.delivery == "failed") {
				t.Errorf("got %s, want delivery %s", got.raw, c.delivery)
			}
			if strings.Contains(fmt.Sprint(got.get("detail")), "@") {
				t.Errorf("the detail contains an address: %s", got.raw)
			}
		})
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.eml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the files are %v (%v), want one", files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil || !strings.Contains(string(raw), "owner@clinic.example") ||
		!strings.Contains(string(raw), "Subject: Test email from ") {
		t.Errorf("the message is\n%s", raw)
	}
}

// TestAnswerReportsSentEmail: a response reports that an email was sent only once a mail server has accepted it. An
// email written to a file does not count.
func TestAnswerReportsSentEmail(t *testing.T) {
	for _, c := range []struct {
		name    string
		options func() notice.MailOptions
		sent    bool
	}{
		{"a mail server", func() notice.MailOptions {
			return notice.MailOptions{URL: "smtp://" + noticetest.MailServer(t, func(string) string {
				return "250 ok"
			})}
		}, true},
		{"a mail server that refuses the address", func() notice.MailOptions {
			return notice.MailOptions{URL: "smtp://" + noticetest.MailServer(t, func(string) string {
				return "550 unknown"
			})}
		}, false},
		{"files", func() notice.MailOptions { return notice.MailOptions{Dir: t.TempDir()} }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, _ := newPractice(t, func(o *engine.Options) {
				var err error
				o.Notices.From = "post@clinic.example"
				if o.Notices.Mailer, err = notice.NewMailer(c.options()); err != nil {
					t.Fatal(err)
				}
			})
			said := func(r *reply) any {
				return h.do("GET", "/v1/appointments/managed", nil, r.managing()).want(200).get("emailSent")
			}
			settled := func(id, name string) {
				h.eventually(name+" was tried", func() bool {
					raw := h.do("GET", "/v1/appointments/"+id+"/deliveries", nil, asAdmin).want(200).raw
					mail := `"channel":"email","notice":"` + name + `","state":`
					return strings.Contains(raw, mail+`"delivered"`) || strings.Contains(raw, mail+`"failed"`)
				})
			}
			want := func(r *reply) {
				if got := said(r); got != nil && got != c.sent || got == nil && c.sent {
					t.Errorf("the patient gets emailSent %v, want %v; the desk gets %s", got, c.sent, h.do("GET", "/v1/appointments/"+r.text("appointment", "id")+"/deliveries", nil, asAdmin).raw)
				}
			}
			booked := h.book(1, "checkup", map[string]any{
				"slotStartDate": h.at(0), "specialistId": "ada",
				"patient": map[string]any{"name": "Lena", "email": "lena@example.org"},
			}).want(201)
			id := booked.text("appointment", "id")
			settled(id, "confirmation")
			want(booked)
			moved := h.do("POST", "/v1/appointments/managed/reschedule", map[string]any{"slotStartDate": h.at(60)},
				booked.managing()).want(200)
			settled(id, "reschedule")
			want(moved)
			if got := h.do("GET", "/v1/appointments/"+id, nil, asAdmin).want(200).get("emailSent"); got != nil {
				t.Errorf("the desk gets emailSent %v, which is only in the deliveries", got)
			}
			// This move sends no notice, and the earlier notice had a different time.
			silent := h.do("POST", "/v1/appointments/"+id+"/reschedule",
				map[string]any{"slotStartDate": h.at(180), "notify": false}, asAdmin).want(200)
			h.eventually("the practice system has all three times", func() bool {
				return h.do("GET", "/v1/queue-status", nil, asAdmin).want(200).get("pending") == 0.0
			})
			if got := said(silent); got != nil {
				t.Errorf("after a move without notification, the patient gets emailSent %v", got)
			}
			quiet := h.book(2, "checkup", map[string]any{"slotStartDate": h.at(120),
				"patient": map[string]any{"name": "Jo", "phone": "030 1234567"}}).want(201)
			if got := said(quiet); got != nil {
				t.Errorf("without an address, the patient gets emailSent %v", got)
			}
		})
	}
}
