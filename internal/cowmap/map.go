// Package cowmap provides [Map], a map that is read without a lock and rarely gains a key.
package cowmap

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Map is a map that an insertion copies, so an insertion takes time proportional to the size
// of the map. Keys are never removed. The zero Map is empty. It is safe for concurrent use.
type Map[K comparable, V any] struct {
	mu      sync.Mutex
	entries atomic.Pointer[map[K]V] // nil while empty; replaced under mu, never changed
}

// All returns the present entries, which the caller must not change; nil if there are none.
func (m *Map[K, V]) All() map[K]V {
	if entries := m.entries.Load(); entries != nil {
		return *entries
	}
	return nil
}

// Get returns the value of a key. If there is none, it inserts the result of create. It calls
// create with a lock held, at most once per key, so create must not use the map.
func (m *Map[K, V]) Get(key K, create func(K) V) V {
	if v, ok := m.All()[key]; ok {
		return v
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.All()[key]; ok {
		return v
	}
	entries := maps.Clone(m.All())
	if entries == nil {
		entries = make(map[K]V)
	}
	v := create(key)
	entries[key] = v
	m.entries.Store(&entries)
	return v
}
