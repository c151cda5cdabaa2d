package web

import (
	"cmp"
	"time"

	"holdfast/engine/report"
	"holdfast/store"
)

// periodJSON is one week or month of a report. It contains no patient data.
type periodJSON struct {
	From         string            `json:"from"`
	To           string            `json:"to"`
	Booked       map[string]int    `json:"booked"`
	Appointments int               `json:"appointments"`
	Cancelled    int               `json:"cancelled"`
	Started      int               `json:"started"`
	NoShows      int               `json:"noShows"`
	LeadHours    float64           `json:"leadHours"`
	Specialists  []useJSON         `json:"specialists"`
	Waitlist     waitlistCountJSON `json:"waitlist"`
}

type useJSON struct {
	SpecialistID  string `json:"specialistId"`
	OpenMinutes   int    `json:"openMinutes"`
	BookedMinutes int    `json:"bookedMinutes"`
}

type waitlistCountJSON struct {
	Joined   int `json:"joined"`
	Offered  int `json:"offered"`
	Accepted int `json:"accepted"`
	Booked   int `json:"booked"`
}

// getReports is `GET /v1/reports?by=week&from=&to=`. Without dates, it covers the last 12 weeks or months.
func (s *Server) getReports(c *call) error {
	q := c.query()
	now := time.Now()
	step := report.Step(cmp.Or(q.text("by"), string(report.Week)))
	from, to := q.date("from"), q.date("to")
	if err := q.err(); err != nil {
		return err
	}
	if to == (store.Date{}) {
		to = store.DateOf(now.In(s.engine.Clinic.Zone())).AddDays(1)
	}
	if from == (store.Date{}) {
		days := 11 * 7
		if step == report.Month {
			days = 334
		}
		from = to.AddDays(-1 - days)
	}
	list, err := s.engine.Report.Count(c.ctx(), step, from, to, now)
	return answerList(c, "periods", list, err, periodOf)
}

func periodOf(p *report.Period) periodJSON {
	j := periodJSON{
		From: p.From.String(), To: p.To.String(), Booked: map[string]int{}, Appointments: p.Appointments,
		Cancelled: p.Cancelled, Started: p.Started, NoShows: p.NoShows,
		LeadHours: p.Lead.Round(6 * time.Minute).Hours(), Specialists: []useJSON{},
		Waitlist: waitlistCountJSON(p.Waitlist),
	}
	for source, n := range p.Booked {
		j.Booked[string(source)] = n
	}
	for _, u := range p.Specialists {
		j.Specialists = append(j.Specialists, useJSON{u.SpecialistID, int(u.Open.Minutes()), int(u.Booked.Minutes())})
	}
	return j
}
