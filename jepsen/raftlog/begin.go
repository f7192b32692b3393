package raftlog

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
)

// Beginning is the state of a restored cluster before its first entry, which the product made from a backup.
type Beginning struct {
	FloorMillis    int64 // Unix ms; 0 if the state does not show the restore
	ObservedMillis int64
	Config         *commandv1.Config // nil if none was set
	Sequences      map[string]BegunSequence
}

// BegunSequence is a sequence in a backup.
type BegunSequence struct {
	Spec        *commandv1.SequenceSpec
	Incarnation uint64
	Period      int32
}

// Beginning returns the Beginning of the life.
func (l *Log) Beginning() (Beginning, error) {
	state, err := l.begin()
	if err != nil {
		return Beginning{}, err
	}
	return BeginningOf(state), nil
}

// BeginningOf returns the Beginning of a life whose initial state is state.
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

// begin returns the state before the first entry: an empty one, or the state that the product made from a backup.
func (l *Log) begin() (*fsm.State, error) {
	if l.Base.Index == 0 {
		return fsm.NewState(), nil
	}
	f, err := os.Open(filepath.Join(l.dir, stateFile))
	if err != nil {
		return nil, fmt.Errorf("initial state of a restored cluster: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only
	if _, err := f.Seek(snapshotHeader, io.SeekStart); err != nil {
		return nil, err
	}
	state, err := fsm.ReadState(f, fsm.Version)
	if err != nil {
		return nil, fmt.Errorf("initial state of a restored cluster: %w", err)
	}
	return state, nil
}
