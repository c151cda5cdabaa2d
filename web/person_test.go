package web_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/person"
)

func TestEraseListsUnreachedCopies(t *testing.T) {
	h, _ := newPractice(t, func(o *engine.Options) {
		o.Copies = func() ([]person.Copy, error) {
			return []person.Copy{{Name: "backups/20260101T000000Z", MadeAt: time.Now().Add(-49 * time.Hour)}}, nil
		}
	})
	r := h.do("POST", "/v1/people/erase", map[string]any{"email": "nobody@example.org"}, asAdmin).want(200)
	if !strings.Contains(r.raw, `"copies":[{"name":"backups/20260101T000000Z","madeAt":"`) ||
		!strings.Contains(r.raw, `"ageDays":2}`) {
		t.Errorf("got %s, want the backup, two days old", r.raw)
	}
}

// TestSharedPhoneErasesNoPerson: several people share a phone number, so the response asks which of them to erase. The
// data of the others does not change.
func TestSharedPhoneErasesNoPerson(t *testing.T) {
	h := newHouse(t)
	family := func(n int, name string) string {
		return h.do("POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup",
			"specialistId": "ada", "slotStartDate": h.at(60 * n),
			"patient": map[string]any{"name": name, "phone": "030 77"}}, asAdmin).want(201).text("appointment", "id")
	}
	lena, mia := family(0, "Lena Vogt"), family(1, "Mia Vogt")
	h.do("POST", "/v1/people/erase", map[string]any{"phone": "030 77"}, asAdmin).problem(422, "validation_failed")
	plan := h.do("POST", "/v1/people/erase-plan", map[string]any{"appointmentId": lena}, asAdmin).want(200)
	if sharing, _ := plan.get("erasure", "sharing").([]any); len(sharing) != 1 || plan.get("erasure", "coming") != 1.0 {
		t.Errorf("planned is %s", plan.raw)
	}
	h.do("POST", "/v1/people/erase", map[string]any{"appointmentId": lena}, asAdmin).want(200)
	if a := h.do("GET", "/v1/appointments/"+mia, nil, asAdmin).want(200); a.get("appointment", "patient",
		"name") != "Mia Vogt" {
		t.Errorf("the other one is %s", a.raw)
	}
	h.do("POST", "/v1/people/erase-plan", map[string]any{"appointmentId": lena}, asAdmin).problem(422,
		"validation_failed")
	again := family(2, "Lena Vogt")
	h.do("POST", "/v1/people/erase", map[string]any{"phone": "030 77", "everybody": true}, asAdmin).want(200)
	for _, id := range []string{mia, again} {
		if a := h.do("GET", "/v1/appointments/"+id, nil, asAdmin).want(200); a.get("appointment", "patient",
			"name") == "Mia Vogt" {
			t.Errorf("left is %s", a.raw)
		}
	}
}
