package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/notice"
)

// An owner tries the mail: one message to the own address, and the truth about it.
func TestTheMailTest(t *testing.T) {
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
				o.Notices.Mailer = mailer
			})
			owner := h.signedIn("owner@clinic.example", "owner", "")
			got := h.do("POST", "/v1/settings/mail-test", nil, owner).want(200)
			if got.text("delivery") != c.delivery || got.text("to") != "owner@clinic.example" || (got.get("detail") != nil) != (c.delivery == "failed") {
				t.Errorf("got %s, want delivery %s", got.raw, c.delivery)
			}
			if strings.Contains(fmt.Sprint(got.get("detail")), "@") {
				t.Errorf("the detail names an address: %s", got.raw)
			}
		})
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.eml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("there are the files %v (%v), want one", files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil || !strings.Contains(string(raw), "owner@clinic.example") || !strings.Contains(string(raw), "Subject: Test mail of ") {
		t.Errorf("the message is\n%s", raw)
	}
}
