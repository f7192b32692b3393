package transport

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/screen"
)

// Bounds holds the facts about this node and its log against which messages are checked.
type Bounds struct {
	Leads                    bool
	Witness                  bool  // see contradiction
	Wall                     int64 // Unix milliseconds
	Term, Applied, Committed uint64
	EntryAt                  func(index uint64) (entry raft.Log, ok bool) // returns an entry of the log
	Admit                    func(*raft.Log) error                        // see Config.Admit; nil admits every command
}

const (
	// maxEarlyTerm is the greatest term that a node accepts when its clock shows the start of 1970. Each millisecond since
	// then raises the bound by one. Elections take longer than that, so the terms of a cluster stay below the bound and never
	// overflow. The bound is not relative to the node's own term: after a stranger has raised the terms of some nodes as far
	// as possible, the other nodes accept those terms too, and elections still work. A clock that is far behind affects only
	// its own node, and only after such an attack.
	maxEarlyTerm = 1 << 32
	// maxIndex keeps arithmetic with indexes from overflowing.
	maxIndex = 1 << 62
)

var (
	// ErrContradicts reports a message of a leader that contradicts committed entries.
	ErrContradicts = errors.New("the leader's history contradicts what this member knows to be committed")
	// ErrOpposed reports that another node refused a message of this leader with ErrContradicts.
	ErrOpposed = errors.New("a voter opposes this leader")
	errWitness = errors.New("this member keeps its log as evidence that others were set back")
)

var errImplausible = errors.New("implausible raft message")

func implausible(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errImplausible, fmt.Errorf(format, args...))
}

// Contradicts returns the error over a message that does not match a committed entry.
func Contradicts(format string, args ...any) error {
	return fmt.Errorf("%w: %w: %w", errImplausible, ErrContradicts, fmt.Errorf(format, args...))
}

func (b Bounds) checkTerm(term uint64) error {
	if most := maxEarlyTerm + uint64(max(b.Wall, 0)); term > most {
		return implausible("term %d, expected at most %d by this member's clock; check the clock", term, most)
	}
	return nil
}

// checkRequest checks one of raft's requests. A request of an earlier term passes: raft ignores its other fields and answers with
// its own term, which a replaced leader has to learn.
func (b Bounds) checkRequest(command any) error {
	if b.Witness {
		return errWitness
	}
	switch r := command.(type) {
	case *raft.AppendEntriesRequest:
		if r.Term < b.Term {
			return nil
		}
		return errors.Join(b.checkLeader(r.Term), b.checkEntries(r))
	case *raft.RequestVoteRequest:
		return b.checkTerm(r.Term)
	case *raft.RequestPreVoteRequest:
		return b.checkTerm(r.Term)
	case *raft.InstallSnapshotRequest:
		return errors.Join(b.checkLeader(r.Term), b.checkSnapshot(r))
	}
	return nil
}

// checkLeader checks the term of a message that only the leader of that term sends.
func (b Bounds) checkLeader(term uint64) error {
	if b.Leads && term == b.Term {
		return implausible("another leader in term %d, in which this member leads", term)
	}
	return b.checkTerm(term)
}

// checkEntries checks that the entries are consecutive and replace no entry that this node knows to be committed.
func (b Bounds) checkEntries(r *raft.AppendEntriesRequest) error {
	if len(r.Entries) > screen.MaxEntries {
		return implausible("%d entries", len(r.Entries))
	}
	if have, ok := b.known(r.PrevLogEntry); ok && have.Term != r.PrevLogTerm {
		return Contradicts("entry %d of term %d was committed in term %d", r.PrevLogEntry, r.PrevLogTerm, have.Term)
	}
	term := r.PrevLogTerm
	for i, e := range r.Entries {
		if e == nil {
			return implausible("no entry")
		}
		if want := r.PrevLogEntry + 1 + uint64(i); e.Index != want || want == 0 || want > maxIndex {
			return implausible("entry %d, %d behind entry %d", e.Index, i+1, r.PrevLogEntry)
		}
		if e.Term < term || e.Term > r.Term {
			return implausible("entry %d of term %d behind one of term %d, in term %d", e.Index, e.Term, term, r.Term)
		}
		term = e.Term
		if err := b.checkEntry(e); err != nil {
			return err
		}
		have, ok := b.known(e.Index)
		switch {
		case ok && have.Term != e.Term:
			return Contradicts("entry %d of term %d was committed in term %d", e.Index, e.Term, have.Term)
		case ok && (have.Type != e.Type || !bytes.Equal(have.Data, e.Data)): // two elections gave the same term
			return Contradicts("another entry %d of term %d was committed", e.Index, e.Term)
		}
	}
	return nil
}

// known returns an entry that this node knows to be committed.
func (b Bounds) known(index uint64) (entry raft.Log, ok bool) {
	if index == 0 || index > b.Committed {
		return raft.Log{}, false
	}
	return b.EntryAt(index)
}

func (b Bounds) checkEntry(e *raft.Log) error {
	switch e.Type {
	case raft.LogCommand:
		if b.Admit == nil {
			return nil
		}
		if err := b.Admit(e); err != nil {
			return implausible("entry %d: %w", e.Index, err)
		}
		return nil
	case raft.LogNoop, raft.LogBarrier:
		return nil
	case raft.LogConfiguration:
		return plausibleConfiguration(e.Data)
	default: // types about peers come from earlier versions of the library
		return implausible("an entry of type %d", e.Type)
	}
}

func plausibleConfiguration(raw []byte) error {
	c, err := screen.Configuration(raw)
	if err == nil && len(c.Servers) == 0 {
		return implausible("a configuration without members")
	}
	return err
}

// checkSnapshot checks the request that precedes a snapshot. A snapshot that lacks applied entries would make raft read entries
// that were compacted, and panic. The type judgedSnapshots checks the history in the snapshot.
func (b Bounds) checkSnapshot(r *raft.InstallSnapshotRequest) error {
	switch {
	case r.SnapshotVersion != raft.SnapshotVersionMax:
		return implausible("a snapshot of version %d", r.SnapshotVersion)
	case r.Size < 0 || r.Size > screen.MaxSnapshot:
		return implausible("a snapshot of %d bytes", r.Size)
	case r.Term < b.Term:
		return nil
	case r.LastLogIndex == 0 || r.LastLogIndex > maxIndex || r.ConfigurationIndex > r.LastLogIndex || r.LastLogTerm > r.Term:
		return implausible("a snapshot up to entry %d of term %d, in term %d, with the configuration of entry %d",
			r.LastLogIndex, r.LastLogTerm, r.Term, r.ConfigurationIndex)
	case r.LastLogIndex < b.Applied:
		return implausible("a snapshot up to entry %d, entry %d was applied", r.LastLogIndex, b.Applied)
	}
	if _, ok := b.known(b.Committed); ok && r.LastLogIndex < b.Committed {
		return implausible("a snapshot up to entry %d, entry %d was committed", r.LastLogIndex, b.Committed)
	}
	return plausibleConfiguration(r.Configuration)
}
