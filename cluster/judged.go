package cluster

import (
	"errors"
	"io"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/position"
)

// judgedSnapshots refuses to store a snapshot whose history contradicts the watermark. Raft stores the snapshot of a leader
// before it installs the snapshot, and deletes the log only afterwards.
type judgedSnapshots struct {
	raft.SnapshotStore
	node *Node
}

// Create implements raft.SnapshotStore.
func (j judgedSnapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration, configurationIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	sink, err := j.SnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	select {
	case <-j.node.opened:
	default:
		return sink, err // the node's own; no leader has reached it yet
	}
	mark := j.node.watermark.Mark()
	if err != nil || j.node.cfg.History == nil || mark.Index == 0 || index <= j.node.AppliedIndex() {
		return sink, err
	}
	return newJudgedSink(sink, j.node, mark), nil
}

// judgedSink is a leader's snapshot that is being received. The history in it is read while it is written to the disk.
type judgedSink struct {
	raft.SnapshotSink
	node    *Node
	read    *io.PipeWriter
	verdict chan error
}

func newJudgedSink(sink raft.SnapshotSink, n *Node, mark position.Position) *judgedSink {
	content, read := io.Pipe()
	s := &judgedSink{SnapshotSink: sink, node: n, read: read, verdict: make(chan error, 1)}
	go func() {
		var err error
		if setBack, why := n.cfg.History.JudgeSnapshot(content, mark); setBack {
			err = transport.Contradicts("snapshot: %s", why)
		}
		_, _ = io.Copy(io.Discard, content) // the writer does not wait for a reader that has seen enough
		s.verdict <- err
	}()
	return s
}

// Write implements io.Writer.
func (s *judgedSink) Write(p []byte) (int, error) {
	if _, err := s.read.Write(p); err != nil {
		return 0, err
	}
	return s.SnapshotSink.Write(p)
}

// Close implements io.Closer.
func (s *judgedSink) Close() error {
	_ = s.read.Close()
	if err := <-s.verdict; err != nil {
		s.node.onRefusedMessage(err)
		return errors.Join(err, s.SnapshotSink.Cancel())
	}
	return s.SnapshotSink.Close()
}

// Cancel implements raft.SnapshotSink.
func (s *judgedSink) Cancel() error {
	_ = s.read.CloseWithError(errCanceled)
	return s.SnapshotSink.Cancel()
}
