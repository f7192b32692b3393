package cluster

import "github.com/hashicorp/raft"

// stateUnit is the size of a snapshot, in bytes, up to which the defaults of the log apply; maxStateUnits bounds how many
// times as long the log of a larger state may get.
const (
	stateUnit     = 1 << 20
	maxStateUnits = 16
)

// logFor returns after how many log entries a snapshot is taken of a state whose last snapshot had that size, and how many
// entries stay behind it. Both grow with the state: after a fixed number of entries, a large state would be written
// again and again. They are bounded, because a member that starts applies the entries behind its snapshot.
func (t Timing) logFor(size int64) (threshold, trailing uint64) {
	units := uint64(max(1, min(size/stateUnit, maxStateUnits)))
	return t.SnapshotThreshold * units, trailingLogs * units
}

// pacedSnapshots reports the size of each snapshot that was written.
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

// newest returns the size of the newest snapshot; 0 without one. Raft reports an error itself.
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

// pace has raft take the next snapshot in proportion to the last one, of that size. Raft's goroutines call it.
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
