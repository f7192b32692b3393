package cluster

import (
	"errors"
	"log/slog"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/internal/events"
)

// notedSnapshots records an event for each snapshot that cannot be written. The log grows until a snapshot succeeds.
type notedSnapshots struct {
	raft.SnapshotStore
	events Events
}

// Create implements raft.SnapshotStore.
func (s notedSnapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration, configurationIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	sink, err := s.SnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	if err != nil {
		s.failed(err)
		return nil, err
	}
	return notedSink{sink, s}, nil
}

func (s notedSnapshots) failed(err error) {
	s.events.Note(events.Storage, slog.LevelError, "snapshot not written: "+err.Error())
}

// notedSink is a snapshot that is being written.
type notedSink struct {
	raft.SnapshotSink
	store notedSnapshots
}

// errCanceled is the reason recorded for a snapshot that raft canceled.
var errCanceled = errors.New("raft canceled it; see the log")

// Write implements io.Writer.
func (s notedSink) Write(p []byte) (int, error) {
	n, err := s.SnapshotSink.Write(p)
	if err != nil {
		s.store.failed(err)
	}
	return n, err
}

// Close implements io.Closer.
func (s notedSink) Close() error {
	err := s.SnapshotSink.Close()
	if err != nil {
		s.store.failed(err)
	}
	return err
}

// Cancel implements raft.SnapshotSink.
func (s notedSink) Cancel() error {
	s.store.failed(errCanceled)
	return s.SnapshotSink.Cancel()
}
