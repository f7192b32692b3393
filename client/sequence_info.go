package client

import (
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
)

// SequenceInfo describes a sequence of the cluster: its specification, with defaults filled in, and its state.
type SequenceInfo struct {
	SequenceSpec

	CreatedAt  time.Time
	Generation uint64 // increases with each change of the sequence

	// Period is the current period; 0 if the sequence has no reset.
	Period sequence.Period
	// Last is the last number that was issued in this period. Only the leader knows it, and only of a strict sequence. nil
	// before the first number, and if LastAtMost is set.
	Last *int64
	// LastAtMost is the last number that can have been issued: the end of the last block. nil if Last is exact.
	LastAtMost *int64
	// Next is the next number of this period; nil if no number is left. If Last is not exact, it begins the next block.
	Next *int64
	// Remaining is the number of numbers that can still be issued in this period. If Last is not exact, the numbers that members hold
	// in blocks do not count.
	Remaining uint64
	// EndedPeriods are the periods that ended and of which the cluster knows the end, in ascending order.
	EndedPeriods []EndedPeriod
	// OpenReservations and UnknownNumbers count the numbers of a gapless sequence that are open, and those that a restore left
	// unknown, in all periods. OldestOpenAt is the time of the oldest open reservation; zero if there is none.
	OpenReservations, UnknownNumbers uint64
	OldestOpenAt                     time.Time

	// UnreachedMembers is the names of members that did not acknowledge a change in time. Until these members
	// acknowledge it, they may not know a new sequence, or may issue numbers from before the change. Empty if nothing
	// was changed.
	UnreachedMembers []string
}

// EndedPeriod is a period of a sequence that ended. Its numbers may be late.
type EndedPeriod struct {
	Period    sequence.Period
	Next      *int64 // next number of the period; nil if none is left
	Remaining uint64 // numbers that can still be issued in the period
	Frozen    bool   // the period issues nothing until it is resumed after a restore
}

// sequenceInfo converts a sequence of the API.
func sequenceInfo(m *snowraftv1.Sequence) (SequenceInfo, error) {
	period, err := sequence.ParsePeriod(m.GetPeriod())
	if err != nil {
		return SequenceInfo{}, malformed("the period %q", m.GetPeriod())
	}
	starts, err := sequence.ParseYearStart(m.GetYearStarts())
	if err != nil {
		return SequenceInfo{}, malformed("years that start on %q", m.GetYearStarts())
	}
	info := SequenceInfo{
		SequenceSpec: SequenceSpec{
			Name: m.GetName(), Start: m.Start, Increment: m.Increment, Min: m.Min, Max: m.Max,
			YearStarts: starts, Late: time.Duration(m.GetLateMs()) * time.Millisecond, TimeZone: m.GetTimeZone(), Format: m.GetFormat(), Description: m.GetDescription(),
			BlockDuration: time.Duration(m.GetBlockDurationMs()) * time.Millisecond,
			MinBlock:      int(m.GetMinBlock()), MaxBlock: int(m.GetMaxBlock()), Reuse: m.GetReuse(),
		},
		CreatedAt: time.UnixMilli(m.GetCreatedAtMs()), Generation: m.GetGeneration(),
		Period: period, Last: m.Last, LastAtMost: m.LastAtMost, Next: m.Next, Remaining: m.GetRemaining(),
		OpenReservations: m.GetOpenReservations(), UnknownNumbers: m.GetUnknownNumbers(),
	}
	for _, e := range m.GetEndedPeriods() {
		ended, err := sequence.ParsePeriod(e.GetPeriod())
		if err != nil {
			return SequenceInfo{}, malformed("the ended period %q", e.GetPeriod())
		}
		info.EndedPeriods = append(info.EndedPeriods, EndedPeriod{Period: ended, Next: e.Next, Remaining: e.GetRemaining(), Frozen: e.GetFrozen()})
	}
	if at := m.GetOldestOpenAtMs(); at != 0 {
		info.OldestOpenAt = time.UnixMilli(at)
	}
	switch m.GetMode() {
	case snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT:
		info.Mode = ModeStrict
	case snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED:
		info.Mode = ModeRelaxed
	case snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS:
		info.Mode = ModeGapless
	default:
		return SequenceInfo{}, malformed("the mode %v", m.GetMode())
	}
	reset := m.GetReset_() - snowraftv1.SequenceReset_SEQUENCE_RESET_NONE
	if reset < 0 || reset > snowraftv1.SequenceReset(sequence.ResetQuarterly) {
		return SequenceInfo{}, malformed("the reset %v", m.GetReset_())
	}
	info.Reset = sequence.Reset(reset)
	return info, nil
}

// changedSequence converts the answer to a change.
func changedSequence(resp interface {
	GetSequence() *snowraftv1.Sequence
	GetUnreachedMembers() []string
}, err error) (SequenceInfo, error) {
	if err != nil {
		return SequenceInfo{}, err
	}
	info, err := sequenceInfo(resp.GetSequence())
	info.UnreachedMembers = resp.GetUnreachedMembers()
	return info, err
}
