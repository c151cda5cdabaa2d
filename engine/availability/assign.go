package availability

import (
	"hash/fnv"
	"io"
	"slices"
	"time"

	"holdfast/store"
)

// Assign picks one of the specialists who are free at a start time. Only those with the highest priority are
// considered. Assign sorts them by id, byte by byte, and picks number
//
//	fnv1a32(appointmentTypeID + ":" + start) mod n
//
// of the n specialists. start is written as RFC 3339 in UTC, in whole seconds, with "Z". For example, the hashed string
// for a check-up is "checkup:2026-11-23T09:00:00Z".
//
// The result depends only on the arguments. So every node of a cluster picks the same specialist, and the nodes do not
// need a shared counter. The hash spreads a day's start times evenly across specialists of equal priority. The test
// cases are in testdata/assign/vectors.json.
//
// The order of candidates does not matter, and Assign does not modify them. It returns false if there are none. If the
// claim on the specialist fails, the caller removes that candidate and calls Assign again.
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

// assignHash returns the 32-bit FNV-1a hash (Fowler, Noll, Vo) of the string that Assign hashes for a type and a start
// time.
func assignHash(appointmentTypeID string, start time.Time) uint32 {
	h := fnv.New32a()
	io.WriteString(h, appointmentTypeID+":"+start.UTC().Format(time.RFC3339))
	return h.Sum32()
}
