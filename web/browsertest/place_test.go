package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// atTwoPlaces adds two places: Dr Brandt works in the north, and Dr Haddad in the south.
func atTwoPlaces(f *clinic.File) {
	f.Clinic.Settings = &clinic.Settings{Places: []clinic.Place{
		{ID: "north", Name: "North", Names: map[string]string{"de": "Nord"}, Address: "Hill 1"},
		{ID: "south", Name: "South", Address: "Quay 2"},
	}}
	for i := range f.Specialists {
		hours := append([]clinic.HoursEntry{}, f.Specialists[i].WeeklyHours...)
		for j := range hours {
			hours[j].Place = f.Clinic.Settings.Places[i].ID
		}
		f.Specialists[i].WeeklyHours = hours
	}
}

// TestPatientChoosesPlace: at a clinic with two places, a patient chooses one, sees its times and specialists, and
// reads its address.
func TestPatientChoosesPlace(t *testing.T) {
	t.Parallel()
	h := newHouse(t, atTwoPlaces)
	p := h.tab(t)
	p.open("/?lang=en")
	p.there(".card")
	p.click(".card input[value=checkup]")
	p.there(`input[name=place][value=south]`)
	p.shot("place-what")
	p.accessible("choosing a place")
	p.click(`.who input[name=who][value=ada]`)
	p.click(`input[name=place][value=south]`)
	p.until(`!document.querySelector('input[name=who]')`) // one specialist is left, so there is no choice
	p.click(".bar button")
	p.until(`location.search.includes('place=south')`)
	p.live()
	p.until(`/any specialist, South/.test(document.querySelector('.lead').innerText)`)
	p.day(h.date)
	p.take(h.at("10:00"))
	p.confirm()
	p.booked()
	p.says("South")
	p.says("Quay 2")
	p.shot("place-booked")
	p.accessible("booked at a place")
	if one := h.one(t); one["place"] != "south" || one["specialistId"] != "karim" {
		t.Errorf("the booked place is %v", one)
	}
}

// atBothPlaces does the same as atTwoPlaces, with one difference: Dr Brandt works in the south from 12:00 on.
func atBothPlaces(f *clinic.File) {
	atTwoPlaces(f)
	var hours []clinic.HoursEntry
	for _, h := range f.Specialists[0].WeeklyHours {
		morning, afternoon := h, h
		morning.End, afternoon.Start, afternoon.Place = 12*60, 12*60, "south"
		hours = append(hours, morning, afternoon)
	}
	f.Specialists[0].WeeklyHours = hours
}

// TestPatientMovesBetweenPlaces: the page of an appointment lists the times at its place. The patient can choose the
// other place, and reads both places before the move.
func TestPatientMovesBetweenPlaces(t *testing.T) {
	t.Parallel()
	h := newHouse(t, atBothPlaces)
	link := h.stranger("08:30")
	p := h.tab(t)
	p.open(link)
	p.booked()
	p.says("North")
	p.click(".row + .row .btn")
	p.live()
	p.there("input[name=place][value=north]:checked")
	p.day(h.date)
	p.shows(h.at("11:30"), "free")
	if ask[bool](p, `Boolean(document.querySelector('`+chip(h.at("12:00"))+`'))`) {
		t.Error("the times at the place of the appointment include one at the other place")
	}
	p.shot("place-change")
	p.accessible("choosing a new time at a place")
	p.click("input[name=place][value=south]")
	p.shows(h.at("12:00"), "free") // on the day that was shown before
	p.take(h.at("16:30"))
	p.until(`/North/.test(document.querySelector('.move').innerText)`)
	p.until(`/South/.test(document.querySelector('.hold').innerText)`)
	p.shot("place-change-confirm")
	p.accessible("confirming a new time at another place")
	p.click(".actions .primary")
	p.says("Your appointment was moved.")
	p.says("Quay 2")
	if a := h.one(t); a["slotStartDate"] != h.at("16:30") || a["place"] != "south" {
		t.Errorf("the database has %v", a)
	}
}

// TestLinkToPlaceNeedsNoType: a link or a frame for one place leads to it also if the patient still chooses the type.
func TestLinkToPlaceNeedsNoType(t *testing.T) {
	t.Parallel()
	h := newHouse(t, atTwoPlaces)
	p := h.tab(t)
	p.open("/?lang=en&place=south")
	p.there(".card")
	p.click(".card input[value=checkup]")
	p.there(`input[name=place][value=south]:checked`)
	p.click(".bar button")
	p.until(`/South/.test(document.querySelector('.lead')?.innerText)`)
}

// TestLinkDropsPlaceWithoutTimes: a link to a type at a place where none of its specialists works any more, such as the
// link of a website, shows the times at the other place instead of none. So does a link to a specialist.
func TestLinkDropsPlaceWithoutTimes(t *testing.T) {
	t.Parallel()
	h := newHouse(t, atTwoPlaces)
	p := h.tab(t)
	for _, query := range []string{"&type=class&place=south", "&type=checkup&specialist=ada&place=south"} {
		p.open("/?lang=en" + query)
		p.there(".day")
		p.until(`/North/.test(document.querySelector('.lead')?.innerText)`)
		p.there(".chip")
	}
}

// TestWaitingListKeepsPlace: a patient who finds no time at the chosen place waits for that place, and the desk sees
// which place it is.
func TestWaitingListKeepsPlace(t *testing.T) {
	t.Parallel()
	h := mailing(t, atTwoPlaces)
	h.must(201, "POST", "/v1/specialists/karim/overrides", map[string]any{"date": h.date, "closed": true}, asAdmin)
	p := h.tab(t)
	p.open("/?lang=en&type=checkup&place=south")
	p.live()
	p.click(`.day input[value="` + h.date + `"]`)
	p.says("No times on")
	p.press("Join the waiting list")
	p.there("#wait-place")
	if got := ask[string](p, `document.querySelector('#wait-place').value`); got != "south" {
		t.Errorf("the form has the place %q, want south", got)
	}
	p.accessible("the form of the waiting list at two places")
	p.shot("place-waitlist")
	p.fill("#name", "Lena Sorge")
	p.fill("#email", "lena@example.org")
	p.click(".actions .primary")
	p.says("Check your email")
	p.until(`/South/.test(document.querySelector('.ticket').innerText)`)
	if got := h.waiting().Wish.Place; got != "south" {
		t.Errorf("the entry has the place %q, want south", got)
	}
	d := h.desk(t, store.RoleReception)
	d.open("/staff?lang=en#waitlist")
	d.until(`/South/.test(document.querySelector('.lines')?.innerText)`)
	d.press("Add person")
	d.there("#wl-place")
	d.accessible("adding a person to the waiting list at two places")
}

// TestDeskFindsTimesAtPlace: the search for free times starts with the place of the board, and names the place of each
// time. So does the form for booking.
func TestDeskFindsTimesAtPlace(t *testing.T) {
	t.Parallel()
	h := newHouse(t, atBothPlaces)
	p := h.desk(t, store.RoleReception)
	p.set(".pick select[name=place]", "south")
	p.run(`document.querySelector('.board').focus()`)
	p.key("+")
	p.there(".found-time")
	p.set("#find-from", h.date)
	times := `[...document.querySelectorAll('.found-time')].map(x => x.innerText)`
	p.until(times + `.length === 12 && ` + times + `.every(x => /South/.test(x)) && !/Brandt/.test(` + times + `[0])`)
	p.accessible("the next free times at a place")
	p.shot("place-find")
	p.set("#find-place", "")
	p.until(times + `.some(x => /Brandt, North/.test(x))`)
	p.set("#find-place", "north")
	p.until(times + `.length === 12 && ` + times + `.every(x => /Brandt, North/.test(x))`)
	p.click(".found-time")
	p.there("#patient-name")
	p.until(`/Place: North/.test(document.querySelector('.when').innerText)`)
	p.accessible("a booking at a place")
	p.shot("place-book")
	p.set("#when-time", "14:00")
	p.until(`/Place: South/.test(document.querySelector('.when').innerText)`)
	p.key(kb.Escape)
	p.closed()
}

// TestOwnerAddsPlace: an owner adds a place and assigns it in the hours.
func TestOwnerAddsPlace(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#settings")
	p.there("#consent")
	p.press("Add place")
	p.there(`[id="places[0].name"]`)
	p.run(`document.getElementById('places[0].name').focus()`)
	p.write("North")
	p.run(`document.getElementById('places[0].name').closest('form').querySelector('[type=submit]').click()`)
	p.says("Saved")
	p.accessible("places in the settings")
	p.leave() // this also removes the message that the place has been saved
	p.open("/staff?lang=en#hours/ada")
	p.there(".window select.at")
	p.run(`(s => { s.selectedIndex = 1; s.dispatchEvent(new Event('change', { bubbles: true })) })(document.querySelector('.window select.at'))`)
	p.size(1280, 1500) // so that the bar with the Save button covers no field
	p.shot("place-hours")
	p.accessible("hours at a place")
	p.press("Save hours")
	p.says("The hours for Dr Ada Brandt have been saved.")
	got := h.must(200, "GET", "/v1/specialists/ada", nil)
	if places, _ := got.get("specialist", "places").([]any); len(places) != 1 {
		t.Errorf("ada is %s", got.raw)
	}
}

// TestNewPlacesShowAtOnce: after an owner has added the clinic's places, the same page shows them on the board and for
// a request, without a reload.
func TestNewPlacesShowAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#settings")
	p.there("#consent")
	for i, name := range []string{"North", "South"} {
		p.press("Add place")
		p.fill(fmt.Sprintf(`[id="places[%d].name"]`, i), name)
	}
	p.run(`document.getElementById('places[0].name').closest('form').querySelector('[type=submit]').click()`)
	p.says("Saved")
	id := h.must(200, "GET", "/v1/settings", nil, asAdmin).get("settings", "places").([]any)[0].(map[string]any)["id"]
	hours := []map[string]any{}
	for _, day := range []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"} {
		hours = append(hours, map[string]any{"weekday": day, "start": "08:00", "end": "18:00", "place": id})
	}
	h.must(200, "PUT", "/v1/specialists/ada/weekly-hours", hours, asAdmin)
	h.must(200, "PATCH", "/v1/appointment-types/checkup", map[string]any{"approval": true}, asAdmin)
	h.must(202, "POST", "/v1/appointment-types/checkup/book", map[string]any{"clientId": "a-visitor-who-asks-1",
		"slotStartDate": h.at("15:00"), "specialistId": "ada",
		"patient": map[string]any{"name": "Omar Ruiz", "phone": "030 1112233"}})
	p.run(`location.hash = 'requests'`)
	p.until(`/Omar Ruiz[^]*North/.test(document.querySelector('.lines')?.innerText)`)
	p.run(`location.hash = 'day/` + h.date + `'`)
	p.there(".pick select[name=place]")
	// The request keeps the name of a specialist who is archived, and other specialists are proposed.
	h.must(200, "DELETE", "/v1/specialists/ada", nil, asAdmin)
	p.open("/staff?lang=en#requests")
	p.until(`/Omar Ruiz[^]*Dr Ada Brandt or this type is deactivated/.test(document.querySelector('.lines')?.innerText)`)
	p.press("Propose another time")
	p.until(`/Dr Karim Haddad/.test(document.querySelector('.nextfree')?.innerText)`)
}

// TestEarlierTimeKeepsPlace: an entry for an earlier time is for the place of the appointment, whether the patient or
// the desk adds it. The desk can choose all places.
func TestEarlierTimeKeepsPlace(t *testing.T) {
	t.Parallel()
	h := mailing(t, atTwoPlaces)
	p, id := h.openedCard(t, "15:00")
	p.click("dialog .sooner")
	p.there("dialog #wl-place")
	p.until(`document.querySelector('#wl-place').value === 'north'`)
	p.set("#wl-place", "")
	p.click("dialog [type=submit]")
	p.says("Lena Vogt is on the waiting list for an earlier time.")
	if got := h.waiting().Wish.Place; got != "" {
		t.Errorf("the desk chose all places, but the entry has the place %q", got)
	}
	a, err := h.engine.Booking.Appointment(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	patient := h.tab(t)
	patient.open("/manage?lang=en#" + h.engine.Booking.ManageToken(&a))
	patient.press("Notify me if an earlier time becomes free")
	patient.says("You are on the waiting list for an earlier time.")
	if got := h.waiting().Wish.Place; got != "north" {
		t.Errorf("the entry has the place %q, want north", got)
	}
}

// TestDeskShowsPlaces: the desk of a clinic with two places sees the place of an appointment on its card and in its
// dialog, and can show only one place.
func TestDeskShowsPlaces(t *testing.T) {
	t.Parallel()
	h := newHouse(t, atTwoPlaces)
	p := h.desk(t, store.RoleReception)
	id := p.appointment("Lena Vogt", "ada", "10:00")
	p.appointment("Per Lind", "karim", "11:00")
	p.until(`document.querySelector(` + quoted(card(id)+" .where") + `)?.innerText === 'North'`)
	p.until(`document.querySelector(` + quoted(card(id)) + `).getAttribute('aria-label').includes('North')`)
	heads := `document.querySelectorAll('.head').length`
	if n := ask[int](p, heads); n != 2 {
		t.Fatalf("%d columns, want 2", n)
	}
	p.shot("staff-places")
	p.accessible("a board of two places")
	p.set(".pick select[name=place]", "south")
	p.until(heads + ` === 1 && !document.querySelector(` + quoted(card(id)) + `)`)
	p.says("Dr Karim Haddad")
	p.open("/staff?lang=en#day/" + h.date)
	p.board()
	p.until(heads + ` === 1`) // the choice is stored
	p.run(`document.querySelector('nav.seg a[href^="#list"]').click()`)
	p.until(`document.querySelectorAll('.tbl tbody tr').length === 1`)
	p.shot("staff-places-list")
	p.accessible("a list of one place")
	p.set(".pick select[name=place]", "")
	p.until(`document.querySelectorAll('.tbl tbody tr').length === 2`)
	p.run(`[...document.querySelectorAll('.tbl th .textlink')].find(x => /Lena/.test(x.innerText)).click()`)
	p.there("dialog .facts")
	p.until(`[...document.querySelectorAll('dialog .facts > div')].some(x => /^Place/.test(x.innerText) && /North/.test(x.innerText))`)
}

// TestSpecialHoursShowPlace: the list of special hours names the place of the hours.
func TestSpecialHoursShowPlace(t *testing.T) {
	t.Parallel()
	h := newHouse(t, atTwoPlaces)
	h.must(201, "POST", "/v1/specialists/ada/overrides", map[string]any{"date": h.date,
		"hours": []map[string]any{{"start": "10:00", "end": "12:00", "place": "south"}}}, asAdmin)
	p := h.desk(t, store.RoleReception)
	p.open("/staff?lang=en#overrides/ada")
	p.there(".line")
	p.says("10:00 to 12:00 South")
}
