package cluster

import (
	"errors"
	"log/slog"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/internal/events"
)

// observedSnapshots observes the snapshots that raft writes. It records one event for each snapshot that cannot be written:
// the log grows until a snapshot succeeds.
type observedSnapshots struct {
	raft.SnapshotStore
	events  Events
	written func(size int64) // called with the size of each written snapshot, in bytes
}

// Create implements raft.SnapshotStore.
func (o *observedSnapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration, configurationIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	sink, err := o.SnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	observed := &observedSink{SnapshotSink: sink, store: o}
	if err != nil {
		observed.fail(err)
		return nil, err
	}
	return observed, nil
}

// newest returns the size of the newest snapshot; 0 if there is none, or on an error, which raft itself reports.
func (o *observedSnapshots) newest() int64 {
	all, err := o.List()
	if err != nil || len(all) == 0 {
		return 0
	}
	return all[0].Size
}

// observedSink is a snapshot that is being written. Only one goroutine uses it.
type observedSink struct {
	raft.SnapshotSink
	store  *observedSnapshots
	size   int64
	failed bool // the event of this snapshot was recorded
}

// errCanceled is the reason recorded for a snapshot that raft canceled.
var errCanceled = errors.New("canceled by Raft; see the log")

// fail records the event of this snapshot. Later errors follow from the first one: raft cancels what it could not write.
func (s *observedSink) fail(err error) {
	if !s.failed {
		s.failed = true
		s.store.events.Note(events.Storage, slog.LevelError, "snapshot not written: "+err.Error())
	}
}

// Write implements io.Writer.
func (s *observedSink) Write(p []byte) (int, error) {
	n, err := s.SnapshotSink.Write(p)
	s.size += int64(n)
	if err != nil {
		s.fail(err)
	}
	return n, err
}

// Close implements io.Closer.
func (s *observedSink) Close() error {
	err := s.SnapshotSink.Close()
	if err != nil {
		s.fail(err)
		return err
	}
	s.store.written(s.size)
	return nil
}

// Cancel implements raft.SnapshotSink.
func (s *observedSink) Cancel() error {
	s.fail(errCanceled)
	return s.SnapshotSink.Cancel()
}

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
