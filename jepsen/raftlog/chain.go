package raftlog

import (
	"cmp"
	"slices"
)

// resolve finds the last committed entry, follows the chain back from there, and compares the chain with the snapshots.
func (l *Log) resolve() {
	last := l.lastHarvests()
	l.findFinal(last)
	if l.Final <= l.Base.Index {
		l.incomplete("no entry is in the last harvests of a majority of %d members", len(last))
		return
	}
	l.walk()
	l.checkSnapshots()
}

// lastHarvests returns the last harvest of each member that has a log, in the order of their names.
func (l *Log) lastHarvests() []*Summary {
	byMember := map[string]*Summary{}
	for i := range l.Harvests {
		byMember[l.Harvests[i].Member] = &l.Harvests[i]
	}
	last := make([]*Summary, 0, len(byMember))
	for _, s := range byMember {
		if !s.Absent {
			last = append(last, s)
		}
	}
	slices.SortFunc(last, func(a, b *Summary) int { return cmp.Compare(a.Member, b.Member) })
	return last
}

// findFinal finds the highest entry that a majority of the last harvests has. For each harvest it determines the index up to
// which every other agrees.
func (l *Log) findFinal(last []*Summary) {
	majority := len(last)/2 + 1
	type agreed struct {
		upTo Snapshot
		at   int64
	}
	for _, mine := range last {
		with := make([]agreed, 0, len(last))
		for _, other := range last {
			with = append(with, agreed{l.common(mine.tip(), other.tip()), other.At})
		}
		slices.SortStableFunc(with, func(a, b agreed) int { return cmp.Compare(b.upTo.Index, a.upTo.Index) })
		if end := with[majority-1].upTo; end.Index > l.Final {
			l.Final, l.FinalTerm = end.Index, end.Term
			l.FinalAt = with[0].at
			for _, w := range with[:majority] {
				l.FinalAt = min(l.FinalAt, w.at)
			}
		}
	}
}

// common returns the highest point that the chains ending at two points share, zero if there is none or if it is unknown.
func (l *Log) common(a, b Snapshot) Snapshot {
	for a.Index > 0 && b.Index > 0 {
		switch {
		case a == b:
			return a
		case a.Index >= b.Index:
			// If both have the same index, a moves back first, then b.
			a = l.before(a)
		default:
			b = l.before(b)
		}
	}
	return Snapshot{}
}

// before returns the point before another one, zero if there is none or if it is unknown.
func (l *Log) before(p Snapshot) Snapshot {
	v := l.variant(p.Index, p.Term)
	if v == nil || v.prev == 0 {
		return Snapshot{}
	}
	return Snapshot{p.Index - 1, v.prev}
}

// walk follows the chain from its end to the base. After a gap it continues at the next index whose term a snapshot
// shows.
func (l *Log) walk() {
	l.chain = make([]*variant, l.Final-l.Base.Index)
	term := l.FinalTerm
	for i := l.Final; i > l.Base.Index; i-- {
		if term == 0 {
			term = l.anchor(i)
		}
		v := l.variant(i, term)
		if v == nil {
			l.incomplete("no harvest has entry %d of term %d (0 if the term is unknown)", i, term)
			term = 0
			continue
		}
		l.chain[l.place(i)] = v
		switch {
		case v.prev > v.term:
			l.violation("entry %d has term %d, but follows an entry of term %d", i, v.term, v.prev)
		case v.prev == 0 && i > l.Base.Index+1 && l.anchor(i-1) == 0:
			l.incomplete("no harvest shows the term of the entry before entry %d of term %d", i, v.term)
		}
		term = v.prev
	}
}

// anchor returns the term of an index according to the snapshots that end there, 0 if there is none.
func (l *Log) anchor(index uint64) uint64 {
	for i := range l.Harvests {
		if term := l.Harvests[i].termAt(index); term != 0 {
			return term
		}
	}
	return 0
}

// checkSnapshots compares the chain with the snapshots. A snapshot holds only committed entries, which are never replaced.
func (l *Log) checkSnapshots() {
	reported := map[Snapshot]bool{}
	for i := range l.Harvests {
		h := &l.Harvests[i]
		for _, s := range h.Snapshots {
			if reported[s] {
				continue
			}
			reported[s] = true
			l.checkSnapshot(h, s)
		}
	}
}

func (l *Log) checkSnapshot(h *Summary, s Snapshot) {
	switch {
	case s == l.Base: // initial state of a restored cluster
	case s.Index <= l.Base.Index:
		l.violation("%s had a snapshot up to entry %d of term %d in harvest %d, but the cluster began after entry %d of term %d",
			h.Member, s.Index, s.Term, h.Number, l.Base.Index, l.Base.Term)
	case s.Index <= l.Final:
		if v := l.chain[l.place(s.Index)]; v != nil && v.term != s.Term {
			l.violation("%s had a snapshot up to entry %d of term %d in harvest %d, so the entry was committed; "+
				"in the final log it has term %d", h.Member, s.Index, s.Term, h.Number, v.term)
		}
	case h.At <= l.FinalAt:
		l.violation("%s had a snapshot up to entry %d of term %d in harvest %d, so the entry was committed; "+
			"the final log of a majority ends at entry %d of term %d", h.Member, s.Index, s.Term, h.Number, l.Final, l.FinalTerm)
	default:
		l.incomplete("%s had a snapshot up to entry %d in harvest %d, after the last harvests of other members",
			h.Member, s.Index, h.Number)
	}
}
