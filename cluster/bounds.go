package cluster

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/screen"
)

// bounds is what this node knows of its own log.
type bounds struct {
	term, applied, committed uint64
	termAt                   func(index uint64) (term uint64, ok bool) // of the entry in the log
}

const (
	// maxTermJump is how far a message's term may be ahead of this node's. Elections raise terms one by one: a
	// million of them happen while a node is away only if a term ends every minute for two years. And from any term
	// 2^43 messages are needed until terms overflow, each of which costs the receiver an fsync.
	maxTermJump = 1 << 20
	// maxFirstTerm is for a node that has seen no term yet and may be new in an old cluster.
	maxFirstTerm = 1 << 62
	// maxIndex keeps the arithmetic with indexes from an overflow.
	maxIndex = 1 << 62
)

var errImplausible = errors.New("implausible raft message")

func implausible(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errImplausible, fmt.Sprintf(format, args...))
}

func (b bounds) checkTerm(term uint64) error {
	most := b.term + maxTermJump
	if b.term == 0 {
		most = maxFirstTerm
	}
	if term > most {
		return implausible("term %d, at most %d is expected; a member that missed so many terms must join again with an empty data directory", term, most)
	}
	return nil
}

// request checks one of raft's requests.
func (b bounds) request(command any) error {
	switch r := command.(type) {
	case *raft.AppendEntriesRequest:
		return errors.Join(b.checkTerm(r.Term), b.entries(r))
	case *raft.RequestVoteRequest:
		return b.checkTerm(r.Term)
	case *raft.RequestPreVoteRequest:
		return b.checkTerm(r.Term)
	case *raft.InstallSnapshotRequest:
		return errors.Join(b.checkTerm(r.Term), b.snapshot(r))
	}
	return nil
}

// entries checks that entries follow each other, and that they replace none that was committed.
func (b bounds) entries(r *raft.AppendEntriesRequest) error {
	if len(r.Entries) > screen.MaxEntries {
		return implausible("%d entries", len(r.Entries))
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
		if err := plausibleEntry(e); err != nil {
			return err
		}
		if e.Index <= b.committed {
			if have, ok := b.termAt(e.Index); ok && have != e.Term {
				return implausible("entry %d of term %d was committed in term %d", e.Index, e.Term, have)
			}
		}
	}
	return nil
}

func plausibleEntry(e *raft.Log) error {
	switch e.Type {
	case raft.LogCommand, raft.LogNoop, raft.LogBarrier:
		return nil
	case raft.LogConfiguration:
		return plausibleConfiguration(e.Data)
	default: // those of peers are of earlier versions of the library
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

// snapshot checks what comes before a snapshot. One that lacks what was applied would have raft look for entries that
// are compacted, which it panics over.
func (b bounds) snapshot(r *raft.InstallSnapshotRequest) error {
	switch {
	case r.SnapshotVersion != raft.SnapshotVersionMax:
		return implausible("a snapshot of version %d", r.SnapshotVersion)
	case r.Size < 0 || r.Size > screen.MaxSnapshot:
		return implausible("a snapshot of %d bytes", r.Size)
	case r.LastLogIndex == 0 || r.LastLogIndex > maxIndex || r.ConfigurationIndex > r.LastLogIndex || r.LastLogTerm > r.Term:
		return implausible("a snapshot up to entry %d of term %d, in term %d, with the configuration of entry %d",
			r.LastLogIndex, r.LastLogTerm, r.Term, r.ConfigurationIndex)
	case r.LastLogIndex < b.applied:
		return implausible("a snapshot up to entry %d, entry %d was applied", r.LastLogIndex, b.applied)
	}
	return plausibleConfiguration(r.Configuration)
}
