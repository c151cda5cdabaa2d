package memory

import (
	"encoding/hex"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// ids makes the ids of holds: UUIDs of version 7 (RFC 9562) in strictly rising order, whatever the wall clock does. The
// 12 bits after the milliseconds are a fraction of them (method 3 of section 6.2), and the last 8 bits are the
// hold's shard, which saves a table of all ids. The 54 random bits between need not be a secret: an id opens nothing.
type ids struct {
	last atomic.Uint64 // milliseconds << 12 | fraction, of the id made last
}

const idLen = 36

func (g *ids) next(wall time.Time, shard int) string {
	t := g.rise(uint64(wall.UnixMilli())<<12 | uint64(wall.Nanosecond()%1e6)<<12/1e6)
	hi := t>>12<<16 | 7<<12 | t&0xfff
	lo := 1<<63 | rand.Uint64()>>2&^0xff | uint64(shard)

	var raw [16]byte
	for i := range 8 {
		raw[i], raw[8+i] = byte(hi>>(56-8*i)), byte(lo>>(56-8*i))
	}
	var text [idLen]byte
	hex.Encode(text[0:8], raw[0:4])
	text[8] = '-'
	hex.Encode(text[9:13], raw[4:6])
	text[13] = '-'
	hex.Encode(text[14:18], raw[6:8])
	text[18] = '-'
	hex.Encode(text[19:23], raw[8:10])
	text[23] = '-'
	hex.Encode(text[24:36], raw[10:16])
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

// shardIn reads the shard from an id.
func shardIn(id string) (shard int, ok bool) {
	if len(id) != idLen {
		return 0, false
	}
	hi, ok1 := digit(id[idLen-2])
	lo, ok2 := digit(id[idLen-1])
	return hi<<4 | lo, ok1 && ok2
}

// digit reads one lower-case hexadecimal digit: an id has one spelling.
func digit(c byte) (int, bool) {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0'), true
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10, true
	}
	return 0, false
}
