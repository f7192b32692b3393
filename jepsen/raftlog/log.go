package raftlog

import (
	"fmt"
	"path/filepath"

	"github.com/hashicorp/raft"
)

// Log is the committed log of a life, as far as the archive shows it.
type Log struct {
	// Base is the point before the first entry: zero, or the snapshot with which a restored cluster began. Voters are the
	// IDs of the voters in that snapshot.
	Base   Snapshot
	Voters []string
	// Final is the last committed index, and FinalTerm its term; 0 if there is none. A majority of the last harvests of
	// all members has this entry.
	Final     uint64
	FinalTerm uint64
	// FinalAt is the time of the earliest of those harvests, on the clock of the harvests.
	FinalAt int64

	// Violations describes contradictions to the guarantees of Raft, at most 20.
	Violations []string
	// Incomplete describes the parts of (Base, Final] that no harvest shows, at most 20. Unless it is empty, the log proves
	// nothing.
	Incomplete []string

	Harvests []Summary // ascending by number

	dir   string
	first []variant            // indexed by place; term 0 if no harvest has the entry
	more  map[uint64][]variant // further variants with other terms, keyed by index
	chain []*variant           // indexed by place, up to Final; nil for a missing entry
}

// variant is one of the entries that harvests have at an index.
type variant struct {
	term, prev uint64 // prev is 0 while unknown
	at         int64  // offset of the data in the file
	size       uint32
	sum        uint32
	harvest    uint32 // number of the first harvest with the entry
	kind       raft.LogType
}

// mostTold is the greatest number of reported violations, and of reported gaps.
const mostTold = 20

// mostIndexes is the greatest number of indexes of a log. Open rejects an entry beyond it.
const mostIndexes = 1 << 32

// Open reads the archive of a run's life, from 1 on, and determines the committed entries.
func Open(runDir string, life int) (*Log, error) {
	l := &Log{dir: dirOf(runDir, life), more: map[uint64][]variant{}}
	if life > 1 {
		begin, err := readMeta(l.dir)
		if err != nil {
			return nil, fmt.Errorf("initial state of life %d: %w", life, err)
		}
		l.Base = Snapshot{begin.Index, begin.Term}
		for _, s := range begin.Configuration.Servers {
			if s.Suffrage == raft.Voter {
				l.Voters = append(l.Voters, string(s.ID))
			}
		}
	}
	err := readRecords(l.path(),
		func(r record, at int64) error { return l.add(&r, at) },
		func(s Summary) { l.Harvests = append(l.Harvests, s) })
	if err != nil {
		return nil, err
	}
	l.resolve()
	return l, nil
}

// path returns the path of the archive's file.
func (l *Log) path() string { return filepath.Join(l.dir, archiveFile) }

// place returns the position of an index in first and chain, from 0. The index must come after the base.
func (l *Log) place(index uint64) uint64 { return index - l.Base.Index - 1 }

func (l *Log) violation(format string, args ...any) {
	if len(l.Violations) < mostTold {
		l.Violations = append(l.Violations, fmt.Sprintf(format, args...))
	}
}

func (l *Log) incomplete(format string, args ...any) {
	if len(l.Incomplete) < mostTold {
		l.Incomplete = append(l.Incomplete, fmt.Sprintf(format, args...))
	}
}

// add adds an entry of a harvest. Index and term determine an entry and its predecessor, so a harvest with a different
// entry or predecessor is a violation.
func (l *Log) add(r *record, at int64) error {
	e := &r.entry
	if e.Index <= l.Base.Index || l.place(e.Index) >= mostIndexes || e.Term == 0 {
		return fmt.Errorf("invalid entry with index %d and term %d", e.Index, e.Term)
	}
	v := variant{
		term: e.Term, prev: r.prev, at: at, size: uint32(len(e.Data)), //nolint:gosec // G115: bounded by longestRecord
		sum: entrySum(e), harvest: r.harvest, kind: e.Type,
	}
	had := l.variant(e.Index, e.Term)
	if had == nil {
		l.insert(e.Index, v)
		return nil
	}
	if had.sum != v.sum || had.size != v.size || had.kind != v.kind {
		l.violation("entry %d of term %d has type %v and %d bytes in harvest %d, but type %v and %d bytes (checksums %08x and %08x) "+
			"in harvest %d of %s", e.Index, e.Term, had.kind, had.size, had.harvest, v.kind, v.size, had.sum, v.sum, r.harvest, r.member)
	}
	switch {
	case v.prev == 0:
	case had.prev == 0:
		had.prev = v.prev
	case had.prev != v.prev:
		l.violation("entry %d of term %d follows an entry of term %d in harvest %d, but an entry of term %d in harvest %d of %s",
			e.Index, e.Term, had.prev, had.harvest, v.prev, r.harvest, r.member)
	}
	return nil
}

func (l *Log) insert(index uint64, v variant) {
	place := l.place(index)
	for uint64(len(l.first)) <= place {
		l.first = append(l.first, variant{})
	}
	if l.first[place].term == 0 {
		l.first[place] = v
		return
	}
	l.more[index] = append(l.more[index], v)
}

// variant returns the entry with this index and term, nil if no harvest has it.
func (l *Log) variant(index, term uint64) *variant {
	if index <= l.Base.Index || l.place(index) >= uint64(len(l.first)) || term == 0 {
		return nil
	}
	if v := &l.first[l.place(index)]; v.term == term {
		return v
	}
	more := l.more[index]
	for i := range more {
		if more[i].term == term {
			return &more[i]
		}
	}
	return nil
}
