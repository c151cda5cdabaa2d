// Package sheet imports appointments from a spreadsheet, and exports them to a spreadsheet.
//
// # The contract
//
// Plan reads a CSV file and returns what would happen to each row and what is wrong with it, by line and column. It
// writes nothing. Import books all rows or none, or only the valid ones. Both use the same function. Import runs it
// within the transaction that writes, so a time that it finds free is really free. An imported appointment obeys the
// guarantee like any other, and does not take time that patients hold.
//
// # The same file twice
//
// An appointment keeps the id of its row. If a row has no id, one is derived from its patient, type, time and
// specialist. So importing a file again finds its appointments, even if they have since changed.
//
// # Notifications
//
// An import sends no notification: no email, no webhook, and nothing to the practice-management system. Imported
// appointments were agreed outside Holdfast.
package sheet

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/store"
)

// The per-file limits. All rows of a file are written in one transaction.
const (
	MaxRows  = 2000
	MaxBytes = 4 << 20
)

// Sheets imports and exports spreadsheets. It is safe for concurrent use.
type Sheets struct {
	store   store.Store
	clinic  *clinic.Clinic
	booking *booking.Booking
}

// New returns Sheets.
func New(s store.Store, c *clinic.Clinic, b *booking.Booking) *Sheets { return &Sheets{s, c, b} }

// Outcome is the result of importing a row.
type Outcome string

const (
	Book    Outcome = "book"    // it becomes an appointment
	There   Outcome = "there"   // the appointment already exists
	Skipped Outcome = "skipped" // its status is cancelled
	Refused Outcome = "refused"
)

// Problem is a mistake in a row. Code is for programs, Message for people. Value is the content of the cell, or the
// conflicting line or time.
type Problem struct {
	Column, Code, Value, Message string
}

// Row is one line of a file.
type Row struct {
	Line     int // in the file; the header is line 1
	Outcome  Outcome
	Problems []Problem // the reasons why it is refused
	Warnings []Problem // hints for the desk

	AppointmentID, AppointmentTypeID, SpecialistID string
	Start                                          time.Time
	Patient                                        store.Patient

	intake     store.Intake
	attendance store.Attendance
	seat       int  // the planned seat
	named      bool // the file contains the id
	cells      []string
}

func (r *Row) refuse(column, code, value, message string) {
	r.Outcome = Refused
	r.Problems = append(r.Problems, Problem{column, code, value, message})
}

// File is the parsed content of a CSV file.
type File struct {
	Rows    []Row
	Columns []string // the columns that are read
	Ignored []string // unknown headings

	separator rune // of the columns
	header    []string
}

// Count returns the number of rows with an outcome.
func (f *File) Count(o Outcome) (n int) {
	for i := range f.Rows {
		if f.Rows[i].Outcome == o {
			n++
		}
	}
	return n
}

// The columns of a file, in export order.
const (
	colID = iota
	colType
	colTypeName
	colSpecialist
	colSpecialistName
	colStart
	colDate
	colTime
	colEnd
	colStatus
	colAttendance
	colName
	colEmail
	colPhone
	colBirthDate
	colNotes
	colAnswers
	colSource
	colPlace
	columnCount
)

var headings = [columnCount]string{
	"id", "appointmentTypeId", "appointmentType", "specialistId", "specialist", "start", "date", "time", "end",
	"status", "attendance", "name", "email", "phone", "birthDate", "notes", "answers", "source",
	"place",
}

// aliases maps other names for a heading, folded, to its column.
var aliases = map[string]int{
	"type": colTypeName, "treatment": colTypeName, "terminart": colTypeName, "behandlung": colTypeName,
	"tipo": colTypeName, "tipo de cita": colTypeName, "doctor": colSpecialistName, "practitioner": colSpecialistName,
	"behandler": colSpecialistName, "arzt": colSpecialistName, "especialista": colSpecialistName, "beginn": colStart,
	"begin": colStart, "inicio": colStart, "datum": colDate, "fecha": colDate, "day": colDate, "uhrzeit": colTime,
	"zeit": colTime, "hora": colTime, "patient": colName, "paciente": colName, "nombre": colName, "e-mail": colEmail,
	"mail": colEmail, "correo": colEmail, "telephone": colPhone, "telefon": colPhone, "teléfono": colPhone,
	"born": colBirthDate, "birth date": colBirthDate, "date of birth": colBirthDate, "geburtsdatum": colBirthDate,
	"fecha de nacimiento": colBirthDate, "note": colNotes, "notiz": colNotes, "notizen": colNotes, "notas": colNotes,
	"antworten": colAnswers, "respuestas": colAnswers,
}

// read parses a file. It returns *record.ValidationError if it is not a table, has too many rows, or lacks a column.
func read(text string) (*File, []int, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	switch {
	case len(text) > MaxBytes:
		return nil, nil, record.Invalid("csv", "must have at most %d MiB; send it in parts", MaxBytes>>20)
	case strings.TrimSpace(text) == "":
		return nil, nil, record.Invalid("csv", "is empty; the first line must name the columns")
	}
	f := &File{separator: separator(text)}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.TrimLeadingSpace = f.separator, -1, true
	var at []int
	for {
		cells, err := r.Read()
		var bad *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			if f.header == nil || len(f.Rows) == 0 {
				return nil, nil, record.Invalid("csv", "has no rows after the column names")
			}
			return f, at, nil
		case errors.As(err, &bad):
			return nil, nil, record.Invalid("csv", "cannot be read as a table at line %d, column %d: %v", bad.Line,
				bad.Column, bad.Err)
		case err != nil:
			return nil, nil, record.Invalid("csv", "cannot be read: %v", err)
		}
		if f.header == nil {
			f.header = cells
			if at, err = f.columns(); err != nil {
				return nil, nil, err
			}
			continue
		}
		if !slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) != "" }) {
			continue
		}
		if len(f.Rows) == MaxRows {
			return nil, nil, record.Invalid("csv", "must have at most %d rows; send it in parts", MaxRows)
		}
		line, _ := r.FieldPos(0)
		row := Row{Line: line, Outcome: Book, cells: cells}
		if len(cells) > len(f.header) {
			row.refuse("", "too_many", "",
				"has more cells than columns; put text that contains the separator in quotes")
		}
		f.Rows = append(f.Rows, row)
	}
}

// separator returns the most frequent separator in the first line: a comma, a semicolon (spreadsheets of some
// countries), or a tab.
func separator(text string) rune {
	first, _, _ := strings.Cut(text, "\n")
	best, most := ',', 0
	for _, sep := range ",;\t" {
		if n := strings.Count(first, string(sep)); n > most {
			best, most = sep, n
		}
	}
	return best
}

// columns returns the number of the known column for each column of the file, or -1 if it is unknown.
func (f *File) columns() ([]int, error) {
	at := make([]int, len(f.header))
	seen := make(map[int]bool)
	var m record.Mistakes
	for i, heading := range f.header {
		folded := store.Fold(heading)
		at[i] = slices.IndexFunc(headings[:], func(h string) bool { return strings.ToLower(h) == folded })
		if other, ok := aliases[folded]; ok && at[i] < 0 {
			at[i] = other
		}
		switch {
		case at[i] < 0:
			if folded != "" {
				f.Ignored = append(f.Ignored, heading)
			}
		case seen[at[i]]:
			m.Add("csv", "has the column %s twice", headings[at[i]])
		default:
			seen[at[i]] = true
			f.Columns = append(f.Columns, headings[at[i]])
		}
	}
	if !seen[colName] {
		m.Add("csv", "has no column name; the first line names the columns")
	}
	if !seen[colType] && !seen[colTypeName] {
		m.Add("csv", "has no column appointmentType (or appointmentTypeId)")
	}
	if !seen[colSpecialist] && !seen[colSpecialistName] {
		m.Add("csv", "has no column specialist (or specialistId)")
	}
	if !seen[colStart] && (!seen[colDate] || !seen[colTime]) {
		m.Add("csv", "has no column start (or date and time)")
	}
	return at, m.Err()
}
