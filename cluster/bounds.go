package cluster

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/screen"
)

// bounds holds the facts about this node and its log against which messages are checked.
type bounds struct {
	leads                    bool
	witness                  bool  // see contradiction
	wall                     int64 // Unix milliseconds
	term, applied, committed uint64
	entryAt                  func(index uint64) (entry raft.Log, ok bool) // returns an entry of the log
	admit                    func(*raft.Log) error                        // see Config.Admit; nil admits every command
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

var errImplausible = errors.New("implausible raft message")

func implausible(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errImplausible, fmt.Errorf(format, args...))
}

// contradicts returns the error over a message that does not match a committed entry.
func contradicts(format string, args ...any) error {
	return fmt.Errorf("%w: %w: %w", errImplausible, errContradicts, fmt.Errorf(format, args...))
}

func (b bounds) checkTerm(term uint64) error {
	if most := maxEarlyTerm + uint64(max(b.wall, 0)); term > most {
		return implausible("term %d, expected at most %d by this member's clock; check the clock", term, most)
	}
	return nil
}

// request checks one of raft's requests. A request of an earlier term passes: raft ignores its other fields and answers with
// its own term, which a replaced leader has to learn.
func (b bounds) request(command any) error {
	if b.witness {
		return errWitness
	}
	switch r := command.(type) {
	case *raft.AppendEntriesRequest:
		if r.Term < b.term {
			return nil
		}
		return errors.Join(b.checkLeader(r.Term), b.entries(r))
	case *raft.RequestVoteRequest:
		return b.checkTerm(r.Term)
	case *raft.RequestPreVoteRequest:
		return b.checkTerm(r.Term)
	case *raft.InstallSnapshotRequest:
		return errors.Join(b.checkLeader(r.Term), b.snapshot(r))
	}
	return nil
}

// checkLeader checks the term of a message that only the leader of that term sends.
func (b bounds) checkLeader(term uint64) error {
	if b.leads && term == b.term {
		return implausible("another leader in term %d, in which this member leads", term)
	}
	return b.checkTerm(term)
}

// entries checks that the entries are consecutive and replace no entry that this node knows to be committed.
func (b bounds) entries(r *raft.AppendEntriesRequest) error {
	if len(r.Entries) > screen.MaxEntries {
		return implausible("%d entries", len(r.Entries))
	}
	if have, ok := b.known(r.PrevLogEntry); ok && have.Term != r.PrevLogTerm {
		return contradicts("entry %d of term %d was committed in term %d", r.PrevLogEntry, r.PrevLogTerm, have.Term)
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
			return contradicts("entry %d of term %d was committed in term %d", e.Index, e.Term, have.Term)
		case ok && (have.Type != e.Type || !bytes.Equal(have.Data, e.Data)): // two elections gave the same term
			return contradicts("another entry %d of term %d was committed", e.Index, e.Term)
		}
	}
	return nil
}

// known returns an entry that this node knows to be committed.
func (b bounds) known(index uint64) (entry raft.Log, ok bool) {
	if index == 0 || index > b.committed {
		return raft.Log{}, false
	}
	return b.entryAt(index)
}

func (b bounds) checkEntry(e *raft.Log) error {
	switch e.Type {
	case raft.LogCommand:
		if b.admit == nil {
			return nil
		}
		if err := b.admit(e); err != nil {
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

// snapshot checks the request that precedes a snapshot. A snapshot that lacks applied entries would make raft read entries
// that were compacted, and panic. The type judgedSnapshots checks the history in the snapshot.
func (b bounds) snapshot(r *raft.InstallSnapshotRequest) error {
	switch {
	case r.SnapshotVersion != raft.SnapshotVersionMax:
		return implausible("a snapshot of version %d", r.SnapshotVersion)
	case r.Size < 0 || r.Size > screen.MaxSnapshot:
		return implausible("a snapshot of %d bytes", r.Size)
	case r.Term < b.term:
		return nil
	case r.LastLogIndex == 0 || r.LastLogIndex > maxIndex || r.ConfigurationIndex > r.LastLogIndex || r.LastLogTerm > r.Term:
		return implausible("a snapshot up to entry %d of term %d, in term %d, with the configuration of entry %d",
			r.LastLogIndex, r.LastLogTerm, r.Term, r.ConfigurationIndex)
	case r.LastLogIndex < b.applied:
		return implausible("a snapshot up to entry %d, entry %d was applied", r.LastLogIndex, b.applied)
	}
	if _, ok := b.known(b.committed); ok && r.LastLogIndex < b.committed {
		return implausible("a snapshot up to entry %d, entry %d was committed", r.LastLogIndex, b.committed)
	}
	return plausibleConfiguration(r.Configuration)
}
