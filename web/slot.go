package web

import (
	"net/http"
	"slices"
	"strconv"
	"sync"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/web/instant"
)

// The timeslots are what every page asks for again and again, so their JSON is written by hand, and written once: the
// part of it that holds do not touch is kept per generation and sent as it is.

// encodedSlots keeps the JSON of slot lists. Nothing in it is ever wrong: the key has the generation, and a slot that a
// hold touches is written anew.
type encodedSlots struct {
	mu    sync.Mutex
	lists map[slotsKey]*encodedList
	bytes int
}

// maxEncodedSlots bounds the JSON that is kept.
const maxEncodedSlots = 16 << 20

type slotsKey struct {
	appointmentTypeID, specialistID, from, to string
	generation                                uint64
}

// encodedList is the JSON of slots nobody holds, one after the other, each with a comma before it. It is immutable.
type encodedList struct {
	starts []int64 // Unix seconds, ascending
	ends   []int   // of each slot's JSON
	json   []byte
}

// find returns where the slot with this start is, from the hint on; -1 if it is not there.
func (l *encodedList) find(start int64, hint int) int {
	if hint < len(l.starts) && l.starts[hint] == start {
		return hint
	}
	i, ok := slices.BinarySearch(l.starts, start)
	if !ok {
		return -1
	}
	return i
}

func (l *encodedList) begin(i int) int {
	if i == 0 {
		return 0
	}
	return l.ends[i-1]
}

func (e *encodedSlots) get(key slotsKey) *encodedList {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lists[key]
}

// put keeps a list. Lists of older generations are never asked for again, so when there are too many, any go.
func (e *encodedSlots) put(key slotsKey, list *encodedList) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lists == nil {
		e.lists = make(map[slotsKey]*encodedList)
	}
	if old := e.lists[key]; old != nil {
		e.bytes -= cap(old.json)
	}
	for k, old := range e.lists {
		if e.bytes+cap(list.json) <= maxEncodedSlots && len(e.lists) < 1024 {
			break
		}
		e.bytes -= cap(old.json)
		delete(e.lists, k)
	}
	e.lists[key] = list
	e.bytes += cap(list.json)
}

func encodeList(slots []booking.Timeslot) *encodedList {
	l := &encodedList{starts: make([]int64, len(slots)), ends: make([]int, len(slots))}
	for i := range slots {
		free := slots[i]
		if free.Held > 0 || free.OwnHold {
			l.starts[i] = -1 // its JSON is for this moment only
			l.ends[i] = len(l.json)
			continue
		}
		l.starts[i] = free.Start.Unix()
		l.json = appendTimeslot(append(l.json, ','), &free)
		l.ends[i] = len(l.json)
	}
	return l.compact()
}

// compact drops the slots that were left out, so that the starts ascend.
func (l *encodedList) compact() *encodedList {
	kept := 0
	for i, start := range l.starts {
		if start >= 0 {
			l.starts[kept], l.ends[kept] = start, l.ends[i]
			kept++
		}
	}
	l.starts, l.ends = l.starts[:kept], l.ends[:kept]
	return l
}

func (s *Server) timeslots(c *call) error {
	q := c.query()
	r := booking.TimeslotsRequest{
		AppointmentTypeID: c.param("id"), SpecialistID: q.id("specialistId"), From: q.date("from"), To: q.date("to"), Client: q.client(c),
	}
	if err := q.err(); err != nil {
		return err
	}
	answer, err := s.engine.Timeslots(c.ctx(), r)
	if err != nil {
		return err
	}
	from, to := answer.From.String(), answer.To.String()
	key := slotsKey{answer.AppointmentTypeID, r.SpecialistID, from, to, answer.Generation}
	list := s.slots.get(key)
	if list == nil {
		list = encodeList(answer.Slots)
		s.slots.put(key, list)
	}
	head := make([]byte, 0, 256)
	head = append(head, `{"appointmentTypeId":"`...)
	head = append(head, answer.AppointmentTypeID...)
	head = append(head, `","timezone":"`...)
	head = append(head, answer.Timezone...)
	head = append(head, `","from":"`...)
	head = append(head, from...)
	head = append(head, `","to":"`...)
	head = append(head, to...)
	head = append(head, `","generation":`...)
	head = strconv.AppendUint(head, answer.Generation, 10)
	head = append(head, `,"slots":[`...)
	parts, missed := slotParts(list, answer.Slots)
	if missed > maxMissed {
		s.slots.put(key, encodeList(answer.Slots))
	}
	return s.sayParts(c, head, parts, "]}")
}

// maxMissed is how many slots may be written anew in every answer before the kept list is made again: those that were
// held when it was made, and those that the horizon has reached since.
const maxMissed = 8

// slotParts is the JSON of the slots as pieces of the kept one, with those that holds touch between them. missed counts
// those that could have been in the kept one and are not.
func slotParts(list *encodedList, slots []booking.Timeslot) (parts [][]byte, missed int) {
	begin, end := 0, 0 // the piece that is being extended
	var fresh []byte   // or the slots that are being written anew
	for i, next := 0, 0; i < len(slots); i++ {
		slot := &slots[i]
		at := -1
		if slot.Held == 0 && !slot.OwnHold {
			if at = list.find(slot.Start.Unix(), next); at < 0 {
				missed++
			}
		}
		if at < 0 {
			if end > begin {
				parts, begin, end = append(parts, list.json[begin:end]), 0, 0
			}
			fresh = appendTimeslot(append(fresh, ','), slot)
			continue
		}
		next = at + 1
		if fresh != nil {
			parts, fresh = append(parts, fresh), nil
		}
		if end > begin && end == list.begin(at) {
			end = list.ends[at]
			continue
		}
		if end > begin {
			parts = append(parts, list.json[begin:end])
		}
		begin, end = list.begin(at), list.ends[at]
	}
	switch {
	case end > begin:
		parts = append(parts, list.json[begin:end])
	case fresh != nil:
		parts = append(parts, fresh)
	}
	if len(parts) > 0 {
		parts[0] = parts[0][1:] // the first comma
	}
	return parts, missed
}

// appendTimeslot writes one slot. Ids need no escaping.
func appendTimeslot(b []byte, s *booking.Timeslot) []byte {
	b = append(b, `{"start":"`...)
	b = instant.Append(b, s.Start)
	b = append(b, `","end":"`...)
	b = instant.Append(b, s.End)
	b = append(b, `","available":`...)
	b = strconv.AppendInt(b, int64(s.Available), 10)
	b = append(b, `,"held":`...)
	b = strconv.AppendInt(b, int64(s.Held), 10)
	b = append(b, `,"ownHold":`...)
	b = strconv.AppendBool(b, s.OwnHold)
	b = append(b, `,"specialistIds":[`...)
	for i, id := range s.SpecialistIDs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, id...)
		b = append(b, '"')
	}
	return append(b, `]}`...)
}

// timeslotJSON is appendTimeslot's shape, where one slot is answered.
type timeslotJSON struct {
	Start         string   `json:"start"`
	End           string   `json:"end"`
	Available     int      `json:"available"`
	Held          int      `json:"held"`
	OwnHold       bool     `json:"ownHold"`
	SpecialistIDs []string `json:"specialistIds"`
}

func (s *Server) nextAvailable(c *call) error {
	q := c.query()
	after, specialistID := q.instant("after"), q.id("specialistId")
	if err := q.err(); err != nil {
		return err
	}
	slot, err := s.engine.NextAvailable(c.ctx(), c.param("id"), specialistID, after)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]timeslotJSON{"slot": {
		httpTime(slot.Start), httpTime(slot.End), slot.Available, slot.Held, slot.OwnHold, slot.SpecialistIDs,
	}})
}

// explanationJSON says of one specialist whether a time can be booked, or why not.
type explanationJSON struct {
	SpecialistID string              `json:"specialistId"`
	Bookable     bool                `json:"bookable"`
	Reason       availability.Reason `json:"reason,omitempty"`
	HeldUntil    string              `json:"heldUntil,omitempty"`
}

func (s *Server) explain(c *call) error {
	q := c.query()
	start, specialistID := q.instant("slotStartDate"), q.id("specialistId")
	if err := q.err(); err != nil {
		return err
	}
	list, err := s.engine.Explain(c.ctx(), c.param("id"), specialistID, start)
	if err != nil {
		return err
	}
	said := make([]explanationJSON, len(list))
	for i, x := range list {
		said[i] = explanationJSON{x.SpecialistID, x.Bookable, x.Reason, ""}
		if !x.HeldUntil.IsZero() {
			said[i].HeldUntil = milliTime(x.HeldUntil)
		}
	}
	return c.json(http.StatusOK, map[string]any{
		"appointmentTypeId": c.param("id"), "slotStartDate": httpTime(start), "specialists": said,
	})
}
