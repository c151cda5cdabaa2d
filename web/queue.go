package web

import (
	"net/http"
	"time"

	"holdfast/engine"
	"holdfast/store"
)

// The queue of outbound calls, as people and programs look at it. Names are for the front desk alone.

// operationJSON is one operation.
type operationJSON struct {
	ID            string  `json:"id"`
	Kind          string  `json:"kind"`
	Status        string  `json:"status"`
	NeedsReview   bool    `json:"needsReview"`
	Attempts      int     `json:"attempts"`
	MaxAttempts   int     `json:"maxAttempts"`
	CreatedAt     string  `json:"createdAt"`
	NextRetryAt   *string `json:"nextRetryAt"` // null unless it waits
	FinishedAt    string  `json:"finishedAt,omitempty"`
	LastError     *string `json:"lastError"` // null if there was none, or it is done all the same
	StartTime     string  `json:"startTime,omitempty"`
	SlotStartDate string  `json:"slotStartDate,omitempty"`
	AppointmentID string  `json:"appointmentId,omitempty"`
	ChildName     *string `json:"childName,omitempty"` // for the front desk
}

func operationOf(o *engine.QueuedOperation, names bool) operationJSON {
	j := operationJSON{
		ID: o.ID, Kind: string(o.Kind), Status: string(o.Status), NeedsReview: o.NeedsReview, Attempts: o.Attempts, MaxAttempts: o.MaxAttempts,
		CreatedAt: httpTime(o.CreatedAt), FinishedAt: optionalTime(o.FinishedAt), StartTime: o.StartTime, AppointmentID: o.AppointmentID,
		SlotStartDate: optionalTime(o.Operation.StartTime),
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

// seesNames reports whether the caller may know who an operation is for.
func (c *call) seesNames() bool { return c.caller.may(frontDesk) }

func (s *Server) queueStatus(c *call) error {
	q := c.query()
	f := engine.QueueFilter{
		Status: store.OperationStatus(q.text("status")), After: q.id("after"), Limit: q.whole("limit", 1, 500, 100), Names: c.seesNames(),
	}
	switch f.Status {
	case "", store.OperationPending, store.OperationProcessing, store.OperationCompleted, store.OperationFailed:
	default:
		q.add("status", "must be pending, processing, completed or failed")
	}
	if err := q.err(); err != nil {
		return err
	}
	status, err := s.engine.QueueStatus(c.ctx(), f)
	if err != nil {
		return err
	}
	list := make([]operationJSON, len(status.Operations))
	for i := range status.Operations {
		list[i] = operationOf(&status.Operations[i], f.Names)
	}
	n := status.OperationCounts
	return c.json(http.StatusOK, struct {
		Total      int             `json:"total"`
		Pending    int             `json:"pending"`
		Processing int             `json:"processing"`
		Completed  int             `json:"completed"`
		Failed     int             `json:"failed"`
		Operations []operationJSON `json:"operations"`
	}{n.Pending + n.Processing + n.Completed + n.Failed, n.Pending, n.Processing, n.Completed, n.Failed, list})
}

func (s *Server) retryOperation(c *call) error {
	if err := s.engine.RetryOperation(c.ctx(), c.caller.actor, c.param("id")); err != nil {
		return err
	}
	return c.sayOperation()
}

type reviewBody struct {
	Decision string `json:"decision"`
}

func (s *Server) reviewOperation(c *call, b *reviewBody) error {
	d := engine.Decision(b.Decision)
	if err := s.engine.ReviewOperation(c.ctx(), c.caller.actor, c.param("id"), d); err != nil {
		return err
	}
	if d == engine.DecisionGiveUp {
		return c.done()
	}
	return c.sayOperation()
}

func (s *Server) giveUpOperation(c *call) error {
	if err := s.engine.GiveUpOperation(c.ctx(), c.caller.actor, c.param("id")); err != nil {
		return err
	}
	return c.done()
}

// sayOperation answers with the operation as it is now.
func (c *call) sayOperation() error {
	o, err := c.engine.Operation(c.ctx(), c.param("id"), c.seesNames())
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]any{"ok": true, "operation": operationOf(&o, c.seesNames())})
}
