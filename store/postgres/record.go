package postgres

import (
	"encoding/json"
	"fmt"
	"time"

	"holdfast/store"
)

// record is a store.Change as the table changes stores it. Nodes that are one version apart must be able to read each
// other's records. The number of the change is a separate column.
type record struct {
	Noun      store.Noun          `json:"noun"`
	ID        string              `json:"id,omitempty"`
	Before    *takenRecord        `json:"before,omitempty"`
	After     *takenRecord        `json:"after,omitempty"`
	Stands    *takenRecord        `json:"stands,omitempty"`
	What      store.Kind          `json:"what,omitempty"`
	Version   int64               `json:"version,omitempty"`
	Owner     string              `json:"owner,omitempty"`
	Assigned  string              `json:"assigned,omitempty"`
	Status    store.SessionStatus `json:"status,omitempty"`
	ExpiresAt int64               `json:"expiresAt,omitempty"`
}

// takenRecord is a store.Taken; instants are Unix milliseconds. The appointment's id is that of the change.
type takenRecord struct {
	Type       string `json:"type"`
	Specialist string `json:"specialist"`
	Resources  string `json:"resources,omitempty"`
	Seat       int    `json:"seat,omitempty"`
	Overbook   bool   `json:"overbook,omitempty"`
	SlotStart  int64  `json:"slotStart"`
	SlotEnd    int64  `json:"slotEnd"`
	BusyStart  int64  `json:"busyStart"`
	BusyEnd    int64  `json:"busyEnd"`
}

// encodeChanges returns a JSON array of strings, each the JSON of a record.
func encodeChanges(changes []store.Change) (string, error) {
	texts := make([]string, len(changes))
	for i := range changes {
		c := &changes[i]
		r := record{
			Noun: c.Noun, ID: c.ID, Before: encodeTaken(c.Before), After: encodeTaken(c.After), What: c.What,
			Version: c.Version, Owner: c.Owner, Assigned: c.Assigned, Status: c.Session.Status,
		}
		if c.Stands != (store.Taken{}) {
			r.Stands = encodeTaken(&c.Stands)
		}
		if !c.Session.ExpiresAt.IsZero() {
			r.ExpiresAt = c.Session.ExpiresAt.UnixMilli()
		}
		text, err := json.Marshal(r)
		if err != nil {
			return "", fmt.Errorf("%w: a change of %s: %w", store.ErrInvalid, c.Noun, err)
		}
		texts[i] = string(text)
	}
	all, err := json.Marshal(texts)
	return string(all), err
}

func encodeTaken(t *store.Taken) *takenRecord {
	if t == nil {
		return nil
	}
	return &takenRecord{t.AppointmentTypeID, t.SpecialistID, string(t.Resources), t.Seat, t.Overbook,
		t.SlotStart.UnixMilli(), t.SlotEnd.UnixMilli(), t.BusyStart.UnixMilli(), t.BusyEnd.UnixMilli()}
}

// scanChange reads a row of changes. A row that cannot be parsed, because a much newer program wrote it, becomes an
// empty change.
func scanChange(r *row) store.Change {
	c := store.Change{Number: r.Int64()}
	var kept record
	if json.Unmarshal(r.next(), &kept) != nil {
		return c
	}
	c.Noun, c.ID, c.What, c.Version, c.Owner, c.Assigned = kept.Noun, kept.ID, kept.What, kept.Version, kept.Owner,
		kept.Assigned
	c.Before, c.After = kept.Before.taken(c.ID), kept.After.taken(c.ID)
	if stands := kept.Stands.taken(c.ID); stands != nil {
		c.Stands = *stands
	}
	c.Session.Status = kept.Status
	if kept.ExpiresAt != 0 {
		c.Session.ExpiresAt = time.UnixMilli(kept.ExpiresAt).UTC()
	}
	return c
}

func (t *takenRecord) taken(id string) *store.Taken {
	if t == nil {
		return nil
	}
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	return &store.Taken{
		AppointmentID: id, AppointmentTypeID: t.Type, SpecialistID: t.Specialist, Resources: store.IDs(t.Resources),
		Seat: t.Seat, Overbook: t.Overbook, SlotStart: at(t.SlotStart), SlotEnd: at(t.SlotEnd),
		BusyStart: at(t.BusyStart), BusyEnd: at(t.BusyEnd),
	}
}
