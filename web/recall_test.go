package web_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/notice"
)

// TestLinkAsksForRecall: the link of an appointment sets and withdraws its recall if the clinic allows it. The desk can
// do both in any case, and lists the coming recalls.
func TestLinkAsksForRecall(t *testing.T) {
	h, _ := newPractice(t, func(o *engine.Options) {
		var err error
		if o.Notices.Mailer, err = notice.NewMailer(notice.MailOptions{Dir: t.TempDir()}); err != nil {
			t.Fatal(err)
		}
	})
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada",
		"patient": map[string]any{"name": "Lena", "email": "lena@example.org"}}).want(201)
	link, path := booked.managing(), "/v1/appointments/"+booked.text("appointment", "id")
	day := func(days int) map[string]any {
		return map[string]any{"date": time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly)}
	}
	open := func() int {
		t.Helper()
		return len(h.do("GET", "/v1/appointments?recall=open", nil, asAdmin).want(200).get("appointments").([]any))
	}
	if r := h.do("POST", path+"/recall", day(180), link).problem(403, "forbidden"); r.text("reason") != "recall_off" {
		t.Errorf("by default: %s", r.raw)
	}
	h.do("PATCH", "/v1/settings", map[string]any{"onlineRecall": true}, asAdmin).want(200)

	set := h.do("POST", "/v1/appointments/managed/recall", day(180), link, key("later")).want(200)
	if at := set.text("appointment", "recallAt"); at == "" || at[:10] != day(180)["date"] {
		t.Errorf("the recall is at %q, want %s", at, day(180)["date"])
	}
	if again := h.do("POST", "/v1/appointments/managed/recall", day(180), link, key("later")).want(200); again.raw !=
		set.raw || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the same request again: %s", again.raw)
	}
	if got := h.do("GET", path, nil, link).want(200).text("appointment", "recallAt"); got == "" {
		t.Error("the patient does not see the recall")
	}
	if n := open(); n != 1 {
		t.Errorf("the desk sees %d coming recalls, want 1", n)
	}
	h.do("PATCH", "/v1/settings", map[string]any{"onlineRecall": false}, asAdmin).want(200)
	h.do("DELETE", path+"/recall", nil, link).want(200)
	if n := open(); n != 0 {
		t.Errorf("after the withdrawal, the desk sees %d coming recalls", n)
	}
	h.do("POST", path+"/recall", day(30), asAdmin).want(200)
	h.do("POST", path+"/recall", day(0), asAdmin).problem(422, "validation_failed").field("date")
	h.do("POST", path+"/recall", map[string]any{"date": "soon"}, asAdmin).problem(422,
		"validation_failed").field("date")
	h.do("GET", "/v1/appointments?recall=all", nil, asAdmin).problem(422, "validation_failed").field("recall")
	if n := open(); n != 1 {
		t.Errorf("after the desk's request, there are %d coming recalls, want 1", n)
	}

	without := h.book(2, "checkup", map[string]any{"slotStartDate": h.at(60), "specialistId": "ada",
		"patient": map[string]any{"name": "Jo", "phone": "030 1234567"}}).want(201)
	r := h.do("POST", "/v1/appointments/"+without.text("appointment", "id")+"/recall", day(30), asAdmin).problem(409,
		"not_bookable")
	if r.text("reason") != "no_mail" {
		t.Errorf("without an email address: %s", r.raw)
	}
	audit := h.do("GET", "/v1/audit?action=appointment.recall", nil, asAdmin).want(200).get("audit").([]any)
	if len(audit) != 3 {
		t.Errorf("the audit log has %d entries, want 3", len(audit))
	}
}
