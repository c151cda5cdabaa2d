package memory

import "time"

// deadlines is a heap of holds, the first to lapse on top. It has the deadlines beside the records, so that finding a
// hold's turn reads no others, and every record knows its turn.
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
	d.settle(len(*d)-1, due{r.deadline(), r})
}

func (d *deadlines) remove(r *record) {
	last := len(*d) - 1
	moved := (*d)[last]
	(*d)[last] = due{}
	*d = (*d)[:last]
	if r.turn < last {
		d.settle(r.turn, moved)
	}
}

// changed puts a record right whose deadline is another now.
func (d deadlines) changed(r *record) { d.settle(r.turn, due{r.deadline(), r}) }

// settle finds x its turn, from a vacant one on.
func (d deadlines) settle(turn int, x due) {
	for turn > 0 {
		parent := (turn - 1) / 2
		if d[parent].at <= x.at {
			break
		}
		d.put(turn, d[parent])
		turn = parent
	}
	for {
		child := 2*turn + 1
		if child >= len(d) {
			break
		}
		if right := child + 1; right < len(d) && d[right].at < d[child].at {
			child = right
		}
		if x.at <= d[child].at {
			break
		}
		d.put(turn, d[child])
		turn = child
	}
	d.put(turn, x)
}

func (d deadlines) put(turn int, x due) {
	d[turn] = x
	x.r.turn = turn
}
