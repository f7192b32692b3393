package fsm

import (
	"iter"
	"math"
	"strings"

	"github.com/tidwall/btree"
)

// Listing holds the live sequences as they were at one moment. Reading it takes no lock and does not delay commands.
type Listing struct{ live *btree.Map[string, *sequence] }

// Listing returns the live sequences as they are now, in O(1). It takes the lock for that moment. Later commands copy the
// nodes of the tree that they change, so many readers should share one Listing.
func (m *Machine) Listing() Listing {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Listing{m.state.sequences.live.IsoCopy()}
}

// Brief holds the part of a sequence by which lists are ordered.
type Brief struct {
	Name string
	// Remaining is the number of numbers that were not granted in the period, Total the number of all numbers in a period;
	// both 0 unless Bounded.
	Remaining, Total uint64
	Bounded          bool  // the minimum or the maximum ends the sequence before the 64-bit numbers do
	Period           int32 // see Sequence
	Periods          Periods
	// Open is the count of the open reservations of a gapless sequence, OldestOpenMillis the time of the oldest one in Unix ms.
	Open             int
	OldestOpenMillis int64
}

// Len returns the number of sequences.
func (l Listing) Len() int { return l.live.Len() }

// After returns the sequences after a name for which match reports true, in ascending order of their names. No sequence
// needs to have the name. If match is nil, After returns all sequences after the name.
func (l Listing) After(name string, match func(name string) bool) iter.Seq[Brief] {
	return func(yield func(Brief) bool) {
		l.live.Ascend(name, func(key string, q *sequence) bool {
			if key == name && name != "" || match != nil && !match(key) {
				return true
			}
			return yield(q.brief())
		})
	}
}

// Begun returns the sequences after a name that began with the template of a pattern, in ascending order of their names. No
// sequence needs to have the name.
func (l Listing) Begun(pattern, after string) iter.Seq[Sequence] {
	prefix, _, _ := strings.Cut(pattern, wildcard)
	return func(yield func(Sequence) bool) {
		l.live.Ascend(max(after, prefix), func(name string, q *sequence) bool {
			switch {
			case !strings.HasPrefix(name, prefix):
				return false
			case name == after || q.spec.template != pattern:
				return true
			}
			return yield(q.view())
		})
	}
}

// Sequence returns the sequence with that name.
func (l Listing) Sequence(name string) (Sequence, bool) {
	q, ok := l.live.Get(name)
	if !ok {
		return Sequence{}, false
	}
	return q.view(), true
}

func (q *sequence) brief() Brief {
	b := Brief{Name: q.name, Period: q.period, Periods: q.spec.periods()}
	if q.spec.increment > 0 && q.spec.max < math.MaxInt64 || q.spec.increment < 0 && q.spec.min > math.MinInt64 {
		b.Bounded, b.Remaining, b.Total = true, q.remaining(), capacity(q.spec.start, q.spec.increment, q.spec.min, q.spec.max)
	}
	if l := q.ledger; l != nil {
		b.Open, b.OldestOpenMillis = l.opened.Len(), l.oldestOpen()
	}
	return b
}
