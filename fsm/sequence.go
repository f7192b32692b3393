package fsm

import (
	"math"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Sequence is one sequence as it was when it was read. Spec must not be changed.
type Sequence struct {
	Spec          *commandv1.SequenceSpec
	CreatedMillis int64  // Unix ms on the creator's clock
	Incarnation   uint64 // log index of the command that created the sequence
	Generation    uint64 // log index of the last change; grants and returns of blocks do not count
	Numbering     uint64 // log index of the last change of anything but the description; blocks from before it are outdated

	// Period is the first day of the period, as the decimal number yyyymmdd; 0 before
	// the first one.
	Period int32

	Next      int64  // the next number that was not granted, if Remaining > 0
	Remaining uint64 // count of the numbers that were not granted in this period; at most 2^64-1
	Last      int64  // the last number granted in this period, if HasLast

	// HasLast is false if nothing was granted since the period began, the next
	// number was set, or the increment was changed.
	HasLast bool

	// Only of a gapless sequence: count of its open reservations and of its unknown numbers in all periods, and the time
	// of the oldest open reservation in Unix ms, 0 if there is none.
	Open, Unknown    uint64
	OldestOpenMillis int64

	Frozen  bool // grants nothing until it is resumed after a restore
	Moved   bool // another system issues the numbers from Next on, and this one grants nothing until it is resumed
	Deleted bool // set in the results of Frozen, ResumeSequence and DeletedSequence only
	Coded   bool // a format of the name writes codes, or wrote them

	Forgotten bool // the formats of a deleted sequence are not remembered

	// FormatsStated reports whether the operator of a restored cluster stated the formats that the name got after the backup.
	FormatsStated bool

	spent   bool // see sequence
	late    *late
	formats *formats
}

// sequence is one sequence, or the record of a deleted one. It is never changed, only
// replaced, so that snapshots share it.
//
// It keeps two invariants. It follows from them that no number is granted twice in one
// period unless an operator forces it:
//
//   - The numbers of the current period with the indexes [0, granted) were granted,
//     and number i is base + i*increment, exactly, an int64. A block begins at the
//     index granted and raises that. Only ReturnBlock lowers it again, by the unused
//     end of the block that was granted last, once.
//   - used holds every number that was granted in the current period, also before
//     the base was moved, and by earlier sequences of that name. Moving the base or
//     changing the increment is refused if a number that follows may be in used. used
//     is empty only if no number is remembered that was granted under this name in any
//     period.
//
// period never decreases, and used is emptied only when period increases.
type sequence struct {
	name        string
	spec        *sequenceSpec // may be shared; never changed
	created     int64         // Unix ms
	incarnation uint64
	generation  uint64
	numbering   uint64

	base    int64
	granted uint64

	// The last block has the indexes [lastFrom, granted), if lastToken is not 0. Then
	// everything else in used comes before its first number, see giveBack.
	lastFrom, lastToken uint64
	lastKeyHash         [hashBytes]byte // zeros if lastToken is 0

	// ledger accounts for every number of a gapless sequence, of which base is the first number of the current period and
	// granted is 0. It is nil before the first number, and of other sequences.
	ledger *ledger

	used   hull
	late   *late // nil: nothing is known of earlier periods
	period int32

	spent   bool // nothing is left to grant in the period, whatever base and granted say
	stops   stops
	code    code
	formats *formats // nil: none, and no statement
}

// stops are the reasons for which a sequence grants nothing and does not change.
type stops uint8

const (
	stopFrozen stops = 1 << iota // the generation is before the restore
	stopMoved                    // see moveSequence
)

func (s stops) frozen() bool { return s&stopFrozen != 0 }
func (s stops) moved() bool  { return s&stopMoved != 0 }

// last returns the last number that was granted from base.
func (q *sequence) last() (n int64, ok bool) {
	if q.granted == 0 {
		return 0, false
	}
	return numberAt(q.base, q.granted-1, q.spec.increment), true
}

// next returns the number with the index granted; ok is false if it is not an int64. It
// may be outside [min, max].
func (q *sequence) next() (n int64, ok bool) {
	last, some := q.last()
	if !some {
		return q.base, true
	}
	return after(last, q.spec.increment)
}

// remaining returns the number of numbers that can still be granted in this period.
func (q *sequence) remaining() uint64 {
	next, ok := q.next()
	if !ok || q.spent {
		return 0
	}
	left := capacity(next, q.spec.increment, q.spec.min, q.spec.max)
	return min(left, math.MaxUint64-q.granted)
}

// startPeriod begins a later period.
func (q *sequence) startPeriod(period int32) {
	q.period = period
	q.moveTo(q.spec.start)
	q.used = hull{}
}

// moveTo makes n the next number.
func (q *sequence) moveTo(n int64) {
	q.base, q.granted, q.lastFrom, q.spent = n, 0, 0, false
	q.forbidReturn()
}

// forbidReturn makes the last block one that cannot be returned.
func (q *sequence) forbidReturn() { q.lastToken, q.lastKeyHash = 0, [hashBytes]byte{} }

// grant grants the next count numbers, at most as many as remain. The block can be
// returned under its token with the key of the hash, if the token is not 0.
func (q *sequence) grant(count, token uint64, keyHash [hashBytes]byte) {
	first, _ := q.next()
	q.lastFrom, q.lastToken, q.lastKeyHash = q.granted, token, keyHash
	if token == 0 || !q.used.behind(first, q.spec.increment) {
		q.forbidReturn() // forced to repeat numbers: no record tells what else was granted here
	}
	q.granted += count
	last, _ := q.last()
	q.used = q.used.add(first).add(last)
}

// giveBack takes back the last unused numbers of the last block, which can then not
// be returned anymore. The rest of used is exact, or too large if all of it
// was returned.
func (q *sequence) giveBack(unused uint64) {
	first := numberAt(q.base, q.lastFrom, q.spec.increment)
	q.granted -= unused
	q.forbidReturn()
	switch {
	case q.granted > q.lastFrom:
		last, _ := q.last()
		if q.spec.increment > 0 {
			q.used.high = last
		} else {
			q.used.low = last
		}
	case q.used.low < first && q.spec.increment > 0 || q.used.high > first && q.spec.increment < 0:
		q.used = q.used.cut(first, q.spec.increment)
	case q.period == 0:
		q.used = hull{}
	default:
		q.used = trace(first, q.spec.increment) // earlier periods may have had some
	}
}

// view returns the sequence in the form for readers.
func (q *sequence) view() Sequence {
	v := Sequence{
		Spec: q.spec.message(q.name), CreatedMillis: q.created, Incarnation: q.incarnation,
		Generation: q.generation, Numbering: q.numbering, Period: q.period, Remaining: q.remaining(), Frozen: q.stops.frozen(), Moved: q.stops.moved(),
		Coded: q.code != code{}, FormatsStated: q.formatsStated(), formats: q.formats, spent: q.spent, late: q.late,
	}
	v.Last, v.HasLast = q.last()
	if q.spec.gapless() {
		q.viewLedger(&v)
	} else if v.Remaining > 0 {
		v.Next, _ = q.next()
	}
	return v
}
