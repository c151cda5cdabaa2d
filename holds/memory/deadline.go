package memory

// deadlines is a heap of holds, the first to lapse on top. Every record knows its own turn in it.
type deadlines []*record

func (d deadlines) first() *record {
	if len(d) == 0 {
		return nil
	}
	return d[0]
}

func (d *deadlines) push(r *record) {
	r.turn = len(*d)
	*d = append(*d, r)
	d.up(r.turn)
}

func (d *deadlines) remove(r *record) {
	i, last := r.turn, len(*d)-1
	d.swap(i, last)
	(*d)[last] = nil
	*d = (*d)[:last]
	if i < last {
		d.moved((*d)[i])
	}
}

// moved puts a record right whose deadline changed.
func (d *deadlines) moved(r *record) {
	if !d.down(r.turn) {
		d.up(r.turn)
	}
}

func (d deadlines) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if d[parent].deadline() <= d[i].deadline() {
			return
		}
		d.swap(i, parent)
		i = parent
	}
}

func (d deadlines) down(i int) (moved bool) {
	for {
		child := 2*i + 1
		if child >= len(d) {
			return moved
		}
		if right := child + 1; right < len(d) && d[right].deadline() < d[child].deadline() {
			child = right
		}
		if d[i].deadline() <= d[child].deadline() {
			return moved
		}
		d.swap(i, child)
		i, moved = child, true
	}
}

func (d deadlines) swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].turn, d[j].turn = i, j
}
