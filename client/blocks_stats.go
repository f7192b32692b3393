package client

// BlocksStats holds the block size and the counters of a [Blocks] since its creation, for metrics.
type BlocksStats struct {
	BlockSize uint64 // numbers in the current block, including used ones; 0 if there is no block

	Taken   uint64 // numbers that Next and Take returned
	Skipped uint64 // numbers of granted blocks that were neither issued nor returned to the cluster
	Waited  uint64 // calls that waited for a block
	Blocks  uint64 // granted blocks
}

// Stats returns the current block size and the counters.
func (b *Blocks) Stats() BlocksStats {
	s := b.numbers.Stats()
	return BlocksStats{BlockSize: s.BlockSize, Taken: s.Taken, Skipped: s.Skipped, Waited: s.Waited, Blocks: s.Blocks}
}
