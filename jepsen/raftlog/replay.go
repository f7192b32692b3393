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

// ErrIncomplete reports that an entry of the committed log is missing from the archive.
var ErrIncomplete = errors.New("committed log has a gap")

// Version is the newest fsm_version that a replay knows.
const Version = fsm.Version

// Entries returns an iterator over the committed entries after the base, up to Final. At the first gap it yields
// ErrIncomplete. It ends after an error.
func (l *Log) Entries() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		f, err := os.Open(l.path())
		if err != nil {
			yield(Entry{}, fmt.Errorf("archive of entries: %w", err))
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
		return Entry{}, fmt.Errorf("checksum mismatch in archived entry %d", index)
	}
	return e, nil
}

// Applied is an entry with the result of the state machine.
type Applied struct {
	Entry
	// Command is nil if the entry is not a command or cannot be decoded. Undecoded is the error of decoding.
	Command   *commandv1.Command
	Undecoded error
	Result    fsm.Result // result of the command
	// CheckpointIndex and CheckpointDigest are the index and the digest of the last checkpoint before the entry, to which
	// a Checkpoint refers.
	CheckpointIndex  uint64
	CheckpointDigest [32]byte
	// Digest is the state's digest after the entry, in hexadecimal digits, if a harvest has the state of a snapshot that
	// ends here. Otherwise it is empty.
	Digest string
}

// Replay applies the committed commands to the initial state of the life like a replica, except that it does not halt. It
// continues after a command that cannot be decoded or that halts a replica, so that the rest can be checked. It yields
// the errors of Beginning and Entries.
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

// statesAt returns the indexes at which snapshots with known states end.
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
