package node

import (
	"encoding/json"
	"time"

	"holdfast/holds"
)

// These types are the stored form of live state, as Go reads it. Times are in Unix milliseconds, 0 for none.

type spanJSON struct {
	SlotStart         int64  `json:"slotStart,omitzero"`
	SlotEnd           int64  `json:"slotEnd,omitzero"`
	BusyStart         int64  `json:"busyStart,omitzero"`
	BusyEnd           int64  `json:"busyEnd,omitzero"`
	Seat              int    `json:"seat,omitzero"`
	AppointmentTypeID string `json:"appointmentTypeId,omitzero"`
	SpecialistID      string `json:"specialistId,omitzero"`
	Owner             string `json:"owner,omitzero"`
}

func (s *spanJSON) span() holds.Span {
	return holds.Span{
		AppointmentTypeID: s.AppointmentTypeID, SpecialistID: s.SpecialistID, Seat: s.Seat,
		SlotStart: Instant(s.SlotStart), SlotEnd: Instant(s.SlotEnd), BusyStart: Instant(s.BusyStart),
		BusyEnd: Instant(s.BusyEnd),
	}
}

func spanOf(s *holds.Span, owner holds.Owner) spanJSON {
	return spanJSON{
		AppointmentTypeID: s.AppointmentTypeID, SpecialistID: s.SpecialistID, Seat: s.Seat,
		SlotStart: Unix(s.SlotStart), SlotEnd: Unix(s.SlotEnd), BusyStart: Unix(s.BusyStart), BusyEnd: Unix(s.BusyEnd),
		Owner: owner.String(),
	}
}

type holdJSON struct {
	spanJSON
	Resources    string `json:"resources,omitzero"`
	ID           string `json:"id"`
	LapsesAt     int64  `json:"lapsesAt"`    // without a pin
	PinnedUntil  int64  `json:"pinnedUntil"` // 0 without one
	MaxExpiresAt int64  `json:"maxExpiresAt"`
	Life         int64  `json:"life"` // milliseconds
	Restarts     int    `json:"restarts"`
	Call         string `json:"call"`      // the last call that changed it
	ExpiresAt    int64  `json:"expiresAt"` // of an in-doubt hold
}

// ReadHold reads a hold and the name of the call that last changed it.
func ReadHold(text string) (h holds.Hold, call string, err error) {
	r, call, err := readRemains(text)
	return r.Hold, call, err
}

// ReadRemains reads a hold with everything that another backend needs to take it over.
func ReadRemains(text string) (holds.Remains, error) {
	r, _, err := readRemains(text)
	return r, err
}

func readRemains(text string) (r holds.Remains, call string, err error) {
	var x holdJSON
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		return r, "", err
	}
	owner, err := holds.ParseOwner(x.Owner)
	if err != nil {
		return r, "", err
	}
	return holds.Remains{
		Hold: holds.Hold{
			ID: x.ID, Span: x.span(), Resources: holds.IDs(x.Resources), Owner: owner,
			ExpiresAt: Instant(max(x.LapsesAt, x.PinnedUntil)), MaxExpiresAt: Instant(x.MaxExpiresAt),
			Restarts: x.Restarts, Pinned: x.PinnedUntil > 0,
		},
		LapsesAt: Instant(x.LapsesAt), Life: time.Duration(x.Life) * time.Millisecond,
	}, x.Call, nil
}

// readDoubt reads a hold that was pinned when it expired and is now in doubt.
func readDoubt(text string) (holds.Hold, error) {
	var x holdJSON
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		return holds.Hold{}, err
	}
	owner, err := holds.ParseOwner(x.Owner)
	return holds.Hold{
		ID: x.ID, Span: x.span(), Resources: holds.IDs(x.Resources), Owner: owner, ExpiresAt: Instant(x.ExpiresAt),
		Pinned: true,
	}, err
}

type eventJSON struct {
	Kind      holds.EventKind `json:"kind"`
	Reason    holds.Reason    `json:"reason,omitzero"`
	At        int64           `json:"at"`
	ExpiresAt int64           `json:"expiresAt,omitzero"`
	Maximum   int64           `json:"maxExpiresAt,omitzero"`
	ID        string          `json:"id,omitzero"`
	Resources string          `json:"resources,omitzero"`
	spanJSON
	AppointmentTypeIDs []string `json:"appointmentTypeIds,omitzero"`
	AppointmentID      string   `json:"appointmentId,omitzero"`
	Version            int64    `json:"version,omitzero"`
	Generation         uint64   `json:"generation,omitzero"`
	SessionID          string   `json:"sessionId,omitzero"`
	ConnectionID       string   `json:"connectionId,omitzero"`
}

// ReadEvent reads an event that WriteEvent or the server wrote. The event has no number: each node assigns its own.
func ReadEvent(text string) (holds.Event, error) {
	var x eventJSON
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		return holds.Event{}, err
	}
	owner, err := holds.ParseOwner(x.Owner)
	return holds.Event{
		Kind: x.Kind, Reason: x.Reason, At: Instant(x.At), ExpiresAt: Instant(x.ExpiresAt),
		MaxExpiresAt: Instant(x.Maximum), HoldID: x.ID, Span: x.span(), Resources: holds.IDs(x.Resources), Owner: owner,
		AppointmentTypeIDs: x.AppointmentTypeIDs, AppointmentID: x.AppointmentID, Version: x.Version,
		Generation: x.Generation, SessionID: x.SessionID, ConnectionID: x.ConnectionID,
	}, err
}

// WriteEvent writes an event for all nodes.
func WriteEvent(e *holds.Event) ([]byte, error) {
	return json.Marshal(eventJSON{
		Kind: e.Kind, Reason: e.Reason, At: Unix(e.At), ExpiresAt: Unix(e.ExpiresAt), Maximum: Unix(e.MaxExpiresAt),
		ID: e.HoldID, Resources: string(e.Resources), spanJSON: spanOf(&e.Span, e.Owner),
		AppointmentTypeIDs: e.AppointmentTypeIDs, AppointmentID: e.AppointmentID, Version: e.Version,
		Generation: e.Generation, SessionID: e.SessionID, ConnectionID: e.ConnectionID,
	})
}

// ReadSelection reads a selection that expires at deadline, in Unix milliseconds.
func ReadSelection(text string, deadline int64) (holds.Selection, error) {
	var x spanJSON
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		return holds.Selection{}, err
	}
	owner, err := holds.ParseOwner(x.Owner)
	return holds.Selection{Span: x.span(), Owner: owner, ExpiresAt: Instant(deadline)}, err
}
