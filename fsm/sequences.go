package fsm

import (
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/btree"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// maxSequences is the greatest number of sequences of a cluster, including the deleted ones
// that are remembered.
const maxSequences = 1_000_000

// sequences holds all sequences by name. A name is in at most one of the trees, and its
// record has that name. The trees are separate so that a page of live sequences costs no
// more when many were deleted.
type sequences struct {
	live, deleted *btree.Map[string, *sequence]
	ended         int // number of ended periods that the sequences know
	formats       int // number of their earlier formats
}

func newSequences() sequences {
	return sequences{live: &btree.Map[string, *sequence]{}, deleted: &btree.Map[string, *sequence]{}}
}

// clone returns a copy in O(1). The copy and the original share the nodes that neither
// changes later. clone marks the original too, so no goroutine may read it meanwhile.
func (s *sequences) clone() sequences {
	return sequences{live: s.live.IsoCopy(), deleted: s.deleted.IsoCopy(), ended: s.ended, formats: s.formats}
}

func (s *sequences) len() int { return s.live.Len() + s.deleted.Len() }

// named returns the live sequence with that name.
func (s *sequences) named(name string) (*sequence, *Refused) {
	if q, ok := s.live.Get(name); ok {
		return q, nil
	}
	return nil, refuse(commandv1.Refusal_REFUSAL_UNKNOWN_SEQUENCE, "sequence %.128q does not exist; create it first", name)
}

// record returns the sequence with that name, live or deleted.
func (s *sequences) record(name string) (*sequence, bool) {
	if q, ok := s.live.Get(name); ok {
		return q, true
	}
	return s.deleted.Get(name)
}

// put adds or replaces a live sequence.
func (s *sequences) put(q *sequence) {
	deleted, _ := s.deleted.Delete(q.name)
	before, _ := s.live.Set(q.name, q)
	s.ended += q.endedCount() - before.endedCount() - deleted.endedCount()
	s.formats += len(q.earlier()) - len(before.earlier()) - len(deleted.earlier())
}

// putDeleted adds or replaces the record of a deleted sequence.
func (s *sequences) putDeleted(q *sequence) {
	before, _ := s.deleted.Set(q.name, q)
	s.ended += q.endedCount() - before.endedCount()
	s.formats += len(q.earlier()) - len(before.earlier())
}

// bury replaces a live sequence by q, its record as a deleted one. If nothing was granted,
// the record is kept only if always is set.
func (s *sequences) bury(q *sequence, always bool) {
	before, _ := s.live.Delete(q.name)
	s.ended -= before.endedCount()
	s.formats -= len(before.earlier())
	if q.used.some || always {
		s.putDeleted(q)
	}
}

// endable reports whether there is room for one more ended period.
func (s *sequences) endable() bool { return s.ended < maxAllEnded }

// shared returns spec, or an equal one of the neighbor in the order of names, because most
// of 100,000 sequences differ only in their names.
func (s *sequences) shared(name string, spec *sequenceSpec) *sequenceSpec {
	s.live.Descend(name, func(_ string, q *sequence) bool {
		if *q.spec == *spec {
			spec = q.spec
		}
		return false
	})
	return spec
}

// all returns the live and the deleted sequences in ascending order of their names.
func (s *sequences) all() iter.Seq2[*sequence, bool] {
	return func(yield func(q *sequence, deleted bool) bool) {
		live, deleted := s.live.Iter(), s.deleted.Iter()
		moreLive, moreDeleted := live.First(), deleted.First()
		for moreLive || moreDeleted {
			if moreLive && (!moreDeleted || live.Key() < deleted.Key()) {
				if !yield(live.Value(), false) {
					return
				}
				moreLive = live.Next()
				continue
			}
			if !yield(deleted.Value(), true) {
				return
			}
			moreDeleted = deleted.Next()
		}
	}
}

// Sequence returns the sequence with that name, unless it was deleted.
func (s *State) Sequence(name string) (Sequence, bool) {
	q, ok := s.sequences.live.Get(name)
	if !ok {
		return Sequence{}, false
	}
	return q.view(), true
}

// DeletedGeneration returns the generation that a deleted sequence got with its deletion;
// 0 if no deleted sequence of that name is remembered.
func (s *State) DeletedGeneration(name string) uint64 {
	if q, ok := s.sequences.deleted.Get(name); ok {
		return q.generation
	}
	return 0
}

// Remembered returns the sequence with that name, even a deleted one.
func (s *State) Remembered(name string) (Sequence, bool) {
	if q, ok := s.sequences.live.Get(name); ok {
		return q.view(), true
	}
	return s.DeletedSequence(name)
}

// RememberedGeneration returns the generation of a sequence, even of a deleted one; 0 if no sequence of that name is
// remembered.
func (s *State) RememberedGeneration(name string) uint64 {
	if q, ok := s.sequences.record(name); ok {
		return q.generation
	}
	return 0
}

// Sequences returns, in ascending order, up to limit sequences whose names come after a
// name and begin with prefix. No sequence needs to have the name. It takes O(log n + limit).
func (s *State) Sequences(after, prefix string, limit int) []Sequence {
	var page []Sequence
	s.sequences.live.Ascend(max(after, prefix), func(name string, q *sequence) bool {
		if len(page) >= limit || !strings.HasPrefix(name, prefix) {
			return false
		}
		if name > after {
			page = append(page, q.view())
		}
		return true
	})
	return page
}

// SequenceCount returns the number of sequences, without deleted ones.
func (s *State) SequenceCount() int { return s.sequences.live.Len() }

// DeletedSequenceCount returns the number of deleted sequences that are remembered. They count toward the limit.
func (s *State) DeletedSequenceCount() int { return s.sequences.deleted.Len() }

// SequenceNames returns, in ascending order, the names of up to n sequences just before a
// name and up to n just after it. No sequence needs to have the name, which is omitted.
func (s *State) SequenceNames(around string, n int) []string {
	var names []string
	take := func(name string, _ *sequence) bool {
		if n > 0 && name != around {
			names = append(names, name)
		}
		return len(names) < n
	}
	s.sequences.live.Descend(around, take)
	n += len(names)
	s.sequences.live.Ascend(around, take)
	slices.Sort(names)
	return names
}
