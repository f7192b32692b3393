package fsm

import (
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/btree"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// maxSequences is the greatest number of sequences of a cluster, with the deleted ones that
// are remembered.
const maxSequences = 1_000_000

// sequences are all sequences by name. A name is in at most one of the trees, under
// a record that has it. They are apart so that a page of live ones costs no more
// where many were deleted.
type sequences struct {
	live, deleted *btree.Map[string, *sequence]
}

func newSequences() sequences {
	return sequences{live: &btree.Map[string, *sequence]{}, deleted: &btree.Map[string, *sequence]{}}
}

// clone takes a copy in O(1): the two share what neither changes from now on. It
// marks the original too, so no goroutine may read it meanwhile.
func (s sequences) clone() sequences {
	return sequences{live: s.live.IsoCopy(), deleted: s.deleted.IsoCopy()}
}

func (s sequences) len() int { return s.live.Len() + s.deleted.Len() }

// named returns the sequence of that name.
func (s sequences) named(name string) (*sequence, *Refused) {
	if q, ok := s.live.Get(name); ok {
		return q, nil
	}
	return nil, refuse(commandv1.Refusal_REFUSAL_UNKNOWN_SEQUENCE, "sequence %.128q does not exist; create it first", name)
}

// put adds or replaces a live sequence.
func (s sequences) put(q *sequence) {
	s.deleted.Delete(q.name)
	s.live.Set(q.name, q)
}

// bury replaces a live sequence by what is remembered of it; if nothing was granted,
// that is nothing.
func (s sequences) bury(q *sequence) {
	s.live.Delete(q.name)
	if q.used.some {
		s.deleted.Set(q.name, q)
	}
}

// shared returns spec, or an equal one that the neighbour in the order of names has:
// most of a hundred thousand sequences differ in nothing but their names.
func (s sequences) shared(name string, spec *sequenceSpec) *sequenceSpec {
	s.live.Descend(name, func(_ string, q *sequence) bool {
		if *q.spec == *spec {
			spec = q.spec
		}
		return false
	})
	return spec
}

// all returns the live and the deleted ones, by name.
func (s sequences) all() iter.Seq2[*sequence, bool] {
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

// Sequence returns the sequence of that name, unless it was deleted.
func (s *State) Sequence(name string) (Sequence, bool) {
	q, ok := s.sequences.live.Get(name)
	if !ok {
		return Sequence{}, false
	}
	return q.view(), true
}

// DeletedGeneration returns the generation that a deleted sequence got with its deletion,
// or 0 if none of that name is remembered.
func (s *State) DeletedGeneration(name string) uint64 {
	if q, ok := s.sequences.deleted.Get(name); ok {
		return q.generation
	}
	return 0
}

// RememberedGeneration returns the generation of a sequence, also of a deleted one, or 0 if none of that name is
// remembered.
func (s *State) RememberedGeneration(name string) uint64 {
	if q, ok := s.sequences.live.Get(name); ok {
		return q.generation
	}
	return s.DeletedGeneration(name)
}

// Sequences returns up to limit sequences in ascending order of their names: those
// after a name, which need not be one, that begin with prefix. It takes O(log n + limit).
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

// SequenceCount returns how many sequences there are.
func (s *State) SequenceCount() int { return s.sequences.live.Len() }

// SequenceNames returns the names of up to n sequences that come just before a name,
// which need not be one, and up to n that come just after, in ascending order.
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
