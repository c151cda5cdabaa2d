package enginetest

import (
	"context"
	"time"

	"holdfast/engine/group"
	"holdfast/holds"
	"holdfast/store"
)

// Family returns a request for a visit with one person per type: a parent and children.
func Family(start time.Time, types ...string) group.VisitRequest {
	r := group.VisitRequest{SlotStart: start, Email: "vogt@example.org", Phone: "030 12345", Source: store.SourceStaff,
		Actor: Jo}
	for i, id := range types {
		r.People = append(r.People, group.Person{AppointmentTypeID: id,
			Patient: store.Patient{Name: []string{"Lena", "Mia", "Ben", "Ida", "Max", "Tom"}[i] + " Vogt"}})
	}
	return r
}

// MustVisit books a visit and fails the test if the visit is refused.
func (c *TestClinic) MustVisit(r group.VisitRequest) []store.Appointment {
	c.T.Helper()
	list, err := c.Group.Visit.Book(context.Background(), r)
	if err != nil {
		c.T.Fatalf("book a visit: %v", err)
	}
	return list
}

// HoldVisit holds the time for a visit for client n, with one appointment for each type, one after the other.
func (c *TestClinic) HoldVisit(n int, start time.Time, who string, types ...string) (holds.Hold, error) {
	return c.Group.Visit.Hold(context.Background(), group.HoldRequest{AppointmentTypeIDs: types,
		SlotStart: start, SpecialistID: who, Client: Client(n)})
}
