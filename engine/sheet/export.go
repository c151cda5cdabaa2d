package sheet

import (
	"context"
	"encoding/csv"
	"strings"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// Export writes the appointments that overlap [from, to) as a CSV file that Import can read. The file is UTF-8 with
// the byte order mark that spreadsheets expect. The separator of its columns is a comma or a semicolon. Times are
// written as instants and in the specialist's zone. The audit entry does not contain the appointments.
func (sh *Sheets) Export(ctx context.Context, actor record.Actor, from, to time.Time, separator rune) (string, error) {
	s := sh.clinic.Current()
	var b strings.Builder
	b.WriteString("\ufeff")
	w := csv.NewWriter(&b)
	w.Comma, w.UseCRLF = separator, true
	_ = w.Write(headings[:]) // in memory, so it cannot fail
	rows := 0
	f := store.AppointmentFilter{From: from, To: to, Limit: 500}
	for {
		list, next, err := sh.store.Appointments(ctx, f)
		if err != nil {
			return "", err
		}
		for i := range list {
			a := &list[i]
			who, zone := s.Who(a.SpecialistID)
			var cell [columnCount]string
			cell[colID], cell[colType], cell[colSpecialist] = a.ID, a.AppointmentTypeID, a.SpecialistID
			if t := s.TypeOf(a.AppointmentTypeID); t != nil {
				cell[colTypeName] = t.Name
			}
			cell[colSpecialistName] = who
			start := a.SlotStart.In(zone)
			cell[colStart], cell[colDate], cell[colTime], cell[colEnd] = start.Format(time.RFC3339),
				start.Format(time.DateOnly), start.Format("15:04"), a.SlotEnd.In(zone).Format(time.RFC3339)
			cell[colStatus], cell[colAttendance], cell[colSource] = string(a.Status), string(a.Attendance),
				string(a.Source)
			if place := s.PlaceOf(a); place != nil {
				cell[colPlace] = place.Name
			}
			p := &a.Patient
			cell[colName], cell[colEmail], cell[colPhone], cell[colBirthDate], cell[colNotes] = p.Name, p.Email,
				p.Phone, p.BirthDate, p.Notes
			cell[colAnswers] = answersCell(a.Intake.Answers)
			for j := range cell {
				cell[j] = Guarded(cell[j], separator)
			}
			_ = w.Write(cell[:])
			rows++
		}
		if f.Cursor = next; next == "" {
			break
		}
	}
	w.Flush()
	now := time.Now().UTC().Truncate(time.Millisecond)
	said := map[string]any{"appointments": rows, "from": from, "to": to}
	err := sh.store.Write(ctx, func(tx store.Tx) error {
		return record.Audit(ctx, tx, now, actor, record.ActionAppointmentsExported, "appointments", "", nil, said)
	})
	return b.String(), err
}
