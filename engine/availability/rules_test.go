package availability

import (
	"testing"
	"time"

	"holdfast/store"
)

// TestRulesDisableLimits: each of the Rules disables its own limits and no others. Covers ignores the grid, and with
// ignoreHours also the opening times.
func TestRulesDisableLimits(t *testing.T) {
	t.Parallel()
	hours := []store.WeeklyWindow{{Weekday: store.Weekday(time.Monday),
		Window: store.Window{Start: timeOfDay(t, "09:00"), End: timeOfDay(t, "11:00")}}}
	calendar := func(active bool) *Calendar {
		c, err := NewCalendar(store.Specialist{ID: "ada", Timezone: "UTC", Active: active}, hours, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	open, inactive := calendar(true), calendar(false)
	kind := store.AppointmentType{ID: "checkup", DurationMinutes: 30, SlotStepMinutes: 30, MinNoticeMinutes: 60,
		HorizonDays: 10, Capacity: 1, Active: true}
	now := instantOf(t, "2026-11-23T09:40Z") // a Monday
	hoursOff, noticeOff, gridOff := Rules{IgnoreHours: true}, Rules{IgnoreNotice: true}, Rules{IgnoreGrid: true}
	past := Rules{IgnoreNotice: true, IgnorePast: true}

	for _, row := range []struct {
		calendar *Calendar
		start    string
		rules    Rules
		want     Reason
	}{
		{open, "2026-11-30T09:30Z", Rules{}, ""},
		{inactive, "2026-11-30T09:30Z", hoursOff, ReasonInactive},

		{open, "2026-11-30T12:00Z", Rules{}, ReasonOutsideHours},
		{open, "2026-11-30T12:00Z", noticeOff, ReasonOutsideHours},
		{open, "2026-11-30T12:00Z", gridOff, ReasonOutsideHours},
		{open, "2026-11-30T12:00Z", hoursOff, ""},
		{open, "2026-11-23T08:00Z", hoursOff, ""},

		{open, "2026-11-23T10:30Z", Rules{}, ReasonTooSoon},
		{open, "2026-11-23T10:30Z", gridOff, ReasonTooSoon},
		{open, "2026-11-23T10:30Z", noticeOff, ""},
		{open, "2026-12-07T09:00Z", Rules{}, ReasonTooFar},
		{open, "2026-12-07T09:00Z", noticeOff, ""},

		{open, "2026-11-23T09:30Z", noticeOff, ReasonTooSoon},
		{open, "2026-11-23T09:30Z", past, ""},
		{open, "2026-11-23T09:30Z", Rules{IgnorePast: true}, ReasonTooSoon},

		{open, "2026-11-30T09:10Z", Rules{}, ReasonNotASlotStart},
		{open, "2026-11-30T09:10Z", past, ReasonNotASlotStart},
		{open, "2026-11-30T09:10Z", gridOff, ""},
		{open, "2026-11-30T10:40Z", gridOff, ReasonOutsideHours},
	} {
		_, got := row.calendar.Seats(&kind, instantOf(t, row.start), nil, now, row.rules)
		if got != row.want {
			t.Errorf("%s with %+v: got %q, want %q", row.start, row.rules, got, row.want)
		}
	}

	for _, row := range []struct {
		calendar    *Calendar
		start       string
		ignoreHours bool
		want        bool
	}{
		{open, "2026-11-30T09:00Z", false, true},
		{open, "2026-11-30T09:10Z", false, true},
		{open, "2026-11-30T10:40Z", false, false},
		{open, "2026-11-30T10:40Z", true, true},
		{inactive, "2026-11-30T09:00Z", false, false},
		{inactive, "2026-11-30T09:00Z", true, false},
	} {
		if got := row.calendar.Covers(&kind, instantOf(t, row.start), row.ignoreHours); got != row.want {
			t.Errorf("%s with ignoreHours=%t: covered %t, want %t", row.start, row.ignoreHours, got, row.want)
		}
	}
}

// TestReasonsAreOrdered: a taken time is closer to bookable than a closed day, and every reason is closer than none.
func TestReasonsAreOrdered(t *testing.T) {
	t.Parallel()
	if !ReasonTaken.IsCloser(ReasonOverrideClosed) || ReasonOverrideClosed.IsCloser(ReasonTaken) ||
		!ReasonInactive.IsCloser("") || ReasonHeld.IsCloser(ReasonHeld) {
		t.Error("the order of the reasons is wrong")
	}
}
