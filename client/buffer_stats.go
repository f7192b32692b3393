package client

// BufferStats holds the size and the counters of a [Buffer], for metrics.
type BufferStats struct {
	Level    int // IDs that it holds
	Capacity int // how many it holds when full, at the present rate

	Taken    uint64 // IDs that Next returned
	Dropped  uint64 // IDs that became too old, or were left when the Buffer was closed
	Waited   uint64 // calls of Next that found it empty
	Refills  uint64 // requests to the cluster that brought IDs
	Failures uint64 // requests to the cluster that failed
}

// Stats returns what the Buffer has now and did so far.
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
