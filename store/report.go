package store

import (
	"context"
	"time"
)

// AppointmentCount counts the appointments with one source, status and attendance in a range of time.
type AppointmentCount struct {
	Source     Source
	Status     Status
	Attendance Attendance
	N          int
	Started    int           // those that started before now
	Lead       time.Duration // the sum of the times from booking to start
}

// ReportReader counts rows for reports. Its results contain no patient data.
type ReportReader interface {
	// AppointmentCounts counts the appointments that start in [from, to), overbooked ones included.
	AppointmentCounts(ctx context.Context, from, to, now time.Time) ([]AppointmentCount, error)
	// BookedTime returns the sum of the confirmed slots that start in [from, to), by specialist. The seats of one group
	// session count once.
	BookedTime(ctx context.Context, from, to time.Time) (map[string]time.Duration, error)
	// ActionCounts counts the audit entries in [from, to) with one of these actions.
	ActionCounts(ctx context.Context, from, to time.Time, actions []string) (map[string]int, error)
}
