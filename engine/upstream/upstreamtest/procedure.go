package upstreamtest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/upstream"
)

const defaultDelay = 30 * time.Second

// reply is the response to a request: records under Success, or an ErrorMessage under Error.
type reply struct {
	outcome Outcome
	delay   time.Duration
	message string
	records [][]field
}

type field struct{ name, value string }

func result(text string) [][]field { return [][]field{{{"Result", text}}} }

func failed(message string) reply { return reply{outcome: OK, message: message} }

// answer handles one request at an instant.
func (s *Server) answer(r request, now time.Time) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(now)
	call := Call{At: now, Procedure: r.Procedure, PatientGUID: r.guid("patientguid", "patguid"), Outcome: OK}
	if r.Procedure == "SetAppointment" {
		call.ScheduleColumnGUID = r.guid("schedulecolumnguid")
		if start, err := upstream.ParseTime(r.value("starttime"), s.options.Zone); err == nil {
			call.Start = start
		}
	}
	var out reply
	switch {
	case !s.known(r):
		call.Outcome = Unauthorized
		out = failed("Invalid user name or password")
	case r.Procedure == "SetAppointment" && !s.admit(now):
		call.Outcome = RateLimited
		out = failed("Too many requests")
	default:
		step := s.step(call)
		call.Outcome = step.Outcome
		out, call.Applied = s.act(r, call, step, now)
	}
	s.calls = append(s.calls, call)
	return out
}

// known reports whether a request contains the required credentials.
func (s *Server) known(r request) bool {
	same := func(want, got string) bool { return want == "" || want == got }
	return same(s.options.ClientID, r.ClientID) && same(s.options.User, r.UserName) &&
		same(s.options.Password, r.Password)
}

// admit reports whether a write is within the limit of the last minute, and counts it.
func (s *Server) admit(now time.Time) bool {
	if s.options.WritesPerMinute <= 0 {
		return true
	}
	s.let = slices.DeleteFunc(s.let, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(s.let) >= s.options.WritesPerMinute {
		return false
	}
	s.let = append(s.let, now)
	return true
}

// step returns the next line of the script for a call.
func (s *Server) step(call Call) Step {
	step := Step{Outcome: OK}
	if lines := s.script[call.Procedure]; len(lines) > 0 {
		step, s.script[call.Procedure] = lines[0], lines[1:]
	} else if s.options.Decide != nil {
		step = s.options.Decide(call)
	}
	if step.Outcome == "" {
		step.Outcome = OK
	}
	if step.Delay == 0 && (step.Outcome == Slow || step.Outcome == Late) {
		step.Delay = defaultDelay
	}
	return step
}

// act carries out a step and reports whether something was (or will be) written.
func (s *Server) act(r request, call Call, step Step, now time.Time) (out reply, applied bool) {
	refuse := func(out reply) (reply, bool) {
		out.outcome, out.delay = OK, step.Delay
		return out, false
	}
	switch step.Outcome {
	case RateLimited:
		return refuse(failed("Too many requests"))
	case SlotTaken:
		return refuse(reply{records: result("Error: The selected slot is not available")})
	case AlreadyBooked:
		return refuse(failed("The patient is already booked at this time"))
	case PatientUnknown:
		return refuse(reply{records: result("Error: Patient does not exist")})
	case Unauthorized:
		return refuse(failed("Invalid user name or password"))
	case LostNotApplied:
		return reply{outcome: step.Outcome, delay: step.Delay}, false
	case Half, Garbage, WrongRoot, ServerError:
		if !step.Applied {
			// This is half of a success response, even though nothing was written.
			return reply{outcome: step.Outcome, delay: step.Delay,
				records: result("Appointment GUID Added: " + s.guid())}, false
		}
	}
	later := time.Time{}
	if step.Outcome == Late {
		later = now.Add(step.Delay)
		step.Delay = 0
	}
	out, applied = s.procedure(r, call, later)
	out.outcome, out.delay = step.Outcome, step.Delay
	if step.Outcome == OKNoGUID && applied {
		out.records = result("Appointment successfully created")
	}
	return out, applied
}

// procedure carries out a request. If later is not zero, it postpones the write until then.
func (s *Server) procedure(r request, call Call, later time.Time) (reply, bool) {
	unknown := s.options.Patients != nil && !s.patients[call.PatientGUID]
	switch r.Procedure {
	case "SetPatient":
		birth, _, _ := strings.Cut(r.value("birthdaydatetime"), "T")
		guid := s.addPatient(Patient{
			FirstName: r.value("patientfirstname"), LastName: r.value("patientlastname"), BirthDate: birth,
			Phone: r.value("phonenumber"), Email: r.value("email"),
		})
		return reply{records: result("Patient Added: " + guid)}, true
	case "GetPortalPatientLookup", "GetPatientInformation":
		if s.options.NoLookup {
			return failed("Procedure is not authorized"), false
		}
		if r.Procedure == "GetPatientInformation" {
			return s.information(call.PatientGUID), false
		}
		return s.lookUp(r.value("filter")), false
	case "SetPatientComment":
		if unknown {
			return reply{records: result("Error: Patient does not exist")}, false
		}
		s.comments[call.PatientGUID] = append(s.comments[call.PatientGUID], r.value("patcomment"))
		return reply{records: result("Patient Comment Added")}, true
	case "SetAppointment":
		if unknown {
			return reply{records: result("Error: Patient does not exist")}, false
		}
		return s.setAppointment(r, call, later)
	case "SetAppointmentStatusCanceled":
		for _, i := range s.index[r.guid("apptguid")] {
			a := s.appointments[i]
			if a.GUID != r.guid("apptguid") {
				continue
			}
			if a.Cancelled {
				return failed("Appointment already canceled"), false
			}
			s.appointments[i].Cancelled = true
			return reply{records: result("Appointment Status Canceled: " + a.GUID)}, true
		}
		return failed("Appointment does not exist"), false
	case "GetAppointmentListByPatient":
		if unknown {
			return reply{records: result("Error: Patient does not exist")}, false
		}
		return s.list(call.PatientGUID), false
	case "GetOnlineReservations":
		return s.openings(r), false
	}
	return failed("Unknown procedure"), false
}

func (s *Server) setAppointment(r request, call Call, later time.Time) (reply, bool) {
	minutes, err := strconv.Atoi(r.value("minutes"))
	a := Appointment{
		PatientGUID: call.PatientGUID, Start: call.Start, Minutes: minutes,
		ScheduleViewGUID: r.guid("scheduleviewguid"), ScheduleColumnGUID: call.ScheduleColumnGUID,
		AppointmentTypeGUID: r.guid("appointmenttypeguid"),
	}
	switch {
	case a.Start.IsZero():
		return failed("StartTime is not valid"), false
	case err != nil || minutes <= 0:
		return failed("Minutes is not valid"), false
	case !upstream.ValidGUID(a.PatientGUID), !upstream.ValidGUID(a.ScheduleViewGUID),
		!upstream.ValidGUID(a.ScheduleColumnGUID), !upstream.ValidGUID(a.AppointmentTypeGUID):
		return failed("A GUID is required"), false
	case s.options.RefuseTaken && s.taken(a.ScheduleColumnGUID, a.Start, minutes):
		return reply{records: result("Error: The selected slot is not available")}, false
	}
	a.GUID = s.guid()
	if later.IsZero() {
		s.hold(a)
	} else {
		s.late = append(s.late, due{later, a})
	}
	return reply{records: result("Appointment GUID Added: " + strings.ToUpper(a.GUID))}, true
}

// taken reports whether an appointment in the column overlaps the interval.
func (s *Server) taken(column string, start time.Time, minutes int) bool {
	end := start.Add(time.Duration(minutes) * time.Minute)
	return slices.ContainsFunc(s.index[column], func(i int) bool {
		a := s.appointments[i]
		return !a.Cancelled && a.ScheduleColumnGUID == column && a.Start.Before(end) &&
			start.Before(a.Start.Add(time.Duration(a.Minutes)*time.Minute))
	})
}

func (s *Server) list(patient string) reply {
	out := reply{records: [][]field{}}
	for _, i := range s.index[patient] {
		a := s.appointments[i]
		if a.PatientGUID != patient {
			continue
		}
		status := "Scheduled"
		if a.Cancelled {
			status = "Canceled"
		}
		out.records = append(out.records, []field{
			{"AppointmentGUID", strings.ToUpper(a.GUID)}, {"PatientGUID", a.PatientGUID},
			{"AppointmentDateTime", a.Start.In(s.options.Zone).Format("1/2/2006 3:04:05 PM")},
			{"AppointmentMinutes", strconv.Itoa(a.Minutes)}, {"AppointmentTypeGUID", a.AppointmentTypeGUID},
			{"ScheduleViewGUID", a.ScheduleViewGUID}, {"ScheduleColumnGUID", strings.ToUpper(a.ScheduleColumnGUID)},
			{"AppointmentStatusDescription", status},
		})
	}
	return out
}

// lookUp lists the patients with a name like "Last, First". Like the real systems, it matches parts of names, and
// returns neither a telephone number nor an email address.
func (s *Server) lookUp(filter string) reply {
	out := reply{records: [][]field{}}
	last, first, _ := strings.Cut(strings.ToLower(filter), ",")
	for _, p := range s.charts {
		if strings.HasPrefix(strings.ToLower(p.LastName), strings.TrimSpace(last)) &&
			strings.HasPrefix(strings.ToLower(p.FirstName), strings.TrimSpace(first)) {
			out.records = append(out.records, []field{
				{"PatientName", p.LastName + ", " + p.FirstName}, {"PatientBirthDate", american(p.BirthDate)},
				{"PatientGUID", strings.ToUpper(p.GUID)},
			})
		}
	}
	return out
}

// information returns all data about one patient.
func (s *Server) information(guid string) reply {
	for _, p := range s.charts {
		if p.GUID == guid {
			return reply{records: [][]field{{
				{"PatientFullName", p.FirstName + " " + p.LastName}, {"PatientBirthDate", american(p.BirthDate)},
				{"PatientEmail", p.Email}, {"PatientPhone", p.Phone},
			}}}
		}
	}
	return reply{records: result("Error: Patient does not exist")}
}

// american formats a date as the upstream writes dates of birth.
func american(date string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return ""
	}
	return t.Format("1/2/2006") + " 12:00:00 AM"
}

// openings lists the free intervals of the requested columns.
func (s *Server) openings(r request) reply {
	from, err := upstream.ParseTime(r.value("startdate"), s.options.Zone)
	to, err2 := upstream.ParseTime(r.value("enddate"), s.options.Zone)
	if err != nil || err2 != nil || to.Sub(from) > 366*24*time.Hour {
		return failed("startDate and endDate are required")
	}
	from, to = from.AddDate(0, 0, -s.options.ExtraDays), to.AddDate(0, 0, s.options.ExtraDays)
	views := strings.ToLower(r.value("schdvwguids"))
	out := reply{records: [][]field{}}
	for _, c := range s.options.Columns {
		if views != "" && !strings.Contains(views, strings.ToLower(c.ScheduleViewGUID)) {
			continue
		}
		for _, start := range c.starts(from, to, s.options.Zone) {
			half := "morning"
			if start.Hour() >= 12 {
				half = "afternoon"
			}
			if strings.EqualFold(r.value(half), "false") ||
				s.taken(strings.ToLower(c.ScheduleColumnGUID), start, c.length()) {
				continue
			}
			out.records = append(out.records, []field{
				{"StartTime", start.Format("1/2/2006 3:04:05 PM")}, {"Minutes", strconv.Itoa(c.length())},
				{"ScheduleViewGUID", c.ScheduleViewGUID}, {"ScheduleColumnGUID", c.ScheduleColumnGUID},
				{"AppointmentTypeGUID", ""},
			})
		}
	}
	return out
}

func (c Column) length() int {
	if c.Minutes == 0 {
		return 30
	}
	return c.Minutes
}

// starts returns the start times of the column's intervals in [from, to], in zone.
func (c Column) starts(from, to time.Time, zone *time.Location) []time.Time {
	if c.FromHour == 0 && c.ToHour == 0 {
		c.FromHour, c.ToHour = 9, 17
	}
	days := c.Weekdays
	if days == nil {
		days = []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday}
	}
	var out []time.Time
	year, month, first := from.In(zone).Date()
	for n := 0; ; n++ {
		day := time.Date(year, month, first+n, 12, 0, 0, 0, zone)
		opens := time.Date(day.Year(), day.Month(), day.Day(), c.FromHour, 0, 0, 0, zone)
		if opens.After(to) {
			return out
		}
		if !slices.Contains(days, day.Weekday()) {
			continue
		}
		closes := time.Date(day.Year(), day.Month(), day.Day(), c.ToHour, 0, 0, 0, zone)
		step := time.Duration(c.length()) * time.Minute
		for start := opens; !start.Add(step).After(closes); start = start.Add(step) {
			if !start.Before(from) && !start.After(to) {
				out = append(out, start)
			}
		}
	}
}
