package browsertest

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/store"
)

// chooseFile selects a file with this content in a file field.
func (p *tab) chooseFile(selector, name, content string) {
	p.t.Helper()
	p.there(selector)
	bytes, err := json.Marshal(numbers(content))
	if err != nil {
		p.t.Fatal(err)
	}
	p.run(`((input, d) => { d.items.add(new File([new Uint8Array(` + string(bytes) + `)], ` + quoted(name) +
		`)); input.files = d.files; input.dispatchEvent(new Event('change', { bubbles: true })) })(document.querySelector(` + quoted(selector) + `), new DataTransfer())`)
}

func numbers(content string) (all []int) {
	for i := range len(content) {
		all = append(all, int(content[i]))
	}
	return all
}

// TestOwnerImportsSpreadsheet: an owner imports appointments. The page shows the problem of each invalid row, imports
// the valid rows, and offers the others for download.
func TestOwnerImportsSpreadsheet(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#data")
	day := h.date
	text := "Name;Terminart;Arzt;Datum;Uhrzeit\nLena Gr\xf6\xdfmann;Check-up;Dr Ada Brandt;" + day +
		";09:00\nPer Lind;Check-up;Dr Ada Brandt;" + day + ";09:15\nMia Sand;Massage;Dr Ada Brandt;" + day + ";11:00\n"
	p.chooseFile("#sheet-file", "old.csv", text)
	p.says("To be booked: 1. Already booked: 0. Cancelled: 0. Cannot be imported: 2.")
	p.says("Start: overlaps line 2")
	p.says("Appointment type: “Massage” was not found")
	p.accessible("a spreadsheet that is tried")
	p.shot("data-plan")
	if n := len(h.bookings()); n != 0 {
		t.Errorf("the plan wrote %d appointments", n)
	}
	p.press("Import only the valid row")
	p.says("Newly booked: 1.")
	p.says("Download the 2 rejected rows")
	p.accessible("a spreadsheet that was imported")
	p.shot("data-done")
	all := h.bookings()
	if len(all) != 1 || !strings.Contains(h.must(200, "GET", "/v1/appointments", nil, asAdmin).raw, "Lena Größmann") {
		t.Errorf("the booked appointments are %v", all)
	}
	// Importing the same file again does not book anything.
	p.until(`!document.body.innerText.includes('Show all')`) // the remaining rows are all visible
	p.press("Close")
	p.chooseFile("#sheet-file", "old.csv", text)
	p.says("To be booked: 0. Already booked: 1")

	// A file in UTF-16 is read. A workbook is refused with what to do.
	wide := "\xff\xfe"
	for _, b := range []byte(strings.ReplaceAll(text, "\xf6\xdf", "oss")) {
		wide += string([]byte{b, 0})
	}
	p.chooseFile("#sheet-file", "unicode.txt", wide)
	p.says("unicode.txt")
	p.says("To be booked: 0. Already booked: 0")
	p.chooseFile("#sheet-file", "patients.xlsx", "PK\x03\x04\x14\x00\xff")
	p.says("is a workbook. Open it in your spreadsheet program")

	// A clinic file is also checked, and the errors are listed with their fields.
	p.chooseFile("#clinic-file", "clinic.json", `{"specialists":[{"id":"x","name":""}]}`)
	p.says("specialists[0].name")
	p.accessible("a clinic file with mistakes")
	p.chooseFile("#clinic-file", "clinic.json",
		`{"specialists":[{"id":"mia","name":"Dr Mia Sand","timezone":"UTC","active":true}]}`)
	p.says("1 new:")
	p.press("Import this clinic")
	p.says("The file contained 1 specialists and 0 appointment types.")
	h.must(200, "GET", "/v1/specialists/mia", nil)
}

// TestConsoleShowsImportedClinic: after the import of a clinic file, the calendar has the clinic's name, time zone and
// places. With the old zone, a booking on it would be at a wrong hour.
func TestConsoleShowsImportedClinic(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#data")
	p.chooseFile("#clinic-file", "clinic.json", `{"clinic":{"name":"Hill Clinic","timezone":"Asia/Tokyo","locale":"en",
		"settings":{"places":[{"id":"north","name":"North"},{"id":"south","name":"South"}]}}}`)
	p.press("Import this clinic")
	p.says("The file contained 0 specialists")
	p.click(`nav a[href="#day"]`)
	p.there(".pick select[name=place]")
	p.says("Hill Clinic")
}

// TestConsoleShowsNewTimeZone: after the owner changes the clinic's time zone, the calendar has the new one.
func TestConsoleShowsNewTimeZone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#settings")
	p.set("#timezone", "Asia/Tokyo")
	p.press("Save")
	p.says("Saved")
	p.click(`nav a[href="#day"]`)
	p.there(".board")
	p.until(`JSON.parse(document.getElementById('boot').textContent).clinic.timezone === 'Asia/Tokyo'`)
}
