package web

import (
	"net/http"

	"holdfast/engine/occupancy"
)

// The state of the practice-management system for the desk: the age of its openings, and the times that it has refused.

type upstreamStatusJSON struct {
	Configured bool          `json:"configured"`
	Openings   openingsJSON  `json:"openings"`
	Closures   []closureJSON `json:"closures"` // the oldest refusal first
}

type openingsJSON struct {
	Fetched       bool               `json:"fetched"` // openings are fetched in advance; the page offers only these
	MaxAgeSeconds int                `json:"maxAgeSeconds"`
	FailedSince   string             `json:"failedSince,omitempty"`
	Reason        string             `json:"reason,omitempty"`
	Types         []openingsTypeJSON `json:"types"`
}

type openingsTypeJSON struct {
	AppointmentTypeID string `json:"appointmentTypeId"`
	Used              bool   `json:"used"`
	Days              int    `json:"days"`
	Oldest            string `json:"oldest"`
	Newest            string `json:"newest"`
}

type closureJSON struct {
	SpecialistID  string `json:"specialistId"`
	SlotStartDate string `json:"slotStartDate"`
	SlotEndDate   string `json:"slotEndDate"`
	Since         string `json:"since"`
	Until         string `json:"until"` // the latest end of the closure
}

func (s *Server) upstreamStatus(c *call) error {
	limits, configured := s.engine.Practice.Options.Limits, s.engine.Practice.IsConnected()
	since, why := s.engine.Practice.OpeningsFailed()
	answer := upstreamStatusJSON{
		Configured: configured,
		Openings: openingsJSON{
			Fetched: configured && limits.OpeningsEvery > 0, MaxAgeSeconds: int(limits.OpeningsMaxAge.Seconds()),
			FailedSince: optionalTime(since), Reason: why, Types: []openingsTypeJSON{},
		},
		Closures: []closureJSON{},
	}
	for _, k := range s.engine.Booking.OpeningsKnown() {
		answer.Openings.Types = append(answer.Openings.Types,
			openingsTypeJSON{k.AppointmentTypeID, k.Used, k.Days, httpTime(k.Oldest), httpTime(k.Newest)})
	}
	for _, x := range s.engine.Booking.Closed() {
		answer.Closures = append(answer.Closures, closureJSON{x.SpecialistID,
			httpTime(x.Start), httpTime(x.End), httpTime(x.Since), httpTime(x.Since.Add(occupancy.ClosedFor))})
	}
	return c.json(http.StatusOK, answer)
}
