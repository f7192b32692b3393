package raftlog

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/hashicorp/raft"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
)

// ErrIncomplete says that an entry of the committed log is not known.
var ErrIncomplete = errors.New("the committed log has a gap")

// Version is the newest fsm_version that a replay knows.
const Version = fsm.Version

// Entries reads the committed entries from the base on, up to Final or, with ErrIncomplete, to
// the first gap. After an error there is nothing more.
func (l *Log) Entries() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		f, err := os.Open(l.path())
		if err != nil {
			yield(Entry{}, fmt.Errorf("the archived entries: %w", err))
			return
		}
		defer f.Close() //nolint:errcheck // read only
		for i, v := range l.chain {
			e, err := readEntry(f, l.Base.Index+uint64(i)+1, v)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func readEntry(f io.ReaderAt, index uint64, v *variant) (Entry, error) {
	if v == nil {
		return Entry{}, fmt.Errorf("%w at index %d", ErrIncomplete, index)
	}
	e := Entry{Index: index, Term: v.term, Type: v.kind, Data: make([]byte, v.size)}
	if _, err := f.ReadAt(e.Data, v.at); err != nil {
		return Entry{}, fmt.Errorf("archived entry %d: %w", index, err)
	}
	if entrySum(&e) != v.sum {
		return Entry{}, fmt.Errorf("archived entry %d is not what it was", index)
	}
	return e, nil
}

// Applied is an entry and what the state machine made of it.
type Applied struct {
	Entry
	// Command is nil if the entry is none, or can't be decoded; then Undecoded says why.
	Command   *commandv1.Command
	Undecoded error
	Result    fsm.Result // of a command
	// CheckpointIndex and CheckpointDigest are the last checkpoint before the entry: what a
	// Checkpoint speaks of.
	CheckpointIndex  uint64
	CheckpointDigest [32]byte
	// Digest is the state's after the entry, in hexadecimal digits, if a harvest has the state of a
	// snapshot that ends here; else empty.
	Digest string
}

// Replay applies the committed commands to the state that the life begins with, as a replica does except for halting: a
// command that can't be decoded, or after which a replica halts, is passed over, so that the rest
// can be looked at. Errors are those of Beginning and Entries.
func (l *Log) Replay() iter.Seq2[Applied, error] {
	return func(yield func(Applied, error) bool) {
		state, err := l.begin()
		if err != nil {
			yield(Applied{}, err)
			return
		}
		snapshots := l.statesAt()
		for e, err := range l.Entries() {
			if err != nil {
				yield(Applied{}, err)
				return
			}
			a := apply(state, e)
			if snapshots[e.Index] {
				digest := state.Digest()
				a.Digest = hex.EncodeToString(digest[:])
			}
			if !yield(a, nil) {
				return
			}
		}
	}
}

// statesAt is where the snapshots end whose states are known.
func (l *Log) statesAt() map[uint64]bool {
	at := map[uint64]bool{}
	for i := range l.Harvests {
		for _, s := range l.Harvests[i].States {
			at[s.Index] = true
		}
	}
	return at
}

func apply(state *fsm.State, e Entry) Applied {
	a := Applied{Entry: e}
	a.CheckpointIndex, a.CheckpointDigest = state.LastCheckpoint()
	if e.Type != raft.LogCommand {
		return a
	}
	if a.Command, a.Undecoded = e.Command(); a.Undecoded == nil {
		a.Result = state.Apply(e.Index, e.Term, a.Command)
	}
	return a
}
