package fsm

import (
	"math"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/names"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The bounds of gapless sequences.
const (
	// MaxOpenReservations is the greatest number of open reservations of a sequence.
	MaxOpenReservations = 1000
	// maxKeys is the greatest number of keys that a sequence remembers, open ones included.
	maxKeys = 1 << 16
	// keyMillis is the time for which a key is remembered once its number is confirmed or void, by the observed clock. After
	// that, the key is new.
	keyMillis = 3_600_000
	// maxEntries is the greatest number of records in the ledgers of all sequences: periods, keys, and runs of numbers that
	// are not plainly confirmed. One sequence gets a quarter.
	maxEntries      = 1 << 20
	maxEntriesOfOne = maxEntries / 4
)

// posting is an edit of a gapless sequence by one command. The sequence and its ledger are copies.
type posting struct {
	state *State
	old   *sequence
	q     sequence
	l     *ledger
	stamp stamp
}

// gapless returns the gapless sequence of a name, unless it is frozen.
func (s *State) gapless(name string) (*sequence, *Refused) {
	q, refused := s.sequences.named(name)
	switch {
	case refused != nil:
		return nil, refused
	case !q.spec.gapless():
		return nil, RefuseNotGapless(name)
	}
	return q, q.thawed()
}

func (s *sequenceSpec) gapless() bool {
	return commandv1.SequenceMode(s.mode) == commandv1.SequenceMode_SEQUENCE_MODE_GAPLESS
}

// notByNext refuses to draw or set numbers of a gapless sequence without a reservation.
func (q *sequence) notByNext() *Refused {
	if !q.spec.gapless() {
		return nil
	}
	return RefuseGapless(q.name)
}

// RefuseGapless refuses a call that issues or sets numbers of a gapless sequence without a reservation.
func RefuseGapless(name string) *Refused {
	return refuse(commandv1.Refusal_REFUSAL_GAPLESS_SEQUENCE,
		"sequence %q is gapless, so each of its numbers needs a reservation; use \"snowraft seq reserve\"", name)
}

// RefuseNotGapless refuses a call about reservations of a sequence that has none.
func RefuseNotGapless(name string) *Refused {
	return refuse(commandv1.Refusal_REFUSAL_NOT_GAPLESS,
		"sequence %q is not gapless, so it has no reservations and no account of its numbers; use \"snowraft seq next\", or a gapless sequence", name)
}

// drawn reports whether a number of the name was ever drawn.
func (q *sequence) drawn() bool { return q.used.some || q.ledger != nil }

// edit begins an edit of a sequence.
func (s *State) edit(old *sequence, e entry) *posting {
	p := &posting{state: s, old: old, q: *old, stamp: stamp{index: e.index, at: max(s.observed, e.now), by: callerOf(e.cmd.GetActor())}}
	if p.l = newLedger(); old.ledger != nil {
		p.l = old.ledger.clone()
	}
	return p
}

// commit puts a copy of the edited sequence into the state. A pointer into the posting would keep the posting, and with it the sequence
// before the edit: all earlier states of the ledger.
func (p *posting) commit() {
	if p.l.periods.Len() > 0 {
		p.q.ledger = p.l
	}
	s := p.state
	s.entries += p.q.ledger.entries() - p.old.ledger.entries()
	q := p.q
	s.sequences.put(&q)
	if p.q.period != p.old.period {
		s.sequenceRevision++
	}
}

// startPeriod begins a period, if it is later than the sequence's. Voided numbers of the period before are not drawn again. The
// account of that period remembers which of its numbers were granted outside of the ledger: those of a deleted sequence of the
// name, and unknown ones of an earlier cluster.
func (p *posting) startPeriod(period int32) {
	if period > p.q.period {
		if p.q.used.some {
			ended := p.account(p.q.period)
			ended.cut = ended.cut || p.q.spent
		}
		p.q.startPeriod(period)
		p.l.free.Clear()
	}
}

// periodOf returns the period that a command without a reset means by 0: a restore may have removed the reset.
func (p *posting) periodOf(period int32) int32 {
	if !p.q.spec.resets() {
		return p.q.period
	}
	return period
}

// account returns the account of a period to edit. That of an ended period which a restore skipped begins as one that is cut.
func (p *posting) account(period int32) *account {
	first := p.q.spec.start
	if period == p.q.period {
		first = p.q.base
	}
	_, known := p.l.periods.Get(period)
	a := p.l.account(period, first)
	a.cut = a.cut || !known && period < p.q.period && period <= p.state.skippedPeriod(p.q.spec)
	return a
}

// note adds a number of a period to the numbers that were granted.
func (p *posting) note(period int32, n int64) {
	if period == p.q.period {
		p.q.used = p.q.used.add(n)
	}
}

// room refuses if the edited ledger exceeds a bound. A number that becomes confirmed or void needs no room.
func (p *posting) room() *Refused {
	mine := p.l.entries()
	all := p.state.entries - p.old.ledger.entries() + mine
	if mine <= maxEntriesOfOne && all <= p.state.maxEntries {
		return nil
	}
	return refuse(commandv1.Refusal_REFUSAL_LIMIT_REACHED,
		"limit of %d records of gapless sequences, %d of one, reached: %d of them are of sequence %q; confirming and voiding numbers continues, "+
			"and expired keys become free within hours; for void and taken numbers, which stay permanently, continue in another sequence",
		p.state.maxEntries, maxEntriesOfOne, mine, p.q.name)
}

// current refuses a command whose proposer computed the period for another generation.
func (q *sequence) current(generation uint64, period int32) *Refused {
	if generation < q.numbering || generation > q.generation {
		return q.checkGeneration(generation)
	}
	if err := q.spec.checkPeriod(period); err != nil {
		return invalid("%v", err)
	}
	return nil
}

func checkKey(key string) *Refused {
	if n := len(key); n < 1 || n > limits.ReservationKeyBytes {
		return invalid("key of %d bytes: expected 1 to %d bytes", n, limits.ReservationKeyBytes)
	}
	if err := names.CheckText("key", key); err != nil {
		return invalid("%v", err)
	}
	return nil
}

// checkReason checks the reason for which numbers are void, or taken.
func checkReason(reason string, required bool) *Refused {
	if n := len(reason); n > limits.ReasonBytes || required && n == 0 {
		return invalid("reason of %d bytes: expected 1 to %d bytes", n, limits.ReasonBytes)
	}
	if err := names.CheckText("reason", reason); err != nil {
		return invalid("%v", err)
	}
	return nil
}

// checkRange returns the end of the numbers [first, first + count).
func checkRange(first int64, count uint64) (until int64, refused *Refused) {
	if count == 0 || count > distance(first, math.MaxInt64) {
		return 0, invalid("%d numbers from %d on: expected at least 1, all below %d", count, first, int64(math.MaxInt64))
	}
	return int64(uint64(first) + count), nil
}

// outdatedLedger refuses a change of a sequence that its ledger rules out, even if it is forced: each number that was drawn
// must stay explained.
func (q *sequence) outdatedLedger(spec *sequenceSpec, moved bool) *Refused {
	switch {
	case (q.spec.gapless() || spec.gapless()) && moved:
		return RefuseGapless(q.name)
	case !q.drawn() || !q.spec.gapless() && !spec.gapless():
	case q.spec.mode != spec.mode:
		return invalid("sequence %q: the mode cannot change from or to gapless after numbers were drawn; create another sequence", q.name)
	case !q.spec.calendar().sameAs(spec.calendar()):
		return invalid("sequence %q: the reset of a gapless sequence cannot change after numbers were drawn; create another sequence", q.name)
	}
	return nil
}
