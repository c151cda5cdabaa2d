package memory

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// ids creates the ids of holds: UUIDs of version 7 (RFC 9562) that always increase, even if the wall clock is set back.
// The 12 bits after the milliseconds are a fraction of a millisecond (RFC 9562, section 6.2, method 3). The last 32
// bits are the hold's position in the table, which makes a map of all ids unnecessary. The 30 bits before them are
// random, but the same for all ids created by one backend: they distinguish the ids of two backends. More randomness is
// not needed, because an id does not grant access.
type ids struct {
	node uint64
	last atomic.Uint64 // milliseconds << 12 | fraction
}

func (g *ids) open() { g.node = rand.Uint64N(1 << 30) }

const idLen = 36

func (g *ids) next(wall time.Time, at place) string {
	t := g.rise(uint64(wall.UnixMilli())<<12 | uint64(wall.Nanosecond()%1e6)<<12/1e6)
	hi := t>>12<<16 | 7<<12 | t&0xfff
	lo := 1<<63 | g.node<<32 | uint64(at)

	var digits [32]byte
	hex(digits[0:8], hi>>32)
	hex(digits[8:16], hi)
	hex(digits[16:24], lo>>32)
	hex(digits[24:32], lo)
	text := [idLen]byte{8: '-', 13: '-', 18: '-', 23: '-'}
	copy(text[0:8], digits[0:8])
	copy(text[9:13], digits[8:12])
	copy(text[14:18], digits[12:16])
	copy(text[19:23], digits[16:20])
	copy(text[24:36], digits[20:32])
	return string(text[:])
}

// hex writes the low 32 bits of n as eight digits in one step: it spreads the half-bytes over the bytes of one word,
// and adds '0' to each or, above nine, 'a'-10.
func hex(text []byte, n uint64) {
	n = n&0xffff_0000<<16 | n&0xffff
	n = n<<8&0x00ff_0000_00ff_0000 | n&0x0000_00ff_0000_00ff
	n = n<<4&0x0f00_0f00_0f00_0f00 | n&0x000f_000f_000f_000f
	const ones = 0x0101_0101_0101_0101
	letters := (n + 6*ones) >> 4 & ones
	binary.BigEndian.PutUint64(text, n+'0'*ones+letters*('a'-10-'0'))
}

// rise returns t, or the last number plus one if t is not greater than the last number.
func (g *ids) rise(t uint64) uint64 {
	for {
		last := g.last.Load()
		next := max(t, last+1)
		if g.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// place is the position of a hold: 24 bits for its number in the shard's table, which is more than fit into memory, and
// 8 for the shard.
type place uint32

func placeAt(shard, number int) place { return place(number<<8 | shard) }

func (p place) shard() int  { return int(p & 0xff) }
func (p place) number() int { return int(p >> 8) }

// placeIn reads the position from an id, if the id could belong to this backend. The hold at that position may have a
// different id.
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
