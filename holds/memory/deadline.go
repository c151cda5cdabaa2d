package memory

import "time"

// deadlines is a heap of holds, with the first to expire on top. It stores the deadlines next to the records, so that
// moving a hold does not read other records. Every record stores its index in the heap.
type deadlines []due

type due struct {
	at time.Duration // the record's deadline
	r  *record
}

// next returns the deadline of the next hold to expire.
func (d deadlines) next() time.Duration {
	if len(d) == 0 {
		return never
	}
	return d[0].at
}

func (d *deadlines) push(r *record) {
	*d = append(*d, due{})
	d.sift(len(*d)-1, due{r.deadline(), r})
}

func (d *deadlines) remove(r *record) {
	last := len(*d) - 1
	moved := (*d)[last]
	(*d)[last] = due{}
	*d = (*d)[:last]
	if r.place < last {
		d.sift(r.place, moved)
	}
}

// changed moves a record to its position after its deadline has changed.
func (d deadlines) changed(r *record) { d.sift(r.place, due{r.deadline(), r}) }

// sift puts x into its position in the heap, moving up or down from a free position.
func (d deadlines) sift(place int, x due) {
	for place > 0 {
		parent := (place - 1) / 2
		if d[parent].at <= x.at {
			break
		}
		d.put(place, d[parent])
		place = parent
	}
	for {
		child := 2*place + 1
		if child >= len(d) {
			break
		}
		if right := child + 1; right < len(d) && d[right].at < d[child].at {
			child = right
		}
		if x.at <= d[child].at {
			break
		}
		d.put(place, d[child])
		place = child
	}
	d.put(place, x)
}

func (d deadlines) put(place int, x due) {
	d[place] = x
	x.r.place = place
}
