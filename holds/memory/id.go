package memory

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// ids makes the ids of holds: UUIDs of version 7 (RFC 9562) that always rise, whatever the wall clock does. The 12 bits after
// the milliseconds are a fraction of them (its section 6.2, method 3). The last 32 bits are the hold's place, which
// saves a map of all ids. The 30 random bits before them keep the ids of two processes apart, and that is all they are
// for: an id opens nothing.
type ids struct {
	last atomic.Uint64 // milliseconds << 12 | fraction
}

const idLen = 36

func (g *ids) next(wall time.Time, at place) string {
	t := g.rise(uint64(wall.UnixMilli())<<12 | uint64(wall.Nanosecond()%1e6)<<12/1e6)
	hi := t>>12<<16 | 7<<12 | t&0xfff
	lo := 1<<63 | rand.Uint64()>>2&^0xffff_ffff | uint64(at)

	var text [idLen]byte
	write(text[0:8], hi>>32)
	text[8] = '-'
	write(text[9:13], hi>>16)
	text[13] = '-'
	write(text[14:18], hi)
	text[18] = '-'
	write(text[19:23], lo>>48)
	text[23] = '-'
	write(text[24:36], lo)
	return string(text[:])
}

// rise returns t, or the number after the last one if the clock has not moved on since.
func (g *ids) rise(t uint64) uint64 {
	for {
		last := g.last.Load()
		next := max(t, last+1)
		if g.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

const digits = "0123456789abcdef"

// write fills text with the last digits of n.
func write(text []byte, n uint64) {
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = digits[n&0xf]
		n >>= 4
	}
}

// place is where a hold lies: 24 bits for its number in the shard's table, which is more than fit into memory, and 8 for
// the shard.
type place uint32

func placeAt(shard, number int) place { return place(number<<8 | shard) }

func (p place) shard() int  { return int(p & 0xff) }
func (p place) number() int { return int(p >> 8) }

// placeIn reads the place that an id names, if it may be an id of this backend. The hold there may be another one.
func (b *Backend) placeIn(id string) (p place, ok bool) {
	if len(id) != idLen {
		return 0, false
	}
	for _, c := range []byte(id[idLen-8:]) {
		switch {
		case '0' <= c && c <= '9':
			p = p<<4 | place(c-'0')
		case 'a' <= c && c <= 'f':
			p = p<<4 | place(c-'a'+10)
		default:
			return 0, false
		}
	}
	return p, p.shard() < len(b.shards)
}
