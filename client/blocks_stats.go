package client

// BlocksStats counts what [Blocks] did since it was made, for metrics.
type BlocksStats struct {
	BlockSize uint64 // numbers in the current block, used ones included; 0: there is none

	Taken   uint64 // numbers that Next and Take returned
	Skipped uint64 // numbers of blocks that were neither returned to a caller nor to the cluster
	Waited  uint64 // calls that had to wait for a block
	Blocks  uint64 // blocks that were granted
}

// Stats returns what Blocks has now and did so far.
func (b *Blocks) Stats() BlocksStats {
	s := b.numbers.Stats()
	return BlocksStats{BlockSize: s.BlockSize, Taken: s.Taken, Skipped: s.Skipped, Waited: s.Waited, Blocks: s.Blocks}
}
