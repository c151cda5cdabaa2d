package web

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/downtime"
	"holdfast/engine/record"
	"holdfast/engine/sheet"
	"holdfast/engine/words"
	"holdfast/store"
)

// kitDays is the default number of days of a downtime plan.
const kitDays = 7

// kitJSON is a downtime plan for a page that stores it offline. Each sheet contains the HTML to show and print, and the
// CSV lines to save.
type kitJSON struct {
	MadeAt  string         `json:"madeAt"`
	Clinic  string         `json:"clinic"`
	From    string         `json:"from"`
	To      string         `json:"to"`
	CSVHead string         `json:"csvHead"` // the first line of a file; the lines of the sheets follow
	Sheets  []kitSheetJSON `json:"sheets"`
}

type kitSheetJSON struct {
	Date         string `json:"date"`
	SpecialistID string `json:"specialistId"`
	Specialist   string `json:"specialist"`
	Appointments int    `json:"appointments"`
	HTML         string `json:"html"`
	CSV          string `json:"csv"`
}

// getDowntimeKit returns the plan for the next days as JSON, as one self-contained page, or as a spreadsheet. A
// signed-in specialist gets only their own plan.
func (s *Server) getDowntimeKit(c *call) error {
	q := c.query()
	r := downtime.Request{From: q.date("from"), Days: q.whole("days", 1, downtime.MaxDays, kitDays),
		SpecialistID: q.id("specialistId"), Actor: c.caller.actor}
	format := q.text("format")
	if format != "" && format != "json" && format != "csv" && format != "html" {
		q.add("format", "must be json, csv or html")
	}
	if err := q.err(); err != nil {
		return err
	}
	if r.From == (store.Date{}) {
		r.From = store.DateOf(time.Now().In(s.engine.Clinic.Zone()))
	}
	if c.caller.specialistID != "" && r.SpecialistID == "" {
		r.SpecialistID = c.caller.specialistID
	}
	if !c.caller.reaches(r.SpecialistID) {
		return errForbidden.with("You can download only your own plan.")
	}
	kit, err := s.engine.Downtime.Kit(c.ctx(), r)
	if err != nil {
		return err
	}
	w := kitWriter{words: s.engine.Clinic.Words().Find(s.language(c.r)), separator: s.separator(c.r), kit: kit,
		zone: s.engine.Clinic.Zone()}
	h := c.rw.Header()
	name := func(ending string) []string {
		return []string{`attachment; filename="plan-` + kit.From.String() + ending + `"`}
	}
	switch format {
	case "csv":
		h["Content-Type"], h["Content-Disposition"] = []string{"text/csv; charset=utf-8"}, name(".csv")
		text := "\ufeff" + w.csvHead()
		for i := range kit.Sheets {
			text += w.csv(&kit.Sheets[i])
		}
		c.status, c.out = http.StatusOK, []byte(text)
		return nil
	case "html":
		style := s.files.File("plan.css").Plain()
		sum := sha256.Sum256(style)
		h["Content-Type"] = htmlType
		h["Content-Security-Policy"] = []string{"default-src 'none'; style-src 'sha256-" +
			base64.StdEncoding.EncodeToString(sum[:]) + "'; frame-ancestors 'none'"}
		c.status, c.out = http.StatusOK, w.page(style)
		return nil
	}
	j := kitJSON{MadeAt: httpTime(kit.MadeAt), Clinic: kit.Clinic, From: kit.From.String(), To: kit.To.String(),
		CSVHead: w.csvHead(), Sheets: make([]kitSheetJSON, len(kit.Sheets))}
	for i := range kit.Sheets {
		x := &kit.Sheets[i]
		j.Sheets[i] = kitSheetJSON{x.Date.String(), x.SpecialistID, x.Specialist, appointmentsOn(x), w.sheet(x),
			w.csv(x)}
	}
	return c.json(http.StatusOK, map[string]kitJSON{"kit": j})
}

func appointmentsOn(x *downtime.Sheet) (n int) {
	for i := range x.Rows {
		if x.Rows[i].Kind == downtime.Booked {
			n++
		}
	}
	return n
}

// kitWriter writes the sheets of a kit in one language.
type kitWriter struct {
	words     *words.Language
	separator rune // of a spreadsheet
	kit       *downtime.Kit
	zone      *time.Location // of the clinic
}

// The columns of a kit as a spreadsheet, and those of a sheet on paper.
var (
	kitColumns = []string{"date", "start", "end", "specialist", "kind", "name", "birthDate", "phone", "appointmentType",
		"room", "place", "notes"}
	kitHeads = []string{"time", "patient", "phone", "what", "room", "notes"}
)

// text returns one of the plan's texts in the writer's language.
func (w *kitWriter) text(key string) string { return w.words.Text("plan." + key) }

// csvHead returns the first line of a spreadsheet.
func (w *kitWriter) csvHead() string {
	cells := make([]string, len(kitColumns))
	for i, column := range kitColumns {
		cells[i] = w.text("column." + column)
	}
	return w.csvLine(cells)
}

// blankLines is the number of empty lines below a sheet, for patients without an appointment.
const blankLines = 4

func (w *kitWriter) csvLine(cells []string) string {
	var b strings.Builder
	out := csv.NewWriter(&b)
	out.Comma, out.UseCRLF = w.separator, true
	_ = out.Write(cells) // writing to memory cannot fail
	out.Flush()
	return b.String()
}

// csv returns the CSV lines of a sheet.
func (w *kitWriter) csv(x *downtime.Sheet) string {
	var b strings.Builder
	for i := range x.Rows {
		r := &x.Rows[i]
		cells := []string{x.Date.String(), r.Start.In(x.Zone).Format("15:04"), r.End.In(x.Zone).Format("15:04"),
			x.Specialist, w.text("kind." + string(r.Kind)), "", "", "", "", r.Rooms, r.Place, r.Reason}
		if a := r.Appointment; a != nil {
			cells[5], cells[6], cells[7], cells[8], cells[11] = a.Patient.Name, a.Patient.BirthDate, a.Patient.Phone,
				r.Type, w.notes(a)
		}
		for j := range cells {
			cells[j] = sheet.Guarded(cells[j], w.separator)
		}
		b.WriteString(w.csvLine(cells))
	}
	return b.String()
}

// notes returns all notes of an appointment.
func (w *kitWriter) notes(a *store.Appointment) string {
	var said []string
	if a.Overbook {
		said = append(said, w.text("overbooked"))
	}
	if a.Intake.NewPatient {
		said = append(said, w.text("newPatient"))
	}
	if a.Patient.Notes != "" {
		said = append(said, a.Patient.Notes)
	}
	for _, answer := range a.Intake.Answers {
		said = append(said, answer.Question+": "+answer.Value)
	}
	return strings.Join(said, "; ")
}

// sheet returns the HTML section of one sheet.
func (w *kitWriter) sheet(x *downtime.Sheet) string {
	var b strings.Builder
	hours := make([]string, len(x.Hours))
	for i, h := range x.Hours {
		hours[i] = h.Start.String() + "–" + h.End.String()
	}
	date := time.Date(x.Date.Year, x.Date.Month, x.Date.Day, 0, 0, 0, 0, time.UTC)
	b.WriteString(`<section class="plan-sheet"><header><h2>` + bdi(x.Specialist) + `</h2><p>` + esc(w.words.Day(date)) +
		`</p><p>` + esc(strings.Join(hours, ", ")) + `</p></header><table><thead><tr><td></td>`)
	for _, head := range kitHeads {
		b.WriteString(`<th scope="col">` + esc(w.text("head."+head)) + `</th>`)
	}
	b.WriteString(`</tr></thead><tbody>`)
	for i := range x.Rows {
		w.row(&b, x, &x.Rows[i])
	}
	for range blankLines {
		b.WriteString(`<tr class="blank"><td><i></i></td><td></td><td></td><td></td><td></td><td></td><td></td></tr>`)
	}
	made := w.kit.MadeAt.In(w.zone)
	b.WriteString(`</tbody></table><footer><span>` + bdi(w.kit.Clinic) + `, ` + esc(x.Zone.String()) + `</span><span>` +
		esc(w.words.Fill("plan.asOf", "n", strconv.Itoa(appointmentsOn(x)), "day", w.words.Day(made), "time",
			made.Format("15:04"))) + `</span></footer></section>`)
	return b.String()
}

func (w *kitWriter) row(b *strings.Builder, x *downtime.Sheet, r *downtime.Row) {
	when := clinic.Clock(r.Start.In(x.Zone)) + "–" + clinic.Clock(r.End.In(x.Zone))
	a := r.Appointment
	if a == nil {
		b.WriteString(`<tr class="` + string(r.Kind) + `"><td></td><td>` + when + `</td><td colspan="5">` +
			esc(w.text("kind."+string(r.Kind))))
		for _, more := range []string{r.Place, r.Reason} {
			if more != "" {
				b.WriteString(`: ` + bdi(more))
			}
		}
		b.WriteString(`</td></tr>`)
		return
	}
	born := ""
	if date, err := store.ParseDate(a.Patient.BirthDate); err == nil {
		born = ` <small>` + esc(w.text("born")) + ` ` +
			w.words.BirthDate(time.Date(date.Year, date.Month, date.Day, 0, 0, 0, 0, time.UTC)) + `</small>`
	}
	where := r.Rooms
	if r.Place != "" {
		where = strings.TrimPrefix(where+", "+r.Place, ", ")
	}
	b.WriteString(`<tr><td><i></i></td><td>` + when + `</td><td><b>` + bdi(a.Patient.Name) + `</b>` + born +
		`</td><td>` + bdi(a.Patient.Phone) + `</td><td>` + bdi(r.Type) + `</td><td>` + bdi(where) + `</td><td>` +
		bdi(w.notes(a)) + `</td></tr>`)
}

// page returns all sheets as one self-contained page, which a browser can save and open without a network.
func (w *kitWriter) page(style []byte) []byte {
	var b strings.Builder
	title := esc(w.text("title") + " – " + w.kit.Clinic)
	b.WriteString(`<!doctype html><html lang="` + w.words.Tag +
		`"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>` +
		title + `</title><style>` + string(style) + `</style></head><body class="plan-alone"><main><h1>` + title +
		`</h1>`)
	if len(w.kit.Sheets) == 0 {
		b.WriteString(`<p>` + esc(w.text("none")) + `</p>`)
	}
	for i := range w.kit.Sheets {
		b.WriteString(w.sheet(&w.kit.Sheets[i]))
	}
	b.WriteString("</main></body></html>\n")
	return []byte(b.String())
}

func esc(text string) string { return html.EscapeString(text) }

// bdi isolates user-entered text, so that its writing direction does not affect the rest.
func bdi(text string) string { return "<bdi>" + esc(text) + "</bdi>" }

// byHandBody contains the bookings that the desk wrote on paper while the server was unreachable.
type byHandBody struct {
	clientBody
	Rows []byHandRowBody `json:"rows"`
}

type byHandRowBody struct {
	AppointmentTypeID string `json:"appointmentTypeId"`
	SpecialistID      string `json:"specialistId"`
	SlotStartDate     string `json:"slotStartDate"`
}

// verdictJSON is the result of checking one row.
type verdictJSON struct {
	Outcome      string             `json:"outcome"`
	Reason       string             `json:"reason,omitempty"`
	Row          int                `json:"row,omitempty"` // number of the earlier row it conflicts with, from 1
	Appointments []obstacleBodyJSON `json:"appointments,omitempty"`
}

type obstacleBodyJSON struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	SlotStartDate string `json:"slotStartDate"`
	SlotEndDate   string `json:"slotEndDate"`
}

// checkByHand is `POST /v1/downtime-kit/check`. It changes nothing, so its response is not stored for a repeated
// request.
func (s *Server) checkByHand(c *call, b *byHandBody) error {
	c.once = nil
	m := &c.wrong
	rows := make([]downtime.Written, len(b.Rows))
	for i, r := range b.Rows {
		at := "rows[" + strconv.Itoa(i) + "]."
		if !record.ValidID(r.AppointmentTypeID) {
			m.add(at+"appointmentTypeId", "must be the id of an appointment type")
		}
		if !record.ValidID(r.SpecialistID) {
			m.add(at+"specialistId", "must be the id of a specialist")
		}
		if !c.caller.reaches(r.SpecialistID) {
			return errForbidden.with("You can enter appointments in your own calendar only.")
		}
		if r.SlotStartDate == "" {
			m.add(at+"slotStartDate", "is missing: an instant like 2026-11-23T09:00:00Z")
		}
		rows[i] = downtime.Written{AppointmentTypeID: r.AppointmentTypeID, SpecialistID: r.SpecialistID,
			Start: m.instant(at+"slotStartDate", r.SlotStartDate)}
	}
	verdicts, err := s.engine.Downtime.Check(c.ctx(), rows)
	if err != nil {
		return err
	}
	said := make([]verdictJSON, len(verdicts))
	for i, v := range verdicts {
		said[i] = verdictJSON{Outcome: string(v.Outcome), Reason: v.Reason, Row: v.Row}
		for j := range v.Appointments {
			a := &v.Appointments[j]
			said[i].Appointments = append(said[i].Appointments,
				obstacleBodyJSON{a.ID, a.Patient.Name, httpTime(a.SlotStart), httpTime(a.SlotEnd)})
		}
	}
	return c.json(http.StatusOK, map[string][]verdictJSON{"rows": said})
}
