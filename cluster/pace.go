package cluster

import "github.com/hashicorp/raft"

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

// pacedSnapshots calls written with the size of each written snapshot, in bytes.
type pacedSnapshots struct {
	raft.SnapshotStore
	written func(size int64)
}

// Create implements raft.SnapshotStore.
func (p *pacedSnapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration, configurationIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	sink, err := p.SnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	if err != nil {
		return nil, err
	}
	return &pacedSink{SnapshotSink: sink, written: p.written}, nil
}

// newest returns the size of the newest snapshot; 0 if there is none, or on an error, which raft itself reports.
func (p *pacedSnapshots) newest() int64 {
	all, err := p.List()
	if err != nil || len(all) == 0 {
		return 0
	}
	return all[0].Size
}

type pacedSink struct {
	raft.SnapshotSink
	size    int64
	written func(size int64)
}

// Write implements io.Writer.
func (s *pacedSink) Write(b []byte) (int, error) {
	n, err := s.SnapshotSink.Write(b)
	s.size += int64(n)
	return n, err
}

// Close implements io.Closer.
func (s *pacedSink) Close() error {
	err := s.SnapshotSink.Close()
	if err == nil {
		s.written(s.size)
	}
	return err
}

// pace sets when raft takes the next snapshot, by the size of the last one in bytes. Raft's goroutines call it.
func (n *Node) pace(size int64) {
	select {
	case <-n.opened:
	case <-n.ctx.Done():
		return
	}
	c := n.raft.ReloadableConfig()
	c.SnapshotThreshold, c.TrailingLogs = n.cfg.Timing.logFor(size)
	if err := n.raft.ReloadConfig(c); err != nil {
		n.logger.Warn("interval of snapshots not changed", "error", err)
	}
}
