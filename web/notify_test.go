package web_test

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/notice"
)

// TestNotifyFalseNeedsStaff: only the desk may suppress the patient's notices. A change through the manage link sends
// them, whatever the request contains. Programs are notified of every change, so that their data does not become wrong,
// and a moved appointment keeps its reminder.
func TestNotifyFalseNeedsStaff(t *testing.T) {
	for _, x := range []struct {
		name, action, notice, event string
		body                        map[string]any
	}{
		{"cancel", "/cancel", "cancellation", "cancelled", map[string]any{"notify": false}},
		{"move", "/reschedule", "reschedule", "rescheduled", map[string]any{"notify": false}},
	} {
		for _, by := range []string{"patient", "desk"} {
			t.Run(x.name+" by the "+by, func(t *testing.T) {
				h, _ := newPractice(t, func(o *engine.Options) {
					var err error
					if o.Notices.Mailer, err = notice.NewMailer(notice.MailOptions{Dir: t.TempDir()}); err != nil {
						t.Fatal(err)
					}
					o.Notices.Hooks = notice.NewHooks(notice.HookOptions{})
				})
				h.do("PUT", "/v1/settings", map[string]any{
					"webhooks":      []any{map[string]any{"id": "crm", "url": "https://crm.invalid/hooks"}},
					"reminderHours": 1,
				}, asAdmin).want(200)
				booked := h.book(1, "checkup", map[string]any{
					"slotStartDate": h.at(0), "specialistId": "ada",
					"patient": map[string]any{"name": "Lena", "email": "lena@example.org"},
				}).want(201)
				id := booked.text("appointment", "id")
				who := asAdmin
				if by == "patient" {
					who = booked.managing()
				}
				if x.name == "move" {
					x.body["slotStartDate"] = h.at(60)
				}
				h.do("POST", "/v1/appointments/"+id+x.action, x.body, who).want(200)
				told := h.do("GET", "/v1/appointments/"+id+"/deliveries", nil, asAdmin).want(200).raw
				reminders := 1
				if x.name == "move" {
					reminders = 2 // the earlier one is not sent, because its appointment has moved
				}
				if n := strings.Count(told, `"channel":"email","notice":"reminder"`); n != reminders {
					t.Errorf("%d reminders, want %d\n%s", n, reminders, told)
				}
				for promised, want := range map[string]bool{
					`"channel":"email","notice":"` + x.notice + `"`:              by == "patient",
					`"channel":"webhook","notice":"appointment.` + x.event + `"`: true,
				} {
					if got := strings.Contains(told, promised); got != want {
						t.Errorf("%s: promised %t, want %t\n%s", promised, got, want, told)
					}
				}
			})
		}
	}
}

// TestImportSendsNoWebhook: the import of a spreadsheet notifies no program of each row.
func TestImportSendsNoWebhook(t *testing.T) {
	h, _ := newPractice(t, func(o *engine.Options) { o.Notices.Hooks = notice.NewHooks(notice.HookOptions{}) })
	h.do("PATCH", "/v1/settings", map[string]any{"webhooks": []any{
		map[string]any{"id": "crm", "url": "https://crm.invalid/hooks"}}}, asAdmin).want(200)
	row := "id,name,appointmentTypeId,specialistId,start\nimported,Per,checkup,ada," + h.at(60) + "\n"
	h.do("POST", "/v1/import/appointments", map[string]any{"csv": row}, asAdmin).want(200)
	r := h.do("GET", "/v1/appointments/imported/deliveries", nil, asAdmin).want(200)
	if strings.Contains(r.raw, "webhook") {
		t.Errorf("the import sends a webhook: %s", r.raw)
	}
}

// TestExpiredLinkShowsPhone: a move without a notice invalidates the patient's link and sends no new one, so the
// response contains the clinic's phone number.
func TestExpiredLinkShowsPhone(t *testing.T) {
	h := newHouse(t)
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada",
		"patient": map[string]any{"name": "Lena", "email": "lena@example.org"}}).want(201)
	id := booked.text("appointment", "id")
	h.do("POST", "/v1/appointments/"+id+"/reschedule", map[string]any{"slotStartDate": h.at(60), "notify": false},
		asAdmin).want(200)
	for phone, want := range map[string]string{"": "or call the clinic.", "030 1234": "or call the clinic: 030 1234."} {
		h.do("PUT", "/v1/clinic", map[string]any{"contact": map[string]any{"phone": phone}}, asAdmin).want(200)
		if got := h.do("GET", "/v1/appointments/managed", nil,
			booked.managing()).want(401).text("detail"); !strings.HasSuffix(got, want) {
			t.Errorf("with the number %q the answer is %q, want it to end in %q", phone, got, want)
		}
	}
}
