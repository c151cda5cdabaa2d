package web

import (
	"net/http"
	"strings"
	"time"

	"holdfast/engine/outbound"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// The queue of outbound calls, for staff and programs. Only the front desk gets names.

// operationJSON is one operation of the queue.
type operationJSON struct {
	ID            string  `json:"id"`
	Kind          string  `json:"kind"`
	Status        string  `json:"status"`
	NeedsReview   bool    `json:"needsReview"`
	Attempts      int     `json:"attempts"`
	MaxAttempts   int     `json:"maxAttempts"`
	CreatedAt     string  `json:"createdAt"`
	NextRetryAt   *string `json:"nextRetryAt"` // null unless the operation waits
	FinishedAt    string  `json:"finishedAt,omitempty"`
	LastError     *string `json:"lastError"`           // null if there was none, or if the operation completed anyway
	StartTime     string  `json:"startTime,omitempty"` // in clinic time, "11/23/2026 10:00 AM"
	SlotStartDate string  `json:"slotStartDate,omitempty"`
	AppointmentID string  `json:"appointmentId,omitempty"`
	ChildName     *string `json:"childName,omitempty"` // front desk only
}

func operationOf(o *outbound.QueuedOperation, zone *time.Location, names bool) operationJSON {
	j := operationJSON{
		ID: o.ID, Kind: string(o.Kind), Status: string(o.Status), NeedsReview: o.NeedsReview, Attempts: o.Attempts,
		MaxAttempts: o.MaxAttempts, CreatedAt: httpTime(o.CreatedAt), FinishedAt: optionalTime(o.FinishedAt),
		AppointmentID: o.AppointmentID, SlotStartDate: optionalTime(o.StartTime),
	}
	if !o.StartTime.IsZero() {
		j.StartTime = upstream.FormatTime(o.StartTime, zone)
	}
	if !o.NextRetryAt.IsZero() {
		next := o.NextRetryAt.UTC().Format(time.RFC3339)
		j.NextRetryAt = &next
	}
	if o.LastError != "" && o.Status != store.OperationCompleted {
		j.LastError = &o.LastError
	}
	if names {
		j.ChildName = &o.ChildName
	}
	return j
}

// seesNames reports whether the caller may see the name of the person whom an operation concerns.
func (c *call) seesNames() bool { return c.caller.may(frontDesk) }

// queueKinds returns the kinds of operations that a word selects, and false if the word is unknown. An empty word
// selects the bookings, because agents and the desk check whether the practice-management system has them. An empty
// list means all kinds.
func queueKinds(word string) ([]store.OperationKind, bool) {
	var kinds []store.OperationKind
	for _, k := range store.Kinds() {
		group, _, _ := strings.Cut(string(k), ".")
		switch {
		case word == string(k), word == group, word == "mail" && k == store.Email, (word == "" || word == "bookings") &&
			group == "upstream":
			kinds = append(kinds, k)
		}
	}
	return kinds, word == "all" || len(kinds) > 0
}

func (s *Server) queueStatus(c *call) error {
	q := c.query()
	kinds, ok := queueKinds(q.text("kind"))
	if !ok {
		q.add("kind", "must be bookings (the default), webhook, mail, sms, all, or one kind such as upstream.book")
	}
	f := outbound.QueueFilter{
		Kinds: kinds, Status: store.OperationStatus(q.text("status")), After: q.id("after"),
		Limit: q.whole("limit", 1, 500, 100), Names: c.seesNames(),
	}
	if c.caller.scope == store.ScopeAgent {
		f.By = c.caller.keyID
	}
	switch f.Status {
	case "", store.OperationPending, store.OperationProcessing, store.OperationCompleted, store.OperationFailed:
	default:
		q.add("status", "must be pending, processing, completed or failed")
	}
	if err := q.err(); err != nil {
		return err
	}
	status, err := s.engine.Outbound.Status(c.ctx(), f)
	if err != nil {
		return err
	}
	list := each(status.Operations, func(op *outbound.QueuedOperation) operationJSON {
		return operationOf(op, s.engine.Clinic.Zone(), f.Names)
	})
	n := status.OperationCounts
	return c.json(http.StatusOK, struct {
		Total      int             `json:"total"`
		Pending    int             `json:"pending"`
		Processing int             `json:"processing"`
		Completed  int             `json:"completed"`
		Failed     int             `json:"failed"`
		Scheduled  int             `json:"scheduled"` // emails to be sent later, such as reminders
		Operations []operationJSON `json:"operations"`
	}{n.Pending + n.Processing + n.Completed + n.Failed, n.Pending, n.Processing, n.Completed, n.Failed,
		status.Scheduled, list})
}

func (s *Server) retryOperation(c *call) error {
	if err := s.engine.Outbound.Retry(c.ctx(), c.caller.actor, c.param("id")); err != nil {
		return err
	}
	return c.sayOperation()
}

// retriedJSON counts the failed operations that were queued again.
type retriedJSON struct {
	OK      bool `json:"ok"`
	Retried int  `json:"retried"`
	Left    int  `json:"left"` // operations that need a person's decision or are running
}

func (s *Server) retryFailed(c *call) error {
	r, err := s.engine.Outbound.RetryFailed(c.ctx(), c.caller.actor)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, retriedJSON{true, r.Retried, r.Left})
}

type reviewBody struct {
	Decision string `json:"decision"`
}

func (s *Server) reviewOperation(c *call, b *reviewBody) error {
	d := outbound.Decision(b.Decision)
	if err := s.engine.Outbound.Review(c.ctx(), c.caller.actor, c.param("id"), d); err != nil {
		return err
	}
	if d == outbound.DecisionGiveUp {
		return c.done(nil)
	}
	return c.sayOperation()
}

func (s *Server) giveUpOperation(c *call) error {
	return c.done(s.engine.Outbound.GiveUp(c.ctx(), c.caller.actor, c.param("id")))
}

// sayOperation responds with the current state of an operation.
func (c *call) sayOperation() error {
	o, err := c.engine.Outbound.Operation(c.ctx(), c.param("id"), c.seesNames())
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]any{"ok": true,
		"operation": operationOf(&o, c.engine.Clinic.Zone(), c.seesNames())})
}
