package timed

import (
	"sync"
	"time"
)

// Map remembers what was put into it for at least as long as it keeps things, twice as long at most while anything is put, and
// no more than twice as much as it may weigh. It has two halves: what was put lately, and what was put before that, which is
// forgotten whole when the newer half is old enough or full. So nothing is ever searched for what to forget.
//
// Where more is put than it may weigh, the oldest is forgotten early. It is safe for concurrent use.
type Map[K comparable, V any] struct {
	keep   time.Duration
	most   int
	weight func(K, V) int

	mu       sync.Mutex
	new, old map[K]V
	weighs   int // the newer half, about
	began    time.Time
}

// NewMap returns a Map that keeps each entry for this long, and this many in each half.
func NewMap[K comparable, V any](keep time.Duration, most int) *Map[K, V] {
	return NewWeighedMap(keep, most, func(K, V) int { return 1 })
}

// NewWeighedMap is NewMap where entries weigh differently; one that weighs more than most is not kept.
func NewWeighedMap[K comparable, V any](keep time.Duration, most int, weight func(K, V) int) *Map[K, V] {
	return &Map[K, V]{keep: keep, most: most, weight: weight}
}

// Get returns what was put under a key and is not forgotten yet.
func (m *Map[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(key)
}

// Put remembers a value under a key from now on.
func (m *Map[K, V]) Put(key K, value V, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, value, now)
}

// PutFirst is Put unless something is under the key, and reports whether nothing was.
func (m *Map[K, V]) PutFirst(key K, value V, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.get(key); known {
		return false
	}
	m.put(key, value, now)
	return true
}

// Update puts what change makes of the value under a key, the zero value if there is none, unless change says not to.
func (m *Map[K, V]) Update(key K, now time.Time, change func(V) (V, bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, _ := m.get(key)
	if value, put := change(value); put {
		m.put(key, value, now)
	}
}

// Clear forgets everything.
func (m *Map[K, V]) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.new, m.old, m.weighs = nil, nil, 0
}

func (m *Map[K, V]) get(key K) (V, bool) {
	if value, ok := m.new[key]; ok {
		return value, true
	}
	value, ok := m.old[key]
	return value, ok
}

func (m *Map[K, V]) put(key K, value V, now time.Time) {
	weight := m.weight(key, value)
	if weight > m.most {
		return
	}
	switch since := now.Sub(m.began); {
	case m.new == nil || since >= 2*m.keep: // whatever there is was put longer ago than it is kept
		m.old, m.new, m.weighs, m.began = nil, make(map[K]V), 0, now
	case since >= m.keep || m.weighs+weight > m.most:
		m.old, m.new, m.weighs, m.began = m.new, make(map[K]V), 0, now
	}
	if replaced, ok := m.new[key]; ok {
		m.weighs -= m.weight(key, replaced)
	}
	m.new[key] = value
	m.weighs += weight
}
