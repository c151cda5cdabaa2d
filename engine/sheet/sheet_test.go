package sheet_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/engine/sheet"
	"holdfast/store"
)

// sheetOf reads a file from testdata/sheet and replaces D with the day on which the clinic's tests take place.
func sheetOf(c *enginetest.TestClinic, name string) string {
	c.T.Helper()
	b, err := os.ReadFile("../../testdata/sheet/" + name)
	if err != nil {
		c.T.Fatal(err)
	}
	return strings.ReplaceAll(string(b), ";D;", ";"+c.Start.Format(time.DateOnly)+";")
}

// TestSheetNamesRowProblems: the last column of every row contains the expected result, and the plan must agree.
// Nothing is written before the import.
func TestSheetNamesRowProblems(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := t.Context()
	at := func(hour int) time.Time { return c.Start.Add(time.Duration(hour-c.Start.Hour()) * time.Hour) }
	c.BookFor(9-c.Start.Hour(), store.Patient{Name: "Other Patient"})
	c.MustHold(1, "checkup", at(15), "ada")
	if _, err := c.Clinic.CreateBlock(ctx, "user:jo", store.Block{SpecialistID: "ada",
		Start: at(22), End: at(24), Reason: "Concert"}, nil); err != nil {
		t.Fatal(err)
	}
	text := sheetOf(c, "mistakes.csv")
	lines := strings.Split(strings.TrimSpace(text), "\n")

	f, err := c.Sheet.Plan(ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Rows) != len(lines)-1 || len(f.Ignored) != 1 || f.Ignored[0] != "want" {
		t.Fatalf("%d rows and the unknown columns %q; want %d and the column want", len(f.Rows), f.Ignored, len(lines)-1)
	}
	for _, r := range f.Rows {
		cells := strings.Split(lines[r.Line-1], ";")
		said := string(r.Outcome)
		for _, p := range append(r.Problems, r.Warnings...) {
			said += " " + p.Code
			if p.Message == "" || r.Outcome == sheet.Refused && p.Column == "" && p.Code != "twice" &&
				p.Code != "too_many" {
				t.Errorf("line %d: %+v has no column or no message", r.Line, p)
			}
		}
		if want := cells[11]; said != want {
			t.Errorf("line %d: got %q, want %q (%+v)", r.Line, said, want, r.Problems)
		}
	}
	if n := len(c.Confirmed()); n != 1 {
		t.Errorf("the plan wrote %d appointments", n)
	}

	// First all rows or none, then only the valid rows; after that, importing again adds nothing.
	var refused *sheet.RefusedError
	if _, err := c.Sheet.Import(ctx, text, false, "user:jo", nil); !errors.As(err, &refused) ||
		len(c.Confirmed()) != 1 {
		t.Errorf("the import of a whole file with errors: %v, and %d appointments", err, len(c.Confirmed()))
	}
	done, err := c.Sheet.Import(ctx, text, true, "user:jo", nil)
	if err != nil || done.Count(sheet.Book) != f.Count(sheet.Book) || len(c.Confirmed()) != 1+f.Count(sheet.Book) {
		t.Fatalf("the valid rows: %v, %d booked, want %d", err, done.Count(sheet.Book), f.Count(sheet.Book))
	}
	if a, err := c.Booking.Appointment(ctx, "known"); err != nil || a.Patient.Phone != "+49 30 1" || a.Version != 1 {
		t.Errorf("the row with an id: %+v, %v", a, err)
	}
	again, err := c.Sheet.Import(ctx, text, true, "user:jo", nil)
	if err != nil || again.Count(sheet.Book) != 0 || again.Count(sheet.There) != f.Count(sheet.Book) {
		t.Errorf("second import of the file: %v, %d booked, %d already exist", err, again.Count(sheet.Book), again.Count(sheet.There))
	}
	// The refused rows can be corrected and imported.
	if csv := done.RefusedCSV(','); strings.Count(csv, "\n") != 1+f.Count(sheet.Refused) ||
		!strings.Contains(csv, "4,\"start overlaps line 2") {
		t.Errorf("the refused rows:\n%s", csv)
	}
	if entries, _, err := c.Store.Audit(ctx, store.AuditFilter{Action: "appointments.imported"}); err != nil ||
		len(entries) != 2 {
		t.Errorf("the audit log has %d imports, %v", len(entries), err)
	}
}

// TestSheetRoundTrips: an exported file can be imported, whatever separates its columns. The same clinic recognizes its
// own appointments, and another clinic creates the same ones.
func TestSheetRoundTrips(t *testing.T) {
	t.Parallel()
	for name, separator := range map[string]rune{"comma": ',', "semicolon": ';'} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testRoundTrip(t, separator)
		})
	}
}

func testRoundTrip(t *testing.T, separator rune) {
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := t.Context()
	want := c.BookFor(0, store.Patient{Name: "=cmd|' /C calc'!A0", Phone: "+49 30 12345", Email: "a@example.org",
		BirthDate: "1980-02-29", Notes: "two\nlines, and \"quotes\"\n- 2 mg;=1+1, -1, '+2"})
	text, err := c.Sheet.Export(ctx, "user:jo", c.Start.Add(-time.Hour), c.Start.Add(time.Hour), separator)
	sep := string(separator)
	if err != nil || !strings.Contains(text, sep+"'=cmd|") || !strings.Contains(text, sep+"'+49 30 12345"+sep) {
		t.Fatalf("the file: %v\n%s", err, text)
	}
	if f, err := c.Sheet.Plan(ctx, text); err != nil || f.Count(sheet.There) != 1 {
		t.Errorf("import by the same clinic: %+v, %v", f, err)
	}
	other := enginetest.NewClinic(t, map[string]int{"ada": 1})
	if _, err := other.Sheet.Import(ctx, text, false, "user:jo", nil); err != nil {
		t.Fatal(err)
	}
	got, err := other.Booking.Appointment(ctx, want.ID)
	if err != nil || got.Patient != want.Patient || !got.SlotStart.Equal(want.SlotStart) ||
		!got.BusyEnd.Equal(want.BusyEnd) || got.SpecialistID != want.SpecialistID {
		t.Errorf("import by another clinic: got %+v, %v\nwant %+v", got, err, want)
	}
}

// TestSheetRefusesInvalidFiles: a file that is not a table is refused with a sentence that describes the problem.
func TestSheetRefusesInvalidFiles(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	for text, says := range map[string]string{
		"":                                      "is empty",
		"name,type,specialist,start\n":          "no row",
		"name,type,specialist\nJo,Check-up,Ada": "no column start",
		"name,name,type,specialist,start\na,b,c,d,e": "twice",
		"name,type,specialist,start\n\"Jo,checkup":   "line 2",
		"name,type,specialist,start" + strings.Repeat("\nJo,Check-up,ada,2030-01-01 09:00", sheet.MaxRows+
			1): "at most 2000 rows",
		strings.Repeat("x", sheet.MaxBytes+1): "MiB",
	} {
		var invalid *record.ValidationError
		if _, err := c.Sheet.Plan(context.Background(), text); !errors.As(err, &invalid) ||
			!strings.Contains(err.Error()+invalid.Fields[0].Message, says) {
			t.Errorf("%.40q: got %v, want %q", text, err, says)
		}
	}
}

// TestSheetBooksTimeOfCancelledRow: a patient cancelled an appointment and booked the same time again. The rows have no
// ids, and the cancelled row does not block the other one, in either order.
func TestSheetBooksTimeOfCancelledRow(t *testing.T) {
	t.Parallel()
	const head = "appointmentTypeId,specialistId,date,time,status,name,birthDate\n"
	for name, states := range map[string][]string{
		"cancelled first": {"cancelled", "confirmed"}, "cancelled last": {"confirmed", "cancelled"},
		"cancelled twice": {"cancelled", "cancelled", "confirmed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := enginetest.NewClinic(t, map[string]int{"ada": 1})
			text := head
			for _, status := range states {
				text += "checkup,ada," + c.Start.Format(time.DateOnly) + ",12:00," + status + ",Rosa Vogt,1980-02-29\n"
			}
			f, err := c.Sheet.Import(t.Context(), text, false, "user:jo", nil)
			if err != nil {
				t.Fatal(err)
			}
			if f.Count(sheet.Book) != 1 || f.Count(sheet.Skipped) != len(states)-1 || len(c.Confirmed()) != 1 {
				t.Errorf("%d booked, %d skipped and %d appointments; want one", f.Count(sheet.Book), f.Count(sheet.Skipped),
					len(c.Confirmed()))
			}
		})
	}
}
