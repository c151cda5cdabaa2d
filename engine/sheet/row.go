package sheet

import (
	"strings"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/store"
)

// parse parses the cells of one row. It reads the schedule, but not the calendar.
func (r *Row) parse(s *clinic.Schedule, at []int, separator rune, now time.Time, name func(string) string) {
	var cell [columnCount]string
	for i, text := range r.cells {
		if i < len(at) && at[i] >= 0 {
			cell[at[i]] = plain(text, separator)
		}
	}
	t := r.findType(s, cell[colType], cell[colTypeName])
	r.findSpecialist(s, cell[colSpecialist], cell[colSpecialistName])
	if t != nil && r.SpecialistID != "" && !t.IsServedBy(r.SpecialistID) {
		r.refuse("specialist", "not_served", s.SpecialistByID[r.SpecialistID].Name,
			"does not offer this appointment type")
	}
	r.findStart(s, cell[colStart], cell[colDate], cell[colTime])
	r.Patient = store.Patient{Name: cell[colName], Email: cell[colEmail], Phone: cell[colPhone], Notes: cell[colNotes],
		BirthDate: isoDate(cell[colBirthDate])}
	var m record.Mistakes
	record.NormalizePatient(&m, &r.Patient, nil, now.In(s.Zone))
	for _, wrong := range m {
		column := strings.TrimPrefix(wrong.Field, "patient.")
		code, value := "invalid", map[string]string{"email": cell[colEmail], "phone": cell[colPhone],
			"birthDate": cell[colBirthDate]}[column]
		if column == "name" && r.Patient.Name == "" {
			code = "missing"
		}
		r.refuse(column, code, clipped(value), wrong.Message)
	}
	if t != nil && cell[colAnswers] != "" {
		r.readAnswers(s, t, cell[colAnswers], now)
	}
	switch r.attendance = store.Attendance(strings.ToLower(cell[colAttendance])); r.attendance {
	case "":
		r.attendance = store.Expected
	case store.Expected, store.Arrived, store.InProgress, store.Completed, store.NoShow:
	default:
		r.refuse("attendance", "invalid", clipped(cell[colAttendance]),
			"must be expected, arrived, in_progress, completed or no_show")
	}
	if r.AppointmentID = cell[colID]; r.AppointmentID == "" {
		r.AppointmentID = "csv-" + name(r.spelled())
	} else if !record.ValidID(r.AppointmentID) {
		r.refuse("id", "invalid", clipped(r.AppointmentID), "must be 1 to 64 letters, digits, - and _, or empty")
	} else {
		r.named = true
	}
	switch status := store.Fold(cell[colStatus]); status {
	case "", "confirmed", "bestätigt", "confirmada":
	case "cancelled", "canceled", "abgesagt", "cancelada":
		if r.Outcome == Book {
			r.Outcome = Skipped
		}
	default:
		r.refuse("status", "invalid", clipped(cell[colStatus]), "must be confirmed or cancelled, or empty")
	}
}

// spelled returns the same text for the same row in any file. The id is derived from this text with the server's key,
// because the id remains after the person has been erased, and a name and a date of birth could be guessed from a plain
// hash.
func (r *Row) spelled() string {
	p := r.Patient.Identity()
	return strings.Join([]string{
		"sheet", r.AppointmentTypeID, r.SpecialistID, r.Start.UTC().Format(time.RFC3339), store.Fold(p.Name),
		p.BirthDate, store.Fold(p.Email), store.Digits(p.Phone),
	}, "\n")
}

func (r *Row) findType(s *clinic.Schedule, id, name string) *store.AppointmentType {
	if id != "" {
		t := s.Types[id]
		if t == nil {
			r.refuse("appointmentTypeId", "unknown", clipped(id), "no appointment type has this id")
			return nil
		}
		r.AppointmentTypeID = t.ID
		return t
	}
	var found []*store.AppointmentType
	for i := range s.AppointmentTypes {
		if t := &s.AppointmentTypes[i]; store.Fold(t.Name) == store.Fold(name) {
			found = append(found, t)
		}
	}
	switch {
	case name == "":
		r.refuse("appointmentType", "missing", "", "is missing")
	case len(found) == 0:
		r.refuse("appointmentType", "unknown", clipped(name), "no appointment type has this name")
	case len(found) > 1:
		r.refuse("appointmentType", "ambiguous", clipped(name),
			"several appointment types have this name; give the id in appointmentTypeId")
	default:
		r.AppointmentTypeID = found[0].ID
		return found[0]
	}
	return nil
}

func (r *Row) findSpecialist(s *clinic.Schedule, id, name string) {
	if id != "" {
		if s.SpecialistByID[id] == nil {
			r.refuse("specialistId", "unknown", clipped(id), "no specialist has this id")
			return
		}
		r.SpecialistID = id
		return
	}
	var found []string
	for i := range s.Specialists {
		if p := &s.Specialists[i]; store.Fold(p.Name) == store.Fold(name) {
			found = append(found, p.ID)
		}
	}
	switch {
	case name == "":
		r.refuse("specialist", "missing", "", "is missing")
	case len(found) == 0:
		r.refuse("specialist", "unknown", clipped(name), "no specialist has this name")
	case len(found) > 1:
		r.refuse("specialist", "ambiguous", clipped(name),
			"several specialists have this name; give the id in specialistId")
	default:
		r.SpecialistID = found[0]
	}
}

// clocks lists the date and time formats that spreadsheets write, tried after RFC 3339.
var clocks = []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05",
	"2.1.2006 15:04", "2.1.2006 15:04:05", "2/1/2006 15:04", "2/1/2006 15:04:05"}

// findStart parses an instant, or a time in the specialist's zone. In dates with slashes, the day comes before the
// month.
func (r *Row) findStart(s *clinic.Schedule, start, date, clock string) {
	column := "start"
	if start == "" {
		start, column = strings.TrimSpace(date+" "+clock), "date"
	}
	if start == "" {
		r.refuse("start", "missing", "", "is missing")
		return
	}
	zone := s.Zone
	if c := s.Calendars[r.SpecialistID]; c != nil {
		zone = c.Zone()
	}
	at, err := time.Parse(time.RFC3339, start)
	for i := 0; err != nil && i < len(clocks); i++ {
		var wall time.Time
		if wall, err = time.Parse(clocks[i], start); err != nil {
			continue
		}
		year, month, day := wall.Date()
		at = time.Date(year, month, day, wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
		if at.Hour() != wall.Hour() || at.Minute() != wall.Minute() {
			r.refuse(column, "gap", clipped(start), "does not exist: the clocks go forward at that time")
			return
		}
	}
	switch {
	case err != nil:
		r.refuse(column, "invalid", clipped(start), "must be like 2026-11-23 09:00 or 2026-11-23T09:00:00+01:00")
	case at.Year() < 2000 || at.Year() > 2200:
		r.refuse(column, "invalid", clipped(start), "must be between the years 2000 and 2200")
	default:
		r.Start = at.UTC().Truncate(time.Second)
	}
}

// isoDate converts a date to ISO format. Other text is returned unchanged, and is then refused.
func isoDate(text string) string {
	for _, layout := range []string{"2.1.2006", "2/1/2006"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format(time.DateOnly)
		}
	}
	return text
}

func clipped(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return text
}
