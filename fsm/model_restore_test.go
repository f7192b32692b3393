package fsm

import (
	"bytes"
	"io"
)

// restoreOne restores one replica from another's snapshot.
func (w *world) restoreOne() error {
	from := w.machines[w.choose("from", len(w.machines))]
	to := w.choose("to", len(w.machines))
	var file sink
	snapshot, err := from.Snapshot()
	if err == nil {
		err = snapshot.Persist(&file)
	}
	if err != nil {
		return violated("restore", "%v", err)
	}
	fresh := w.machines[to]
	if w.choose("fresh", 2) == 0 {
		fresh = New(Options{})
	}
	if err := fresh.Restore(io.NopCloser(&file.Buffer)); err != nil {
		return violated("restore", "%v", err)
	}
	w.machines[to] = fresh
	return w.checkDigests()
}

// sink is a raft.SnapshotSink in memory.
type sink struct {
	bytes.Buffer
	closed, canceled bool
}

func (s *sink) ID() string    { return "in memory" }
func (s *sink) Close() error  { s.closed = true; return nil }
func (s *sink) Cancel() error { s.canceled = true; return nil }
