package cluster

// stateUnit is the greatest size of a snapshot, in bytes, for which the log has its default length. For a larger state, the
// log may get up to maxStateUnits times as long.
const (
	stateUnit     = 1 << 20
	maxStateUnits = 16
)

// logFor returns two numbers of log entries for a state whose last snapshot had that size in bytes: the number after which the
// next snapshot is taken, and the number that is kept when it is taken. Both grow with the state, because a large state
// would otherwise be written too often. Both are bounded, because a starting member applies the entries behind its snapshot.
func (t Timing) logFor(size int64) (threshold, trailing uint64) {
	units := uint64(max(1, min(size/stateUnit, maxStateUnits)))
	return t.SnapshotThreshold * units, trailingLogs * units
}

// setSnapshotPace sets when raft takes the next snapshot, by the size of the last one in bytes. Raft's goroutines call it.
func (n *Node) setSnapshotPace(size int64) {
	select {
	case <-n.opened:
	case <-n.ctx.Done():
		return
	}
	c := n.raft.ReloadableConfig()
	c.SnapshotThreshold, c.TrailingLogs = n.cfg.Timing.logFor(size)
	if err := n.raft.ReloadConfig(c); err != nil {
		n.logger.Warn("snapshot interval not changed", "error", err)
	}
}
