package fsm

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	// maxEnded is the greatest number of ended periods that the state knows of one sequence: the days of the longest late time.
	maxEnded = 400
	// maxAllEnded is the greatest number of ended periods that the state knows of all sequences. The end of a further period is
	// not kept, so the period is unknown.
	maxAllEnded = 1 << 21
)

// ended is a period that ended: the counter of its late numbers.
type ended struct {
	period int32
	frozen bool  // closed by a restore until it is resumed
	base   int64 // a number from which the numbers of the period count
	used   hull  // holds every number that was granted in the period
}

// late holds what a sequence knows of its earlier periods. It is never changed, only replaced; nil is the zero late.
//
// It keeps these invariants. It follows from them that no number of an ended period is granted twice, unless the end that
// a caller stated was not true:
//
//   - The numbers of an ended period begin beyond the hull of all numbers that were granted in it, before and after its
//     end. The hull only grows. No block of the period can be returned after its end.
//   - A period without a record is unknown, not empty.
//   - open never decreases, and ends has only periods from open on.
type late struct { //nolint:recvcheck // a *late may be nil, and has only value
	ends  []ended // ascending by period, at most maxEnded
	since int32   // the ends of this period and earlier ones are not kept: they began before numbers could be late
	open  int32   // all periods before this one are closed permanently
}

// value returns the late that l points to.
func (l *late) value() late {
	if l == nil {
		return late{}
	}
	return *l
}

// pointer is the inverse of value.
func (l late) pointer() *late {
	if len(l.ends) == 0 {
		l.ends = nil // like a state that was read
	}
	if l.ends == nil && l.since == 0 && l.open == 0 {
		return nil
	}
	return &l
}

// find returns the record of an ended period.
func (l late) find(period int32) (e ended, ok bool) {
	i, ok := l.place(period)
	if ok {
		e = l.ends[i]
	}
	return e, ok
}

func (l late) place(period int32) (i int, ok bool) {
	return slices.BinarySearchFunc(l.ends, period, func(e ended, period int32) int { return cmp.Compare(e.period, period) })
}

// with returns l with the record of an open period, which replaces the one that l has. It closes the earliest period if
// there are too many.
func (l late) with(e ended) late {
	i, ok := l.place(e.period)
	switch {
	case e.period < l.open:
		return l
	case ok:
		l.ends = slices.Clone(l.ends)
		l.ends[i] = e
		return l
	}
	l.ends = slices.Concat(l.ends[:i], []ended{e}, l.ends[i:])
	if len(l.ends) > maxEnded {
		l = l.closeBefore(l.ends[1].period)
	}
	return l
}

// closeBefore closes all periods before one.
func (l late) closeBefore(period int32) late {
	if period > l.open {
		l.open = period
		i, _ := l.place(period)
		l.ends = slices.Clip(l.ends[i:])
	}
	return l
}

// join returns what covers l and other: what either of them closed or granted.
func (l late) join(other late) late {
	l, other = l.closeBefore(other.open), other.closeBefore(l.open)
	for _, e := range other.ends {
		if own, ok := l.find(e.period); ok {
			e = ended{e.period, e.frozen || own.frozen, own.base, own.used.join(e.used)}
		}
		l = l.with(e)
	}
	l.since = max(l.since, other.since)
	return l
}

// freeze returns l with all ended periods closed until they are resumed.
func (l late) freeze() late {
	l.ends = slices.Clone(l.ends)
	for i := range l.ends {
		l.ends[i].frozen = true
	}
	return l
}

// endedCount returns the number of ended periods that the sequence knows.
func (q *sequence) endedCount() int {
	if q == nil || q.late == nil {
		return 0
	}
	return len(q.late.ends)
}

// roll begins a later period, and keeps the end of the present one if its numbers may be late and there is room. The ledger of
// a gapless sequence keeps it anyway.
func (q *sequence) roll(period int32, room bool) {
	if l := q.late.value(); room && q.spec.lateMillis > 0 && q.period > l.since && !q.spec.gapless() {
		q.late = l.with(ended{period: q.period, base: q.base, used: q.used}).pointer()
	}
	q.startPeriod(period)
}

// counter returns the counter of an ended period as a sequence: its next number lies beyond all that were granted in it.
func (q *sequence) counter(e ended) *sequence {
	c := &sequence{name: q.name, spec: q.spec, numbering: q.numbering, period: e.period, base: e.base, used: e.used}
	skip := uint64(0)
	if bound, known := e.used.end(q.spec.increment); known {
		skip = stepsBeyond(e.base, bound, q.spec.increment)
	}
	if skip < capacity(e.base, q.spec.increment, math.MinInt64, math.MaxInt64) {
		c.base = numberAt(e.base, skip, q.spec.increment)
	} else {
		c.spent = true
	}
	return c
}

// closeUnaccounted closes all periods before the one in which a sequence becomes gapless. Its ledger has none of their numbers.
func (q *sequence) closeUnaccounted(current int32) {
	if q.spec.gapless() {
		q.closeBefore(max(q.period, current))
	}
}

// setEnded keeps the counter of an ended period.
func (q *sequence) setEnded(c *sequence) {
	q.late = q.late.value().with(ended{period: c.period, base: c.base, used: c.used}).pointer()
	q.leaveTrace()
}

// leaveTrace records that something was granted under the name, if nothing was granted in the period.
func (q *sequence) leaveTrace() {
	if !q.used.some {
		q.used = trace(q.base, q.spec.increment)
	}
}

// inherit takes over the earlier periods of old, the same sequence before a change or the deleted one of its name. Late
// numbers begin with the period after the one that the proposer's clock is in.
func (q *sequence) inherit(old *sequence, current int32) {
	l := old.late.value()
	if !q.spec.calendar().sameAs(old.spec.calendar()) {
		l = late{}
	}
	switch now, before := q.spec.lateMillis > 0, old.spec.lateMillis > 0 && q.spec.calendar().sameAs(old.spec.calendar()); {
	case now && !before:
		l.since = max(l.since, q.period, current)
	case before && !now:
		l = l.closeBefore(max(q.period, current))
	}
	q.keep(l)
}

// keep sets the earlier periods of q. A forced creation may have begun in one of them. They close if numbers of q cannot be
// late.
func (q *sequence) keep(l late) {
	i, _ := l.place(q.period)
	l.ends = slices.Clip(l.ends[:i])
	if q.spec.lateMillis == 0 && len(l.ends) > 0 {
		l = l.closeBefore(q.period)
	}
	q.late = l.pointer()
}

// closeBefore closes all periods before one, if numbers can be late.
func (q *sequence) closeBefore(period int32) {
	if q.spec.lateMillis > 0 {
		q.late = q.late.value().closeBefore(period).pointer()
	}
}

// counterOf returns the counter of the only period whose numbers are wanted, which may be q itself; q if any period is fine.
func (s *State) counterOf(q *sequence, only int32, from *int64) (*sequence, *Refused) {
	switch {
	case only == 0, only == q.period && from == nil:
		return q, nil
	case only == q.period:
		return nil, invalid("from: the period %s of sequence %q has not ended; omit from", day(only), q.name)
	}
	if refused := q.checkEnded(only); refused != nil {
		return nil, refused
	}
	if _, known := q.late.value().find(only); !known && from != nil && !s.sequences.endable() {
		return nil, refuseEnded()
	}
	return q.lateCounter(only, from, s.skippedPeriod(q.spec))
}

func refuseEnded() *Refused {
	return refuse(commandv1.Refusal_REFUSAL_LIMIT_REACHED,
		"limit of %d ended periods of all sequences reached; shorten the late times, or wait until periods close", maxAllEnded)
}

// lateCounter returns the counter of an ended period, or of one whose next number the caller states. No caller states the
// end of a period up to fence: an earlier cluster may have granted numbers of it after its end.
func (q *sequence) lateCounter(period int32, from *int64, fence int32) (*sequence, *Refused) {
	l := q.late.value()
	e, known := l.find(period)
	switch {
	case q.spec.lateMillis == 0 || period < l.open:
		return nil, q.closed(period)
	case known && e.frozen, !known && period <= fence:
		return nil, refuse(commandv1.Refusal_REFUSAL_SEQUENCE_FROZEN,
			"sequence %q: the earlier cluster may have granted more numbers of the period %s; resume it with \"snowraft seq resume --period\"", q.name, day(period))
	case known && from != nil:
		return nil, invalid("from: the end of the period %s of sequence %q is known; omit from", day(period), q.name)
	case known:
		return q.counter(e), nil
	case from == nil:
		return nil, refuse(commandv1.Refusal_REFUSAL_PERIOD_UNKNOWN,
			"sequence %q: the last number of the period %s is not known; state the next one, from which on none was issued (from, --from)", q.name, day(period))
	case *from < q.spec.min || *from > q.spec.max:
		return nil, invalid("from %d: expected %d to %d", *from, q.spec.min, q.spec.max)
	}
	return q.counter(ended{period: period, base: *from}), nil
}

// checkEnded refuses a period that is not before the present one.
func (q *sequence) checkEnded(period int32) *Refused {
	switch {
	case !q.spec.resets():
		return invalid("period: sequence %q has no reset, so its numbers have no period; omit the period", q.name)
	case checkDate(period) != nil:
		return invalid("%v", checkDate(period))
	case period >= q.period:
		return invalid("period %s of sequence %q: expected a period before %s", day(period), q.name, day(q.period))
	}
	return nil
}

func (q *sequence) closed(period int32) *Refused {
	if q.spec.lateMillis == 0 {
		return refuse(commandv1.Refusal_REFUSAL_PERIOD_CLOSED,
			"sequence %q grants no numbers of earlier periods, such as %s; use the present one, or set the time for late numbers (--late)", q.name, day(period))
	}
	why := "its late time has passed"
	if q.spec.gapless() {
		why += ", or its end came before the sequence was gapless"
	}
	return refuse(commandv1.Refusal_REFUSAL_PERIOD_CLOSED, "period %s of sequence %q is closed: %s; use the present period", day(period), q.name, why)
}

// day returns a period as its first day, such as 2026-11-01.
func day(period int32) string {
	return fmt.Sprintf("%04d-%02d-%02d", period/10_000, period/100%100, period%100)
}

// Ended is a period of a sequence that ended, and whose numbers may still be granted.
type Ended struct {
	Period    int32  // see Sequence
	Next      int64  // the next number, if Remaining > 0
	Remaining uint64 // count of the numbers that were not granted; at most 2^64-1
	Frozen    bool   // closed by a restore until it is resumed
}

// Ended returns the ended periods of which the state knows the end, in ascending order. Some may have closed since.
func (s Sequence) Ended() []Ended {
	if s.late == nil {
		return nil
	}
	q, all := &sequence{spec: compact(s.Spec)}, make([]Ended, 0, len(s.late.ends))
	for _, e := range s.late.ends {
		c := q.counter(e)
		v := Ended{Period: e.period, Remaining: c.remaining(), Frozen: e.frozen}
		if v.Remaining > 0 {
			v.Next, _ = c.next()
		}
		all = append(all, v)
	}
	return all
}

// usesLate reports whether a command uses a field of numbers of earlier periods.
func usesLate(cmd *commandv1.Command) bool {
	update, allocate := cmd.GetUpdateSequence(), cmd.GetAllocateBlock()
	return cmd.GetCreateSequence().GetSpec().GetLateMs() != 0 || update.GetSpec().GetLateMs() != 0 ||
		update.GetPeriod() != 0 || update.GetOpenFrom() != 0 || cmd.GetResumeSequence().GetPeriod() != 0 ||
		allocate.GetOnlyPeriod() != 0 || allocate.GetOpenFrom() != 0 || allocate != nil && allocate.From != nil
}
