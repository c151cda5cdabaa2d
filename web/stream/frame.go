package stream

import (
	"bytes"
	"strconv"
	"time"

	"holdfast/holds"
	"holdfast/web/instant"
)

// The functions in this file encode the frames of the live stream. They append the JSON text directly to a buffer,
// because this code runs for every event. The same bytes go to every subscriber.
//
// Every frame has one `data:` line with JSON that contains a "type". There are no `event:` lines. The frame of a live
// event begins with a line `id: <epoch>-<seq>`. The frames of a snapshot are not events and have no id.

const (
	retryFrame = "retry: 5000\n\n"
	pingFrame  = "data: {\"type\":\"ping\"}\n\n"
)

// endReason is the reason for the end of a stream.
type endReason string

const (
	endLeaseExpired endReason = "lease-expired"
	endSendFailed   endReason = "send-failed" // the reader fell too far behind, or could not be written to
	endInitFailed   endReason = "init-failed"
	endShutdown     endReason = "server-shutdown"
	endReplaced     endReason = "replaced" // the same client opened another stream
	endUnknown      endReason = "unknown"  // for example, the events were interrupted or the credential was revoked

	// These reasons are counted and logged, but never sent, because the client has disconnected.
	endClientAbort  endReason = "client-abort"
	endClientCancel endReason = "client-cancel"
)

// endReasons lists all reasons.
var endReasons = []endReason{
	endLeaseExpired, endSendFailed, endInitFailed, endShutdown, endReplaced, endUnknown, endClientAbort,
	endClientCancel,
}

func appendInit(b []byte, connectionID string, lease time.Duration, epoch string) []byte {
	b = append(b, `data: {"type":"init","connectionId":"`...)
	b = append(b, connectionID...)
	b = append(b, `","leaseMs":`...)
	b = strconv.AppendInt(b, lease.Milliseconds(), 10)
	b = append(b, `,"epoch":"`...)
	b = append(b, epoch...)
	return append(b, "\"}\n\n"...)
}

func appendConnected(b []byte, generation uint64) []byte {
	b = append(b, `data: {"type":"connected","generation":`...)
	b = strconv.AppendUint(b, generation, 10)
	return append(b, "}\n\n"...)
}

// replacedID is the prefix of the id of the last frame of a replaced stream. A browser that reconnects automatically
// sends that id back as Last-Event-ID. See WasReplaced.
const replacedID = "replaced-"

// appendEnd appends the last frame of a stream.
func appendEnd(b []byte, reason endReason, connectionID string) []byte {
	if reason == endReplaced {
		b = append(b, "id: "+replacedID...)
		b = append(b, connectionID...)
		b = append(b, '\n')
	}
	b = append(b, `data: {"type":"end","reason":"`...)
	b = append(b, reason...)
	return append(b, "\"}\n\n"...)
}

// appendHold appends a live hold to the snapshot of a new stream. The frame is not an event and has no id.
func appendHold(b []byte, h *holds.Hold, owner holds.ClientID) []byte {
	b = append(b, `data: {"type":"hold"`...)
	b = appendSlot(b, h.ID, &h.Span)
	b = appendExpiry(b, h.ExpiresAt)
	b = appendOwner(b, owner)
	return append(b, "}\n\n"...)
}

// appendLook appends a selection to the snapshot.
func appendLook(b []byte, x *holds.Selection, owner holds.ClientID) []byte {
	b = append(b, `data: {"type":"select"`...)
	b = appendSlot(b, "", &x.Span)
	b = appendOwner(b, owner)
	return append(b, "}\n\n"...)
}

// appendEvent appends one live event. The form for the event's owner contains the client id. If owner is empty, it
// appends the form for all other readers.
func appendEvent(b []byte, epoch string, ev *holds.Event, owner holds.ClientID) []byte {
	b = append(b, "id: "...)
	b = append(b, epoch...)
	b = append(b, '-')
	b = strconv.AppendUint(b, ev.Seq, 10)
	return appendData(append(b, '\n'), ev, owner)
}

// appendData appends the data line of an event and the empty line that ends its frame.
func appendData(b []byte, ev *holds.Event, owner holds.ClientID) []byte {
	kind := ev.Kind
	if kind == holds.EventBooked {
		kind = holds.EventConfirm
	}
	b = append(b, "data: {\"type\":\""...)
	b = append(b, kind...)
	b = append(b, '"')
	switch ev.Kind {
	case holds.EventAvailability:
		b = append(b, `,"specialistId":"`...)
		b = append(b, ev.SpecialistID...)
		b = append(b, `","generation":`...)
		b = strconv.AppendUint(b, ev.Generation, 10)
	case holds.EventAppointment:
		b = append(b, `,"id":"`...)
		b = append(b, ev.AppointmentID...)
		b = append(b, `","version":`...)
		b = strconv.AppendInt(b, ev.Version, 10)
		b = append(b, `,"change":"`...)
		b = append(b, ev.Reason...)
		b = append(b, `","specialistId":"`...)
		b = append(b, ev.SpecialistID...)
		b = append(b, `","slotStartDate":"`...)
		b = instant.Append(b, ev.SlotStart)
		b = append(b, '"')
	case holds.EventPresence:
		b = append(b, `,"specialistId":"`...)
		b = append(b, ev.SpecialistID...)
		b = append(b, `","change":"`...)
		b = append(b, ev.Reason...)
		b = append(b, '"')
	case holds.EventSession:
		b = appendSession(b, ev)
	default:
		b = appendSlot(b, ev.HoldID, &ev.Span)
		if ev.Kind == holds.EventHold || ev.Kind == holds.EventHeartbeat {
			b = appendExpiry(b, ev.ExpiresAt)
		}
		if ev.Reason != "" && ev.Kind == holds.EventRelease {
			b = append(b, `,"reason":"`...)
			b = append(b, ev.Reason...)
			b = append(b, '"')
		}
		b = appendOwner(b, owner)
	}
	return append(b, "}\n\n"...)
}

func appendSession(b []byte, ev *holds.Event) []byte {
	b = append(b, `,"sessionId":"`...)
	b = append(b, ev.SessionID...)
	b = append(b, `","status":"`...)
	b = append(b, ev.Reason...)
	if ev.SpecialistID != "" {
		b = append(b, `","specialistId":"`...)
		b = append(b, ev.SpecialistID...)
	}
	b = append(b, `","expiresAt":"`...)
	b = instant.Append(b, ev.ExpiresAt)
	return append(b, '"')
}

// appendSlot appends the fields that are common to all slot events. Ids need no escaping: they are [A-Za-z0-9_-].
func appendSlot(b []byte, holdID string, s *holds.Span) []byte {
	if holdID != "" {
		b = append(b, `,"holdId":"`...)
		b = append(b, holdID...)
		b = append(b, '"')
	}
	b = append(b, `,"appointmentTypeId":"`...)
	b = append(b, s.AppointmentTypeID...)
	b = append(b, `","specialistId":"`...)
	b = append(b, s.SpecialistID...)
	b = append(b, `","slotStartDate":"`...)
	start := len(b)
	b = instant.Append(b, s.SlotStart)
	b = append(b, `","slotEndDate":"`...)
	end := len(b)
	b = instant.Append(b, s.SlotEnd)
	b = append(b, `","busyStartDate":"`...)
	b = instant.AppendCopy(b, s.BusyStart, s.SlotStart, start)
	b = append(b, `","busyEndDate":"`...)
	b = instant.AppendCopy(b, s.BusyEnd, s.SlotEnd, end)
	b = append(b, `","seat":`...)
	return strconv.AppendInt(b, int64(s.Seat), 10)
}

func appendExpiry(b []byte, at time.Time) []byte {
	b = append(b, `,"holdExpiresAt":"`...)
	b = instant.AppendMilli(b, at)
	return append(b, '"')
}

// notOwnEnd is the end of a frame that is not for the owner of its event.
const notOwnEnd = `,"isOwnHold":false` + "}\n\n"

// ownForm appends the owner's form of a frame that was encoded for all other readers. If the frame does not contain
// isOwnHold, ownForm appends it unchanged.
func ownForm(b, shared []byte, owner holds.ClientID) []byte {
	rest, found := bytes.CutSuffix(shared, []byte(notOwnEnd))
	if !found {
		return append(b, shared...)
	}
	b = append(b, rest...)
	return append(appendOwner(b, owner), "}\n\n"...)
}

// appendOwner appends isOwnHold. owner is the reader's client id if the event is the reader's own, and otherwise empty.
// A client id is a credential, so no other reader receives it.
func appendOwner(b []byte, owner holds.ClientID) []byte {
	if owner == "" {
		return append(b, `,"isOwnHold":false`...)
	}
	b = append(b, `,"isOwnHold":true,"clientId":`...)
	return appendQuoted(b, string(owner))
}

// appendQuoted appends a JSON string of printable ASCII. A client id contains no other characters.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}
