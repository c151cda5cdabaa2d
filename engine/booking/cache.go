package booking

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"holdfast/store"
)

// slotCache keeps computed slot lists. Nothing in it is ever wrong, only missing: the generation is part of the key, so
// a list of an older state is never found again and ages out. Holds, notice and horizon are not in it.
type slotCache struct {
	lists *ristretto.Cache[string, *slotList]
	ttl   time.Duration
}

func newSlotCache(maxBytes int64, ttl time.Duration) (*slotCache, error) {
	if ttl < 0 {
		return &slotCache{}, nil
	}
	const typicalList = 4 << 10
	lists, err := ristretto.NewCache(&ristretto.Config[string, *slotList]{
		NumCounters:        max(1000, 10*maxBytes/typicalList), // ten per item expected, as its documentation asks
		MaxCost:            maxBytes,
		BufferItems:        64,
		IgnoreInternalCost: true, // its own bookkeeping would count against MaxCost and evict nearly everything
	})
	if err != nil {
		return nil, err
	}
	return &slotCache{lists: lists, ttl: ttl}, nil
}

func (c *slotCache) close() {
	if c.lists != nil {
		c.lists.Close()
	}
}

// slotKey is `timeslots:{type}:{specialist|pooled}:{range}:{generation}`.
func slotKey(appointmentTypeID, specialistID string, from, to store.Date, generation uint64) string {
	if specialistID == "" {
		specialistID = "pooled" // no specialist's list can be found under it: the pooled one is looked up first
	}
	b := make([]byte, 0, 128)
	b = append(b, "timeslots:"...)
	b = append(b, appointmentTypeID...)
	b = append(b, ':')
	b = append(b, specialistID...)
	b = append(b, ':')
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

// get returns the list under key, or computes and keeps it.
func (c *slotCache) get(key string, compute func() (*slotList, error)) (*slotList, error) {
	if c.lists == nil {
		return compute()
	}
	if list, ok := c.lists.Get(key); ok {
		return list, nil
	}
	list, err := compute()
	if err == nil {
		c.lists.SetWithTTL(key, list, list.cost(), c.ttl)
	}
	return list, err
}

// CloseCache stops the cache's own goroutines. Nothing may be listed after it.
func (bk *Booking) CloseCache() { bk.slots.close() }
