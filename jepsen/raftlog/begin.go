package raftlog

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
)

// Beginning is what a restored cluster knows before its first entry, as the product made it of a backup.
type Beginning struct {
	FloorMillis    int64 // Unix ms; 0 if the cluster does not know that it was restored
	ObservedMillis int64
	Config         *commandv1.Config // nil if none was set
	Sequences      map[string]BegunSequence
}

// BegunSequence is a sequence that a backup has.
type BegunSequence struct {
	Spec        *commandv1.SequenceSpec
	Incarnation uint64
	Period      int32
}

// Beginning returns what the life begins with.
func (l *Log) Beginning() (Beginning, error) {
	state, err := l.begin()
	if err != nil {
		return Beginning{}, err
	}
	return BeginningOf(state), nil
}

// BeginningOf returns what a life begins with that begins with a state.
func BeginningOf(state *fsm.State) Beginning {
	b := Beginning{FloorMillis: state.Restored().GetFloorAtMs(), ObservedMillis: state.Observed(), Sequences: map[string]BegunSequence{}}
	if state.Config().GetGeneration() > 0 {
		b.Config = state.Config()
	}
	for _, q := range state.Sequences("", "", state.SequenceCount()) {
		b.Sequences[q.Spec.GetName()] = BegunSequence{q.Spec, q.Incarnation, q.Period}
	}
	return b
}

// begin returns the state before the first entry: a new one, or what the product made of a backup.
func (l *Log) begin() (*fsm.State, error) {
	if l.Base.Index == 0 {
		return fsm.NewState(), nil
	}
	f, err := os.Open(filepath.Join(l.dir, stateFile))
	if err != nil {
		return nil, fmt.Errorf("what a restored cluster began with: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only
	if _, err := f.Seek(snapshotHeader, io.SeekStart); err != nil {
		return nil, err
	}
	state, err := fsm.ReadState(f, fsm.Version)
	if err != nil {
		return nil, fmt.Errorf("what a restored cluster began with: %w", err)
	}
	return state, nil
}
