package raftlog

import (
	"fmt"
	"path/filepath"

	"github.com/hashicorp/raft"
)

// Log is what an archive shows of the log that was committed.
type Log struct {
	// Base is what comes before the first entry: zero, or what a restored cluster began with. Voters are the IDs of its
	// voters there.
	Base   Snapshot
	Voters []string
	// Final is the last index that was committed, and FinalTerm its term: a majority of the
	// last harvests of all members have it. 0 if there is none.
	Final     uint64
	FinalTerm uint64
	// FinalAt is when the first of those harvests was, on the clock of the harvests.
	FinalAt int64

	// Violations are contradictions to what Raft promises, in sentences; at most 20.
	Violations []string
	// Incomplete says what no harvest shows of (Base, Final], in sentences; at most 20. Unless it is
	// empty, the log proves nothing.
	Incomplete []string

	Harvests []Summary // in their order

	dir   string
	first []variant            // by place; of term 0 if there is none
	more  map[uint64][]variant // further ones, of other terms
	chain []*variant           // by place, up to Final; nil where something is missing
}

// variant is one of the entries that harvests saw at an index.
type variant struct {
	term, prev uint64 // prev is 0 while it is not known
	at         int64  // where its data is in the file
	size       uint32
	sum        uint32
	harvest    uint32 // that saw it first
	kind       raft.LogType
}

// mostTold is the greatest number of violations, and of gaps, that are reported.
const mostTold = 20

// mostIndexes bounds the indexes of a log: more are nonsense.
const mostIndexes = 1 << 32

// Open reads the archive of a run's life, from 1 on, and resolves what was committed.
func Open(runDir string, life int) (*Log, error) {
	l := &Log{dir: dirOf(runDir, life), more: map[uint64][]variant{}}
	if life > 1 {
		begin, err := readMeta(l.dir)
		if err != nil {
			return nil, fmt.Errorf("what life %d began with: %w", life, err)
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

// path is the archive's file.
func (l *Log) path() string { return filepath.Join(l.dir, archiveFile) }

// place is where the entry of an index is, from 0 on. The index must come after the base.
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

// add takes an entry that a harvest saw. Index and term determine an entry and the one
// before it: a harvest that has it otherwise is a violation.
func (l *Log) add(r *record, at int64) error {
	e := &r.entry
	if e.Index <= l.Base.Index || l.place(e.Index) >= mostIndexes || e.Term == 0 {
		return fmt.Errorf("an entry of index %d and term %d", e.Index, e.Term)
	}
	v := variant{
		term: e.Term, prev: r.prev, at: at, size: uint32(len(e.Data)), //nolint:gosec // G115: of a record's size
		sum: entrySum(e), harvest: r.harvest, kind: e.Type,
	}
	had := l.variant(e.Index, e.Term)
	if had == nil {
		l.insert(e.Index, v)
		return nil
	}
	if had.sum != v.sum || had.size != v.size || had.kind != v.kind {
		l.violation("entry %d of term %d is of type %v with %d bytes in harvest %d, and of type %v with %d bytes (checksums %08x and %08x) "+
			"in harvest %d, of %s", e.Index, e.Term, had.kind, had.size, had.harvest, v.kind, v.size, had.sum, v.sum, r.harvest, r.member)
	}
	switch {
	case v.prev == 0:
	case had.prev == 0:
		had.prev = v.prev
	case had.prev != v.prev:
		l.violation("entry %d of term %d comes after one of term %d in harvest %d, and after one of term %d in harvest %d, of %s",
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

// variant returns the entry of an index and a term, nil if no harvest saw it.
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
