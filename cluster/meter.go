package cluster

import (
	"time"

	"github.com/hashicorp/raft"
)

// Meter receives the durations that a node measures. Its functions are called from several goroutines and must not block; each
// may be nil.
type Meter struct {
	// Synced receives the duration of each write of log entries to the disk, including the sync.
	Synced func(took time.Duration)
	// RoundTrip receives the round-trip time of each datagram to a member, by its ID.
	RoundTrip func(member string, took time.Duration)
}

// meteredLog measures the writes to a log. Raft writes from one goroutine.
type meteredLog struct {
	raft.LogStore
	synced func(took time.Duration)
}

// StoreLog implements raft.LogStore.
func (m meteredLog) StoreLog(l *raft.Log) error { return m.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore. A failed write halts the node and is not measured.
func (m meteredLog) StoreLogs(logs []*raft.Log) error {
	began := time.Now()
	err := m.LogStore.StoreLogs(logs)
	if err == nil {
		m.synced(time.Since(began))
	}
	return err
}
