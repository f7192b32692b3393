package cluster

import (
	"time"

	"github.com/hashicorp/raft"
)

// Meter takes the durations that a node measures. Its functions are called from several goroutines and must not wait; a nil
// function takes none.
type Meter struct {
	// Synced takes the time that log entries needed until they were on the disk.
	Synced func(took time.Duration)
	// RoundTrip takes the time that a datagram needed to the member with an ID and back.
	RoundTrip func(member string, took time.Duration)
}

// meteredLog measures the writes to a log. Raft makes them from one goroutine.
type meteredLog struct {
	raft.LogStore
	synced func(took time.Duration)
}

// StoreLog implements raft.LogStore.
func (m meteredLog) StoreLog(l *raft.Log) error { return m.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore. A write that fails ends the node, and counts for nothing.
func (m meteredLog) StoreLogs(logs []*raft.Log) error {
	began := time.Now()
	err := m.LogStore.StoreLogs(logs)
	if err == nil {
		m.synced(time.Since(began))
	}
	return err
}
