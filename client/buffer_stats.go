package client

// BufferStats holds the size and the counters of a [Buffer], for metrics.
type BufferStats struct {
	Level    int // IDs in the buffer
	Capacity int // IDs in a full buffer, at the present rate

	Taken    uint64 // IDs that Next returned
	Dropped  uint64 // IDs that became too old, or were left at Close
	Waited   uint64 // calls of Next that found the buffer empty
	Refills  uint64 // requests to the cluster that returned IDs
	Failures uint64 // requests to the cluster that failed
}

// Stats returns the current sizes and the counters.
func (b *Buffer) Stats() BufferStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stats
	used := b.current.Load().used()
	s.Level = int(b.put - min(used, b.put))
	s.Taken = used - s.Dropped
	s.Waited = b.waited.Load()
	return s
}
