// Package cowmap provides a map that is read without a lock and rarely gains a key.
package cowmap

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Map is a map that an insertion copies. The zero Map is empty. It is safe for concurrent use.
type Map[K comparable, V any] struct {
	mu      sync.Mutex
	entries atomic.Pointer[map[K]V] // nil while empty; replaced under mu, never changed
}

// All returns the entries, which must not be changed.
func (m *Map[K, V]) All() map[K]V {
	if entries := m.entries.Load(); entries != nil {
		return *entries
	}
	return nil
}

// Get returns the value of a key. If there is none, it inserts what create returns.
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
