package availability

import (
	"hash/fnv"
	"io"
	"slices"
	"time"

	"holdfast/store"
)

// Assign picks one of the specialists who are free at a start: only those of the highest priority are considered,
// sorted by id (byte order), and the pick is entry number
//
//	fnv1a32(appointmentTypeID + ":" + start) mod n
//
// with start as RFC 3339 in UTC, whole seconds, "Z". The pick is a pure function of its arguments, so every node of a
// cluster picks the same, and neighbouring starts spread over equals without any counter to share.
//
// The order of candidates does not matter and they are not changed. ok is false if there are none. Where the claim of
// the one picked fails, the caller takes that one out and asks again.
func Assign(appointmentTypeID string, start time.Time, candidates []store.Assignment) (specialistID string, ok bool) {
	if len(candidates) == 0 {
		return "", false
	}
	highest := candidates[0].Priority
	for _, c := range candidates {
		highest = max(highest, c.Priority)
	}
	ids := make([]string, 0, len(candidates))
	for _, c := range candidates {
		if c.Priority == highest {
			ids = append(ids, c.SpecialistID)
		}
	}
	slices.Sort(ids)
	return ids[assignHash(appointmentTypeID, start)%uint32(len(ids))], true
}

// assignHash is 32-bit FNV-1a (Fowler, Noll, Vo) of what identifies a start of a type.
func assignHash(appointmentTypeID string, start time.Time) uint32 {
	h := fnv.New32a()
	io.WriteString(h, appointmentTypeID+":"+start.UTC().Format(time.RFC3339))
	return h.Sum32()
}
