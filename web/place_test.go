package web_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// twoPlaces returns a house with two places. ada works in the north from 08:00 to 14:00 and in the south from 14:00 to
// 18:00. bea works in the south from 08:00 to 18:00.
func twoPlaces(t testing.TB) *house {
	h := newHouse(t)
	h.do("PUT", "/v1/settings", map[string]any{"places": []any{
		map[string]any{"id": "north", "name": "North", "names": map[string]any{"de": "Nord"}, "address": "Hill 1"},
		map[string]any{"id": "south", "name": "South", "address": "Quay 2"},
	}}, asAdmin).want(200)
	h.do("PUT", "/v1/specialists/ada/weekly-hours", append(everyDay("08:00", "14:00", "north"),
		everyDay("14:00", "18:00", "south")...), asAdmin).want(200)
	h.do("PUT", "/v1/specialists/bea/weekly-hours", everyDay("08:00", "18:00", "south"), asAdmin).want(200)
	return h
}

// everyDay returns weekly hours at a place, the same on each day.
func everyDay(start, end, place string) (all []map[string]any) {
	for _, day := range []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"} {
		all = append(all, map[string]any{"weekday": day, "start": start, "end": end, "place": place})
	}
	return all
}

// TestPlaceFiltersTimeslots: a listing, a hold and a booking can be limited to a place, and each response names the
// place.
func TestPlaceFiltersTimeslots(t *testing.T) {
	h := twoPlaces(t)
	starts := func(place string) (all []string) {
		list := h.do("GET", "/v1/appointment-types/checkup/timeslots?from="+h.day(0)+"&to="+h.day(1)+"&place="+place,
			nil).want(200)
		for _, x := range list.body["slots"].([]any) {
			slot := x.(map[string]any)
			all = append(all, slot["start"].(string)[11:16]+" "+idsOf(slot["specialistIds"]))
		}
		return all
	}
	north, south, both := starts("north"), starts("south"), starts("")
	if len(north) == 0 || len(south) == 0 || len(both) < len(south) {
		t.Fatalf("north %v, south %v, both places %v", north, south, both)
	}
	for _, slot := range north {
		if slot[:5] >= "14:00" || !strings.HasSuffix(slot, " ada") {
			t.Errorf("in the north: %s", slot)
		}
	}
	for _, slot := range south {
		if slot[:5] < "13:30" && strings.Contains(slot, "ada") {
			t.Errorf("in the south: %s", slot)
		}
	}
	if first := h.do("GET", "/v1/appointment-types/checkup/next-available?place=south&after="+h.at(0),
		nil).want(200); !strings.Contains(first.raw, `"specialistIds":["bea"]`) {
		t.Errorf("the first in the south: %s", first.raw)
	}
	h.do("GET", "/v1/appointment-types/checkup/timeslots?place=west", nil).problem(422,
		"validation_failed").field("place")

	// ada is assigned first, but not for a request for the south.
	slot := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0), "clientId": client(1),
		"place": "south"}
	hold := h.do("POST", "/v1/holds", slot).want(201)
	if hold.text("specialistId") != "bea" || hold.text("place") != "south" {
		t.Errorf("a hold in the south: %s", hold.raw)
	}
	slot["place"], slot["specialistId"] = "north", "bea"
	h.do("POST", "/v1/holds", slot).problem(409, "not_bookable")
	slot["place"] = "west"
	h.do("POST", "/v1/holds", slot).problem(422, "validation_failed").field("place")
	person := map[string]any{"name": "Rosa Winter", "phone": "030 1234567"}
	// The owner changes the place of a held time. The patient who has seen the other place does not get this time.
	h.do("PUT", "/v1/specialists/bea/weekly-hours", everyDay("08:00", "18:00", "north"), asAdmin).want(200)
	h.do("POST", bookCheckup, map[string]any{"holdId": hold.text("holdId"), "clientId": client(1), "place": "south",
		"patient": person}).problem(409, "not_bookable")
	h.do("PUT", "/v1/specialists/bea/weekly-hours", everyDay("08:00", "18:00", "south"), asAdmin).want(200)
	booked := h.do("POST", bookCheckup, map[string]any{"slotStartDate": h.at(30),
		"clientId": client(2), "place": "south", "patient": person}).want(201)
	if booked.text("appointment", "place") != "south" || booked.text("appointment", "specialistId") != "bea" {
		t.Errorf("booked in the south: %s", booked.raw)
	}
	id := booked.text("appointment", "id")
	ics := h.do("GET", "/v1/appointments/"+id+"/ics", nil, asAdmin).want(200)
	if !strings.Contains(ics.raw, `LOCATION:South\, Quay 2`) {
		t.Errorf("the calendar file is\n%s", ics.raw)
	}
	moved := h.do("POST", "/v1/appointments/"+id+"/reschedule",
		map[string]any{"slotStartDate": h.at(60), "specialistId": "ada"}, asAdmin).want(200)
	if moved.text("appointment", "place") != "north" {
		t.Errorf("moved to ada in the morning: %s", moved.raw)
	}
	// A later change to the hours does not change the place of the booking.
	h.do("PUT", "/v1/specialists/ada/weekly-hours", []any{}, asAdmin).want(200)
	if got := h.do("GET", "/v1/appointments/"+id, nil, asAdmin).want(200); got.text("appointment", "place") != "north" {
		t.Errorf("after its hours were removed: %s", got.raw)
	}
}

// TestSeriesHasPlaceOfHours: the appointments of a series are at the place that the specialist's hours name, even after
// a move from one specialist's morning to another's.
func TestSeriesHasPlaceOfHours(t *testing.T) {
	h := twoPlaces(t)
	times := []any{map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"},
		map[string]any{"slotStartDate": h.at(7 * 24 * 60), "specialistId": "ada"}}
	made := h.do("POST", "/v1/series", map[string]any{"appointmentTypeId": "checkup", "patient": patient(1),
		"times": times}, asAdmin).want(201)
	if n := strings.Count(made.raw, `"place":"north"`); n != 2 {
		t.Errorf("%d of 2 places are in the north: %s", n, made.raw)
	}
	first := made.get("appointments").([]any)[0].(map[string]any)["id"].(string)
	moved := h.do("POST", "/v1/appointments/"+first+"/series/reschedule",
		map[string]any{"slotStartDate": h.at(0), "specialistId": "bea"}, asAdmin).want(200)
	if n := strings.Count(moved.raw, `"place":"south"`); n != 2 {
		t.Errorf("%d of 2 places are in the south: %s", n, moved.raw)
	}
}

func idsOf(v any) string {
	var all []string
	for _, x := range v.([]any) {
		all = append(all, x.(string))
	}
	return strings.Join(all, "+")
}

func TestPlacesAreValidated(t *testing.T) {
	h := twoPlaces(t)
	h.do("PUT", "/v1/specialists/ada/weekly-hours",
		[]any{map[string]any{"weekday": "monday", "start": "08:00", "end": "09:00", "place": "west"}}, asAdmin).
		problem(422, "validation_failed").field("weeklyHours[0].place")
	h.do("POST", "/v1/specialists/ada/overrides", map[string]any{"date": h.day(1),
		"hours": []any{map[string]any{"start": "08:00", "end": "09:00", "place": "west"}}}, asAdmin).
		problem(422, "validation_failed").field("hours[0].place")
	h.do("PUT", "/v1/settings", map[string]any{"places": []any{map[string]any{"id": "north", "name": "North"}}},
		asAdmin).problem(422, "validation_failed").field("places")
	h.do("PUT", "/v1/settings", map[string]any{"places": []any{map[string]any{"id": "north", "name": ""}}},
		asAdmin).problem(422, "validation_failed").field("places[0].name")

	// The hours of an override name a separate place.
	h.do("POST", "/v1/specialists/ada/overrides", map[string]any{"date": h.day(0),
		"hours": []any{map[string]any{"start": "08:00", "end": "18:00", "place": "south"}}}, asAdmin).want(201)
	made := h.do("POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup",
		"specialistId": "ada", "slotStartDate": h.at(0), "patient": map[string]any{"name": "Rosa Winter"}},
		asAdmin).want(201)
	if made.text("appointment", "place") != "south" {
		t.Errorf("on the day of the override: %s", made.raw)
	}
	ada := h.do("GET", "/v1/specialists/ada", nil).want(200)
	if !reflect.DeepEqual(ada.get("specialist", "places"), []any{"north", "south"}) {
		t.Errorf("the places of ada are %v", ada.get("specialist", "places"))
	}
	file := h.do("GET", "/v1/export", nil, asAdmin).want(200)
	other := newHouse(t)
	other.do("POST", "/v1/import", file.raw, asAdmin).want(200)
	if again := other.do("GET", "/v1/export", nil, asAdmin).want(200); again.raw != file.raw {
		t.Errorf("another clinic's export is\n%s\nafter the import of\n%s", again.raw, file.raw)
	}
}

// TestPlaceWithComingAppointmentsStays: a place without hours cannot be removed while patients are booked there,
// neither in the settings nor by an import.
func TestPlaceWithComingAppointmentsStays(t *testing.T) {
	h := twoPlaces(t)
	places := func(ids ...string) map[string]any {
		list := []any{}
		for _, id := range ids {
			list = append(list, map[string]any{"id": id, "name": "Place " + id})
		}
		return map[string]any{"places": list}
	}
	h.do("PATCH", "/v1/settings", places("north", "south", "east"), asAdmin).want(200)
	override := h.do("POST", "/v1/specialists/bea/overrides", map[string]any{"date": h.day(0),
		"hours": []any{map[string]any{"start": "08:00", "end": "18:00", "place": "east"}}}, asAdmin).want(201)
	var ids []string
	for n, minutes := range []int{0, 30} {
		made := h.do("POST", bookCheckup, map[string]any{"slotStartDate": h.at(minutes), "clientId": client(n),
			"place": "east", "patient": patient(n)}).want(201)
		ids = append(ids, made.text("appointment", "id"))
	}
	h.do("DELETE", "/v1/overrides/"+override.text("override", "id"), nil, asAdmin).want(200)
	file := h.do("GET", "/v1/export", nil, asAdmin).want(200)
	file.get("clinic", "settings").(map[string]any)["places"] = places("north", "south")["places"]

	refused := func(want string) {
		t.Helper()
		for path, send := range map[string]func() *reply{
			"settings": func() *reply { return h.do("PATCH", "/v1/settings", places("north", "south"), asAdmin) },
			"import":   func() *reply { return h.do("POST", "/v1/import", file.body, asAdmin) },
		} {
			got := send().problem(422, "validation_failed")
			got.field("places")
			if !strings.Contains(got.raw, want) {
				t.Errorf("%s: got %s, want %q in it", path, got.raw, want)
			}
		}
	}
	refused("2 coming appointments are at \\\"Place east\\\"")
	h.do("POST", "/v1/appointments/"+ids[0]+"/cancel", map[string]any{}, asAdmin).want(200)
	refused("1 coming appointment is at")
	h.do("PATCH", "/v1/settings", places("south", "north", "east"), asAdmin).want(200) // another order removes nothing
	h.do("POST", "/v1/appointments/"+ids[1]+"/cancel", map[string]any{}, asAdmin).want(200)
	h.do("PATCH", "/v1/settings", places("north", "south"), asAdmin).want(200)
}

// TestOfferNamesSpecialistsPlace: a waiting-list offer names the place where the specialist works at that time.
func TestOfferNamesSpecialistsPlace(t *testing.T) {
	h := twoPlaces(t)
	form := map[string]any{"to": h.day(20), "patient": patient(1)}
	id := h.do("POST", "/v1/appointment-types/checkup/waitlist", form, asAdmin).want(201).text("waiting", "id")
	offered := h.do("POST", "/v1/waitlist/"+id+"/offer", map[string]any{"slotStartDate": h.at(60),
		"specialistId": "bea"}, asAdmin).want(200)
	if got := offered.text("offer", "place"); got != "south" {
		t.Errorf("bea's offer: got place %q, want south", got)
	}
}

// TestWaitlistEntryHasPlace: an entry names the place that suits the patient, and the desk can read it.
func TestWaitlistEntryHasPlace(t *testing.T) {
	h := twoPlaces(t)
	form := map[string]any{"to": h.day(20), "patient": patient(1), "place": "south"}
	path := "/v1/appointment-types/checkup/waitlist"
	made := h.do("POST", path, form, asAdmin).want(201)
	if got := made.text("waiting", "place"); got != "south" {
		t.Errorf("joined: got place %q, want south", got)
	}
	list := h.do("GET", "/v1/waitlist", nil, asAdmin).want(200)
	if !strings.Contains(list.raw, `"place":"south"`) {
		t.Errorf("the list has no place: %s", list.raw)
	}
	// ada is assigned first, but works in the north at this time.
	offered := h.do("POST", "/v1/waitlist/"+made.text("waiting", "id")+"/offer",
		map[string]any{"slotStartDate": h.at(60)}, asAdmin).want(200)
	if offered.text("offer", "specialistId") != "bea" || offered.text("offer", "place") != "south" {
		t.Errorf("offered: %s", offered.raw)
	}
	form["place"] = "west"
	h.do("POST", path, form, asAdmin).problem(422, "validation_failed").field("place")
}

// TestFindFiltersByPlace: the desk's search for free times can be limited to a place, and each result names the place
// of its first specialist.
func TestFindFiltersByPlace(t *testing.T) {
	h := twoPlaces(t)
	find := func(place string) (all map[string]bool) {
		got := h.do("POST", "/v1/appointment-types/checkup/find", map[string]any{"place": place, "count": 50},
			asAdmin).want(200)
		all = make(map[string]bool)
		for _, x := range got.get("times").([]any) {
			time := x.(map[string]any)
			all[idsOf(time["specialistIds"])+" "+time["place"].(string)] = true
		}
		return all
	}
	for place, want := range map[string]map[string]bool{
		"north": {"ada north": true},
		"south": {"bea south": true, "ada+bea south": true},
		"":      {"ada+bea north": true, "ada+bea south": true},
	} {
		if got := find(place); !reflect.DeepEqual(got, want) {
			t.Errorf("place %q: got %v, want %v", place, got, want)
		}
	}
	h.do("POST", "/v1/appointment-types/checkup/find", map[string]any{"place": "west"}, asAdmin).
		problem(422, "validation_failed").field("place")
}

// TestAvailableCountsRoomsOfPlace: a listing counts as many free times as can be held. A room without a place counts
// for one specialist, and a room at a place where no specialist works does not count.
func TestAvailableCountsRoomsOfPlace(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rooms map[string]string // the place of each room
		want  int
	}{
		{"a shared room and one elsewhere", map[string]string{"room-1": "", "room-2": "west"}, 1},
		{"a shared room and one of a specialist", map[string]string{"room-1": "", "room-2": "south"}, 2},
		{"two shared rooms", map[string]string{"room-1": "", "room-2": ""}, 2},
		{"two rooms of one specialist", map[string]string{"room-1": "south", "room-2": "south"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := twoPlaces(t)
			h.do("PATCH", "/v1/settings", map[string]any{"places": []any{map[string]any{"id": "north", "name": "North"},
				map[string]any{"id": "south", "name": "South"}, map[string]any{"id": "west", "name": "West"}}},
				asAdmin).want(200)
			for id, place := range tt.rooms {
				h.do("POST", "/v1/specialists", map[string]any{"id": id, "kind": "resource", "name": id}, asAdmin).want(201)
				var hours []map[string]any
				for _, day := range []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"} {
					if place != "" {
						hours = append(hours, map[string]any{"weekday": day, "start": "08:00", "end": "18:00", "place": place})
					}
				}
				if hours != nil {
					h.do("PUT", "/v1/specialists/"+id+"/weekly-hours", hours, asAdmin).want(200)
				}
			}
			h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"needs": []any{[]any{"room-1", "room-2"}}},
				asAdmin).want(200)
			listed := h.do("GET", "/v1/appointment-types/checkup/timeslots?from="+h.day(0)+"&to="+h.day(1), nil).want(200)
			available := 0
			for _, x := range listed.body["slots"].([]any) {
				if slot := x.(map[string]any); slot["start"] == h.at(0) {
					available = int(slot["available"].(float64))
				}
			}
			held := 0
			for n := 1; n <= 3; n++ {
				if h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0),
					"clientId": client(n)}).status == 201 {
					held++
				}
			}
			if available != tt.want || held != tt.want {
				t.Errorf("listed %d and held %d, want %d", available, held, tt.want)
			}
		})
	}
}

// TestSmartSlotsLinkToTheirPlace: the booking link of a published slot opens the page at the place of the slot.
func TestSmartSlotsLinkToTheirPlace(t *testing.T) {
	t.Parallel()
	h := twoPlaces(t)
	linked, places := map[string]string{}, map[string]int{} // the link of each schedule, and the slots at each place
	for line := range strings.Lines(h.do("GET", "/.well-known/smart-scheduling/slots.ndjson", nil).want(200).raw) {
		var slot struct {
			Schedule  struct{ Reference string }
			Extension []struct{ ValueURL string }
		}
		if err := json.Unmarshal([]byte(line), &slot); err != nil {
			t.Fatal(err)
		}
		of, link := slot.Schedule.Reference, slot.Extension[0].ValueURL
		if other, known := linked[of]; known && other != link {
			t.Errorf("slots of %s link to %s and to %s", of, other, link)
		}
		_, place, _ := strings.Cut(link, "&place=")
		linked[of] = link
		places[place]++
	}
	if places["north"] == 0 || places["south"] == 0 || places[""] != 0 {
		t.Errorf("got links to %v, want both places", places)
	}
}
