package web

import (
	"errors"
	"net/http"
	"time"

	"holdfast/engine/record"
	"holdfast/engine/sheet"
	"holdfast/store"
)

// sheetBody is a spreadsheet as a CSV file.
type sheetBody struct {
	clientBody
	CSV string `json:"csv"`
	// OnlyGood imports the valid rows and skips the others. If it is false, a single invalid row makes the server
	// refuse the whole file.
	OnlyGood bool `json:"onlyGood"`
}

type sheetPlanBody struct {
	clientBody
	CSV string `json:"csv"`
}

// sheetJSON is the outcome of each row of a file.
type sheetJSON struct {
	Book    int            `json:"book"`
	There   int            `json:"there"`
	Skipped int            `json:"skipped"`
	Refused int            `json:"refused"`
	Columns []string       `json:"columns"`
	Ignored []string       `json:"ignored"`
	Rows    []sheetRowJSON `json:"rows"`
	// RefusedCSV contains the rows that cannot be imported, with their errors in the first column.
	RefusedCSV string `json:"refusedCsv,omitempty"`
}

type sheetRowJSON struct {
	Line              int                `json:"line"`
	Outcome           string             `json:"outcome"`
	AppointmentTypeID string             `json:"appointmentTypeId,omitempty"`
	SpecialistID      string             `json:"specialistId,omitempty"`
	SlotStartDate     string             `json:"slotStartDate,omitempty"`
	Name              string             `json:"name,omitempty"`
	Problems          []sheetProblemJSON `json:"problems"`
	Warnings          []sheetProblemJSON `json:"warnings"`
}

type sheetProblemJSON struct {
	Column  string `json:"column,omitempty"`
	Code    string `json:"code"`
	Value   string `json:"value,omitempty"`
	Message string `json:"message"`
}

func sheetOf(f *sheet.File, separator rune) sheetJSON {
	j := sheetJSON{Book: f.Count(sheet.Book), There: f.Count(sheet.There), Skipped: f.Count(sheet.Skipped),
		Refused: f.Count(sheet.Refused),
		Columns: f.Columns, Ignored: append([]string{}, f.Ignored...), Rows: make([]sheetRowJSON, len(f.Rows))}
	said := func(list []sheet.Problem) []sheetProblemJSON {
		return each(list, func(p *sheet.Problem) sheetProblemJSON { return sheetProblemJSON(*p) })
	}
	for i := range f.Rows {
		r := &f.Rows[i]
		j.Rows[i] = sheetRowJSON{r.Line, string(r.Outcome), r.AppointmentTypeID, r.SpecialistID, optionalTime(r.Start),
			r.Patient.Name, said(r.Problems), said(r.Warnings)}
	}
	if j.Refused > 0 {
		j.RefusedCSV = f.RefusedCSV(separator)
	}
	return j
}

// planSheet changes nothing, so its response is not stored for a repeated request.
func (s *Server) planSheet(c *call, b *sheetPlanBody) error {
	c.once = nil
	f, err := s.engine.Sheet.Plan(c.ctx(), b.CSV)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]sheetJSON{"import": sheetOf(f, s.separator(c.r))})
}

// importedJSON counts the outcomes of the rows. It does not contain the rows, because the response is stored for a
// repeated request and must not contain names. To get the refused rows, request the plan again.
type importedJSON struct {
	Booked  int `json:"booked"`
	There   int `json:"there"`
	Skipped int `json:"skipped"`
	Refused int `json:"refused"`
}

func (s *Server) importSheet(c *call, b *sheetBody) error {
	say := func(x **sheet.File) any {
		f := *x
		return map[string]importedJSON{"imported": {
			f.Count(sheet.Book), f.Count(sheet.There), f.Count(sheet.Skipped), f.Count(sheet.Refused),
		}}
	}
	err := answerChange(c, http.StatusOK, say, func(once *record.Once) (*sheet.File, error) {
		return s.engine.Sheet.Import(c.ctx(), b.CSV, b.OnlyGood, c.caller.actor, once)
	})
	var refused *sheet.RefusedError
	if errors.As(err, &refused) {
		return fieldError("csv", refused.Error()+"; to list them, use /v1/import/appointments-plan; to skip them, "+
			"send onlyGood")
	}
	return err
}

// maxExport is the longest range of one export.
const maxExport = 5 * 366 * 24 * time.Hour

// exportSheet returns the appointments between two instants or dates as a CSV file. The end is not included.
func (s *Server) exportSheet(c *call) error {
	q := c.query()
	zone := s.engine.Clinic.Zone()
	from, to := q.bound("from", zone), q.bound("to", zone)
	if from.IsZero() {
		q.add("from", "is missing: the first day, like 2026-11-01")
	}
	if to.IsZero() {
		q.add("to", "is missing: the day after the last one, like 2026-12-01")
	} else if to.Sub(from) > maxExport || !to.After(from) {
		q.add("to", "must be after from, and at most five years after it")
	}
	if err := q.err(); err != nil {
		return err
	}
	text, err := s.engine.Sheet.Export(c.ctx(), c.caller.actor, from, to, s.separator(c.r))
	if err != nil {
		return err
	}
	h := c.rw.Header()
	h["Content-Type"] = []string{"text/csv; charset=utf-8"}
	h["Content-Disposition"] = []string{`attachment; filename="appointments-` + store.DateOf(from.In(zone)).String() +
		`.csv"`}
	c.status, c.out = http.StatusOK, []byte(text)
	return nil
}
