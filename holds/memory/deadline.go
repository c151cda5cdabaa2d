package memory

import "time"

// deadlines is a heap of holds, the first to lapse on top. It has the deadlines beside the records, so that finding a
// hold's place reads no others, and every record knows its place.
type deadlines []due

type due struct {
	at time.Duration // the record's deadline
	r  *record
}

// next is when the next hold lapses.
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

// changed puts a record right whose deadline is another now.
func (d deadlines) changed(r *record) { d.sift(r.place, due{r.deadline(), r}) }

// sift puts x where it belongs in the heap, moving it up or down from a free place.
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
