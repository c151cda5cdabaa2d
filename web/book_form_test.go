package web_test

import (
	"slices"
	"testing"
)

// TestBookingListsAllMistakesTogether: one response lists all errors of a booking, even if some values have the wrong
// form, so that a caller can correct them in one round. Nothing is booked, and each field is listed once.
func TestBookingListsAllMistakesTogether(t *testing.T) {
	h := newHouse(t)
	fields := func(r *reply) (all []string) {
		list, _ := r.body["errors"].([]any)
		for _, x := range list {
			all = append(all, x.(map[string]any)["field"].(string))
		}
		slices.Sort(all)
		return all
	}
	patient := func(name any, more ...any) map[string]any {
		p := map[string]any{"name": name}
		for i := 0; i < len(more); i += 2 {
			p[more[i].(string)] = more[i+1]
		}
		return p
	}
	for _, x := range []struct {
		name string
		body map[string]any
		want []string
	}{
		{"a start of the wrong form", map[string]any{"slotStartDate": "tomorrow",
			"patient": patient("", "email", "rosa"), "place": "nowhere", "locale": "?"},
			[]string{"locale", "patient.email", "patient.name", "place", "slotStartDate"}},
		{"numbers for texts", map[string]any{"slotStartDate": 5, "specialistId": 7,
			"patient": patient(12, "email", "rosa")},
			[]string{"patient.email", "patient.name", "slotStartDate", "specialistId"}},
		{"no patient at all", map[string]any{"slotStartDate": h.at(0), "patient": "Rosa", "locale": "?"},
			[]string{"locale", "patient"}},
		{"an object for a hold", map[string]any{"holdId": map[string]any{}, "slotStartDate": h.at(0),
			"patient": patient("")}, []string{"holdId", "patient.name"}},
		{"one field of the wrong form alone", map[string]any{"slotStartDate": h.at(0),
			"patient": patient("Rosa Winter"), "locale": 5}, []string{"locale"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.body["clientId"] = client(1)
			for path, as := range map[string]header{"/v1/appointment-types/checkup/book": nil,
				"/v1/appointments": asAdmin} {
				body := x.body
				want := x.want
				if as != nil {
					body = map[string]any{"appointmentTypeId": "checkup"}
					for k, v := range x.body {
						if k != "place" {
							body[k] = v
						}
					}
					want = slices.DeleteFunc(slices.Clone(want), func(f string) bool { return f == "place" })
				}
				if got := fields(h.do("POST", path, body, as).problem(422, "validation_failed")); !slices.Equal(got,
					want) {
					t.Errorf("%s: got %v, want %v", path, got, want)
				}
			}
		})
	}
	// Other routes list all values of the wrong form.
	if got := fields(h.do("PATCH", "/v1/appointment-types/checkup",
		map[string]any{"name": 5, "durationMinutes": "x", "active": 1}, asAdmin).problem(422,
		"validation_failed")); !slices.Equal(got, []string{"active", "durationMinutes", "name"}) {
		t.Errorf("a type: got %v", got)
	}
	if list := h.do("GET", "/v1/appointments?from="+h.day(0)+"&to="+h.day(7), nil,
		asAdmin).want(200).body["appointments"].([]any); len(list) > 0 {
		t.Errorf("%d appointments were booked", len(list))
	}
}
