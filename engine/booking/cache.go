package booking

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"holdfast/store"
)

// answers caches computed slot lists and compressed copies of answers. An entry can be missing, but never stale: the
// key of a list contains its generation, so a list of an older state is never found and ages out. The key of a copy
// is the entity tag of its answer. A list does not reflect holds, notice and horizon.
type answers struct {
	kept *ristretto.Cache[string, any] // *slotList or []byte
	ttl  time.Duration
}

func newAnswers(maxBytes int64, ttl time.Duration) (*answers, error) {
	if ttl < 0 {
		return &answers{}, nil
	}
	const typicalList = 4 << 10
	kept, err := ristretto.NewCache(&ristretto.Config[string, any]{
		NumCounters:        max(1000, 10*maxBytes/typicalList), // ten per item expected, as its documentation asks
		MaxCost:            maxBytes,
		BufferItems:        64,
		IgnoreInternalCost: true, // its own bookkeeping would count against MaxCost and evict nearly everything
	})
	if err != nil {
		return nil, err
	}
	return &answers{kept: kept, ttl: ttl}, nil
}

func (c *answers) close() {
	if c.kept != nil {
		c.kept.Close()
	}
}

// slotKey is `timeslots:{type}:{specialist|pooled}:{place@}{range}:{generation}`.
func slotKey(appointmentTypeID, specialistID, place string, from, to store.Date, generation uint64) string {
	if specialistID == "" {
		specialistID = "pooled" // no specialist's list can be found under it: the pooled one is looked up first
	}
	b := make([]byte, 0, 128)
	b = append(b, "timeslots:"...)
	b = append(b, appointmentTypeID...)
	b = append(b, ':')
	b = append(b, specialistID...)
	b = append(b, ':')
	if place != "" {
		b = append(append(b, place...), '@')
	}
	b = appendDate(b, from)
	b = append(b, '/')
	b = appendDate(b, to)
	b = append(b, ':')
	b = strconv.AppendUint(b, generation, 10)
	return string(b)
}

func appendDate(b []byte, d store.Date) []byte {
	return fmt.Appendf(b, "%04d%02d%02d", d.Year, int(d.Month), d.Day)
}

// list returns the list under key, or computes and caches it.
func (c *answers) list(key string, compute func() (*slotList, error)) (*slotList, error) {
	if c.kept == nil {
		return compute()
	}
	if kept, ok := c.kept.Get(key); ok {
		return kept.(*slotList), nil
	}
	list, err := compute()
	if err == nil {
		c.kept.SetWithTTL(key, list, list.cost(), c.ttl)
	}
	return list, err
}

// CompressedCopy returns the cached copy of the answer with this entity tag, or nil.
func (bk *Booking) CompressedCopy(tag string) []byte {
	if bk.answers.kept == nil {
		return nil
	}
	kept, _ := bk.answers.kept.Get("compressed:" + tag)
	answer, _ := kept.([]byte)
	return answer
}

// KeepCompressed caches a compressed copy of the answer with this entity tag. Copies and lists share one size limit.
func (bk *Booking) KeepCompressed(tag string, answer []byte) {
	if bk.answers.kept != nil {
		bk.answers.kept.SetWithTTL("compressed:"+tag, answer, int64(len(answer))+256, bk.answers.ttl)
	}
}

// CloseCache stops the cache's own goroutines. Nothing can be listed after it.
func (bk *Booking) CloseCache() { bk.answers.close() }
