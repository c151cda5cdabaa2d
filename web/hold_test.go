package web_test

import (
	"regexp"
	"testing"
)

func TestHoldIsAnsweredWithItsTimes(t *testing.T) {
	h := newHouse(t)
	r := h.hold(1, "checkup", h.at(0)).want(201)
	for field, want := range map[string]string{
		"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(0), "slotEndDate": h.at(30),
	} {
		if got := r.body[field]; got != want {
			t.Errorf("%s: got %v, want %s", field, got, want)
		}
	}
	milli := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	for _, field := range []string{"holdExpiresAt", "maxExpiresAt"} {
		if got := r.text(field); !milli.MatchString(got) {
			t.Errorf("%s: got %q, want milliseconds and Z", field, got)
		}
	}
	if got, _ := r.body["ttlMs"].(float64); got < 29000 || got > 30000 {
		t.Errorf("ttlMs: got %v, want about 30000", got)
	}
}
