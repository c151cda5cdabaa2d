package store

import (
	"context"
	"time"
)

// Delivery is the outcome of one notice about one appointment.
type Delivery struct {
	OperationID   string // the operation that delivers it
	AppointmentID string
	Channel       string // email, webhook, upstream
	Notice        string // such as "confirmation", "appointment.created"
	State         string // queued, delivered, failed, needs_review, not_needed
	Detail        string // readable text; never personal data
	UpdatedAt     time.Time
}

// DeliveryReader reads deliveries.
type DeliveryReader interface {
	// Deliveries lists the deliveries of one appointment in the order in which they were first stored. The database
	// numbers the deliveries, so neither the ids of the operations nor the clocks of the nodes affect the order.
	Deliveries(ctx context.Context, appointmentID string) ([]Delivery, error)
}

// DeliveryWriter records deliveries.
type DeliveryWriter interface {
	// PutDelivery inserts or replaces by operation id. An empty Notice leaves the stored one unchanged.
	PutDelivery(ctx context.Context, d Delivery) error
	// ForgetDeliveries removes up to limit deliveries whose operation was created before the instant (the
	// operation's id contains its time), and which have not changed since the instant. It keeps those that are still
	// queued, such as the message about a recall in three years. It returns how many.
	ForgetDeliveries(ctx context.Context, before time.Time, limit int) (int, error)
}
