package raftlog

import (
	"cmp"
	"slices"
)

// resolve finds the end of what was committed, walks back from it, and compares what
// snapshots said.
func (l *Log) resolve() {
	last := l.lastHarvests()
	l.findFinal(last)
	if l.Final <= l.Base.Index {
		l.incomplete("the last harvests of %d members have nothing that a majority of them agrees on", len(last))
		return
	}
	l.walk()
	l.checkSnapshots()
}

// lastHarvests returns the last harvest of each member that has a log, by name.
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

// findFinal finds the highest entry that a majority has. For each of them it looks up to
// which index every other agrees with it.
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

// common is the highest point that the chains behind two points share, zero if there is
// none or if it can't be known.
func (l *Log) common(a, b Snapshot) Snapshot {
	for a.Index > 0 && b.Index > 0 {
		switch {
		case a == b:
			return a
		case a.Index >= b.Index:
			// Where both are at one index, a goes back first, then b.
			a = l.before(a)
		default:
			b = l.before(b)
		}
	}
	return Snapshot{}
}

// before is the point before another one, zero if there is none or if it can't be known.
func (l *Log) before(p Snapshot) Snapshot {
	v := l.variant(p.Index, p.Term)
	if v == nil || v.prev == 0 {
		return Snapshot{}
	}
	return Snapshot{p.Index - 1, v.prev}
}

// walk follows the chain from its end to the base. Behind a gap it goes on where a snapshot
// tells the term.
func (l *Log) walk() {
	l.chain = make([]*variant, l.Final-l.Base.Index)
	term := l.FinalTerm
	for i := l.Final; i > l.Base.Index; i-- {
		if term == 0 {
			term = l.anchor(i)
		}
		v := l.variant(i, term)
		if v == nil {
			l.incomplete("no harvest has entry %d of term %d (0: it is not known which)", i, term)
			term = 0
			continue
		}
		l.chain[l.place(i)] = v
		switch {
		case v.prev > v.term:
			l.violation("entry %d is of term %d, and the one before it of term %d", i, v.term, v.prev)
		case v.prev == 0 && i > l.Base.Index+1 && l.anchor(i-1) == 0:
			l.incomplete("no harvest shows which entry comes before entry %d of term %d", i, v.term)
		}
		term = v.prev
	}
}

// anchor is the term that snapshots say an index has, 0 if none ends there.
func (l *Log) anchor(index uint64) uint64 {
	for i := range l.Harvests {
		if term := l.Harvests[i].termAt(index); term != 0 {
			return term
		}
	}
	return 0
}

// checkSnapshots compares the chain with the snapshots: only what is committed is in one, so
// nothing may ever have replaced it.
func (l *Log) checkSnapshots() {
	told := map[Snapshot]bool{}
	for i := range l.Harvests {
		h := &l.Harvests[i]
		for _, s := range h.Snapshots {
			if told[s] {
				continue
			}
			told[s] = true
			l.checkSnapshot(h, s)
		}
	}
}

func (l *Log) checkSnapshot(h *Summary, s Snapshot) {
	switch {
	case s == l.Base: // what a restored cluster begins with
	case s.Index <= l.Base.Index:
		l.violation("%s had a snapshot up to entry %d of term %d in harvest %d, and the cluster began after entry %d of term %d",
			h.Member, s.Index, s.Term, h.Number, l.Base.Index, l.Base.Term)
	case s.Index <= l.Final:
		if v := l.chain[l.place(s.Index)]; v != nil && v.term != s.Term {
			l.violation("%s had a snapshot up to entry %d of term %d in harvest %d, so that was committed; in the end the entry is of term %d",
				h.Member, s.Index, s.Term, h.Number, v.term)
		}
	case h.At <= l.FinalAt:
		l.violation("%s had a snapshot up to entry %d of term %d in harvest %d, so that was committed; "+
			"in the end a majority has nothing after entry %d of term %d", h.Member, s.Index, s.Term, h.Number, l.Final, l.FinalTerm)
	default:
		l.incomplete("%s had a snapshot up to entry %d in harvest %d, and most members were harvested before that", h.Member, s.Index, h.Number)
	}
}
