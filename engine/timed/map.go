package timed

import (
	"sync"
	"time"
)

// Map stores entries for a limited time. An entry stays for at least keep, and for at most twice as long while entries
// are being added. The total weight is at most twice most. There are two halves, the newer and the older entries. Put
// drops the whole older half when the newer one is old enough or full, so it never searches for entries to drop.
//
// If the entries added within keep weigh more than most, the oldest are dropped early. Map is safe for concurrent use.
type Map[K comparable, V any] struct {
	keep   time.Duration
	most   int
	weight func(K, V) int

	mu       sync.Mutex
	new, old map[K]V
	weighs   int // of the newer half, approximately
	began    time.Time
}

// NewMap returns a Map that stores each entry for at least keep, and up to most entries in each half.
func NewMap[K comparable, V any](keep time.Duration, most int) *Map[K, V] {
	return NewWeighedMap(keep, most, func(K, V) int { return 1 })
}

// NewWeighedMap is NewMap for entries of different weights. It does not store an entry that weighs more than most.
func NewWeighedMap[K comparable, V any](keep time.Duration, most int, weight func(K, V) int) *Map[K, V] {
	return &Map[K, V]{keep: keep, most: most, weight: weight}
}

// Get returns the value of a key, if it is still stored.
func (m *Map[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(key)
}

// Put stores a value under a key from now on.
func (m *Map[K, V]) Put(key K, value V, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, value, now)
}

// PutFirst is like Put, but does nothing if the key already has a value. It reports whether it stored the value.
func (m *Map[K, V]) PutFirst(key K, value V, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.get(key); known {
		return false
	}
	m.put(key, value, now)
	return true
}

// Update stores the result of change under a key. change receives the current value, or the zero value if there is
// none. If change returns false, nothing is stored.
func (m *Map[K, V]) Update(key K, now time.Time, change func(V) (V, bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, _ := m.get(key)
	if value, put := change(value); put {
		m.put(key, value, now)
	}
}

// Delete drops the value of a key, if there is one.
func (m *Map[K, V]) Delete(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if value, ok := m.new[key]; ok {
		m.weighs -= m.weight(key, value)
	}
	delete(m.new, key)
	delete(m.old, key)
}

// Clear drops all entries.
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
	case m.new == nil || since >= 2*m.keep: // all entries are older than keep
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
