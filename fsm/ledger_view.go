package fsm

import (
	"math"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Reservation is the last reservation of a key.
type Reservation struct {
	Key            string
	Number         int64
	Period         int32
	Reservation    uint64             // log index that drew the number; it identifies the reservation among those of the key
	Attempt        uint32             // 1 for the command that drew the number, one more for each repetition
	Fate           commandv1.FateKind // open, confirmed, void, or unknown after a restore
	ReservedMillis int64              // time of the first attempt; Unix ms
	Holder         Caller             // the caller of the last attempt
}

// Account is the summary of a period of a gapless sequence. Each number from First to Last has one fate or, if a greater
// one was taken, is missing.
type Account struct {
	Period      int32
	Closed      bool  // a later period has begun
	First, Last int64 // only if Some
	Some        bool  // a number of the period was drawn

	Confirmed, Void, Taken, Open, Unknown, Missing uint64 // count of numbers

	Cut bool // after a restore: an earlier cluster may have drawn numbers after Last
}

// Fates is a run of numbers with one fate that are not plainly confirmed: First, First + 1, ..., Count of them.
type Fates struct {
	First    int64
	Count    uint64
	Kind     commandv1.FateKind
	Key      string // set for an open number, and an unknown one that was open
	Voids    uint32 // count of the times that the number was void
	Reason   string // last reason for which the number was void; of a taken number, the reason for that
	Reusable bool   // a later reservation may draw the number, if the sequence reuses numbers
	Index    uint64 // log index of the command that decided the fate
	AtMillis int64  // Unix ms
	By       Caller
}

func (r *reservation) view(key string) Reservation {
	return Reservation{
		Key: key, Number: r.number, Period: r.period, Reservation: r.index, Attempt: r.attempt, Fate: r.state,
		ReservedMillis: r.reserved, Holder: r.holder,
	}
}

// viewLedger completes the view of a gapless sequence.
func (q *sequence) viewLedger(v *Sequence) {
	next, ahead := q.base, uint64(0)
	v.Last, v.HasLast = 0, false
	if l := q.ledger; l != nil {
		v.Open, v.Unknown, v.OldestOpenMillis = uint64(l.opened.Len()), l.unknown, l.oldestOpen()
		if a, ok := l.periods.Get(q.period); ok {
			next, ahead = a.next, a.ahead
			v.Last, v.HasLast = a.next-1, a.next > a.first
		}
	}
	v.Remaining = 0
	if end := q.spec.endOfNumbers(); next < end && !q.spent {
		v.Remaining = distance(next, end) - min(ahead, distance(next, end))
	}
	if v.Next = 0; v.Remaining > 0 {
		v.Next = next
	}
}

// oldestOpen returns the time of the oldest open reservation in Unix ms; 0 if there is none.
func (l *ledger) oldestOpen() int64 {
	text, some := l.opened.Min()
	if !some {
		return 0
	}
	r, _ := l.keys.Get(keyOf(text))
	return r.reserved
}

func (a *account) view(period int32, closed bool) Account {
	v := Account{
		Period: period, Closed: closed, First: a.first, Cut: a.cut, Void: a.counts[fateVoid], Taken: a.counts[fateTaken],
		Open: a.counts[fateOpen], Unknown: a.counts[fateUnknown],
	}
	if v.Last, v.Some = a.last(); !v.Some {
		v.First, v.Last = 0, 0
		return v
	}
	inRuns := uint64(0)
	for _, n := range a.counts {
		inRuns += n
	}
	v.Confirmed = distance(a.first, a.next) - (inRuns - a.ahead) + a.counts[fateConfirmed]
	v.Missing = distance(a.next, v.Last+1) - a.ahead
	return v
}

// reservable returns the ledger of a live gapless sequence, with the sequence; nil before the first number.
func (s *State) reservable(name string) (*sequence, *ledger) {
	q, ok := s.sequences.live.Get(name)
	if !ok || q.ledger == nil {
		return nil, nil
	}
	return q, q.ledger
}

// OpenReservations returns up to limit open reservations of a gapless sequence, the oldest first, that come after the
// reservation of a log index with a key; 0 and an empty key begin with the oldest.
func (s *State) OpenReservations(name string, after uint64, key string, limit int) (page []Reservation) {
	_, l := s.reservable(name)
	if l == nil {
		return nil
	}
	from := ordered(after, key)
	l.opened.Ascend(from, func(text string) bool {
		if len(page) >= limit {
			return false
		}
		if text > from {
			r, _ := l.keys.Get(keyOf(text))
			page = append(page, r.view(keyOf(text)))
		}
		return true
	})
	return page
}

// Account returns the summary of a period of a gapless sequence. It is empty if no number of the period was drawn.
func (s *State) Account(name string, period int32) Account {
	q, l := s.reservable(name)
	if l == nil {
		return Account{Period: period}
	}
	a, ok := l.periods.Get(period)
	if !ok {
		return Account{Period: period, Closed: period < q.period}
	}
	return a.view(period, period < q.period)
}

// Accounts returns up to limit summaries of the periods of a gapless sequence before a period, the latest first; [math.MaxInt32]
// begins with the last one.
func (s *State) Accounts(name string, before int32, limit int) (page []Account) {
	q, l := s.reservable(name)
	if l == nil {
		return nil
	}
	l.periods.Descend(before, func(period int32, a *account) bool {
		if len(page) >= limit {
			return false
		}
		if period < before {
			page = append(page, a.view(period, period < q.period))
		}
		return true
	})
	return page
}

// FatesOf returns up to limit runs of numbers of a period that are not plainly confirmed, in ascending order, beginning with
// the first one at or after a number.
func (s *State) FatesOf(name string, period int32, from int64, limit int) (page []Fates) {
	q, l := s.reservable(name)
	if l == nil {
		return nil
	}
	a, ok := l.periods.Get(period)
	if !ok {
		return nil
	}
	a.runs.Ascend(from, func(first int64, r *run) bool {
		if len(page) >= limit {
			return false
		}
		page = append(page, r.view(first, period == q.period))
		return true
	})
	return page
}

func (r *run) view(first int64, current bool) Fates {
	return Fates{
		First: first, Count: distance(first, r.until), Kind: r.kind, Key: r.key, Voids: r.voids, Reason: r.reason,
		Reusable: r.reusable && current, Index: r.index, AtMillis: r.stamp.at, By: r.by,
	}
}

// FirstFate is the least number from which FatesOf can begin.
const FirstFate = math.MinInt64
