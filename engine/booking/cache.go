package booking

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"holdfast/store"
)

// listCache caches computed lists of slots. A list can be missing from the cache, but is never stale: its key contains
// its generation, so a list from an older state is never found and ages out. A cached list does not reflect holds, the
// minimum notice or the booking horizon.
type listCache struct {
	lists *ristretto.Cache[string, *SlotList] // if nil, the cache is off
	ttl   time.Duration
}

func newListCache(maxBytes int64, ttl time.Duration) (*listCache, error) {
	if ttl < 0 {
		return &listCache{}, nil
	}
	const typicalList = 4 << 10
	lists, err := ristretto.NewCache(&ristretto.Config[string, *SlotList]{
		// ten per expected item, as the cache's documentation recommends
		NumCounters: max(1000, 10*maxBytes/typicalList),
		MaxCost:     maxBytes,
		BufferItems: 64,
		// otherwise, the cache's own overhead would count against MaxCost and evict nearly everything
		IgnoreInternalCost: true,
	})
	if err != nil {
		return nil, err
	}
	return &listCache{lists: lists, ttl: ttl}, nil
}

func (c *listCache) close() {
	if c.lists != nil {
		c.lists.Close()
	}
}

// slotKey is `timeslots:{type}:{specialist|*}:{place@}{range}:{generation}`. An asterisk means pooled over all
// specialists; record.ValidID refuses it as the id of a specialist.
func slotKey(appointmentTypeID, specialistID, place string, from, to store.Date, generation uint64) string {
	if specialistID == "" {
		specialistID = "*"
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

// list returns the list stored under key, or computes and caches it.
func (c *listCache) list(key string, compute func() (*SlotList, error)) (*SlotList, error) {
	if c.lists == nil {
		return compute()
	}
	if cached, ok := c.lists.Get(key); ok {
		return cached, nil
	}
	list, err := compute()
	if err == nil {
		c.lists.SetWithTTL(key, list, list.cost(), c.ttl)
	}
	return list, err
}

// CloseCache stops the cache's goroutines. Do not list anything after that.
func (bk *Booking) CloseCache() { bk.lists.close() }
