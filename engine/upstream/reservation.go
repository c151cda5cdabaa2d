package upstream

import (
	"context"
	"strconv"
	"strings"
	"time"
)

const getReservations = "GetOnlineReservations"

// Openings specifies which of the upstream's online openings to request.
type Openings struct {
	// both ends inclusive; a response is limited to 1 MiB, so request days, not months
	From, To             time.Time
	Zone                 *time.Location // the clinic's zone; required
	Morning, Afternoon   bool           // neither means both
	ScheduleViewGUIDs    []string       // none means all
	AppointmentTypeGUIDs []string       // none means all
}

// Opening is one interval that the upstream offers.
type Opening struct {
	Start              time.Time // UTC
	Minutes            int
	ScheduleViewGUID   string
	ScheduleColumnGUID string
	// AppointmentTypeGUID is the requested type if exactly one was requested, because the upstream leaves the field
	// empty.
	AppointmentTypeGUID string
}

// GetOnlineReservations lists the openings in the upstream's order. It leaves out unreadable records: the only effect
// is that their openings are not offered. dropped is the number of such records, for the log.
func (c *Client) GetOnlineReservations(ctx context.Context, o Openings) (list []Opening, dropped int, err error) {
	if o.Zone == nil || o.From.IsZero() || o.To.Before(o.From) {
		return nil, 0, &Error{Procedure: getReservations, Class: Misconfigured,
			Detail: "the range is empty, or the clinic's time zone is not known"}
	}
	if !o.Morning && !o.Afternoon {
		o.Morning, o.Afternoon = true, true
	}
	a, err := c.call(ctx, getReservations, parameters{
		{"startDate", formatSeconds(o.From, o.Zone)},
		{"endDate", formatSeconds(o.To, o.Zone)},
		{"morning", title(o.Morning)},
		{"afternoon", title(o.Afternoon)},
		{"schdvwGUIDs", strings.Join(o.ScheduleViewGUIDs, "|")},
		{"appttypGUIDs", strings.Join(o.AppointmentTypeGUIDs, "|")},
	})
	if err != nil {
		return nil, 0, err
	}
	for _, r := range a.records {
		opening, ok := r.opening(o)
		if !ok {
			dropped++
			continue
		}
		list = append(list, opening)
	}
	return list, dropped, nil
}

func (r record) opening(o Openings) (Opening, bool) {
	start, err := ParseTime(r.first("starttime", "appointmentstarttime"), o.Zone)
	if err != nil {
		return Opening{}, false
	}
	minutes, err := strconv.Atoi(r.first("minutes", "appointmentminutes"))
	if err != nil || minutes <= 0 {
		return Opening{}, false
	}
	each := Opening{
		Start:               start,
		Minutes:             minutes,
		ScheduleViewGUID:    r.first("scheduleviewguid", "schdvwguid"),
		ScheduleColumnGUID:  r.first("schedulecolumnguid", "schdcolguid"),
		AppointmentTypeGUID: r.first("appointmenttypeguid", "appttypguid"),
	}
	if each.AppointmentTypeGUID == "" && len(o.AppointmentTypeGUIDs) == 1 {
		each.AppointmentTypeGUID = o.AppointmentTypeGUIDs[0]
	}
	return each, ValidGUID(each.ScheduleViewGUID) && ValidGUID(each.ScheduleColumnGUID)
}

func title(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
