package fsm

import (
	"encoding/binary"
	"math"

	"github.com/tidwall/btree"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	fateOpen      = commandv1.FateKind_FATE_KIND_OPEN
	fateConfirmed = commandv1.FateKind_FATE_KIND_CONFIRMED
	fateVoid      = commandv1.FateKind_FATE_KIND_VOID
	fateTaken     = commandv1.FateKind_FATE_KIND_TAKEN
	fateUnknown   = commandv1.FateKind_FATE_KIND_UNKNOWN
)

// ledger is the account of every number that a gapless sequence drew in any period. A ledger in a sequence is never
// changed, only replaced by an edited copy, so that snapshots share it. It has at least one period.
//
// It keeps these invariants:
//
//   - Each number of a period has at most one fate: runs do not overlap, and the numbers below next without a run are
//     confirmed. A number at or above next without a run was not drawn.
//   - A number is open, or unknown with a key, exactly if the key's reservation has that number and that state.
//   - free holds the numbers of the sequence's current period that a reservation may draw again.
type ledger struct {
	periods *btree.Map[int32, *account]
	keys    *btree.Map[string, *reservation]
	// opened and settled order the keys with open reservations by the reservation, and those with confirmed or void numbers
	// by the index at which they became that; see ordered.
	opened, settled *btree.Set[string]
	free            *btree.Set[int64]

	runs    int    // number of runs in all periods
	unknown uint64 // number of unknown numbers in all periods
}

// account is the account of one period. Like a ledger, it is never changed in place once it is part of a sequence.
type account struct {
	// first is the first number of the period, and next the one that the next reservation draws. No run holds next.
	first, next int64
	cut         bool // an earlier cluster may have drawn numbers from next on
	runs        *btree.Map[int64, *run]

	counts [6]uint64 // count of numbers in runs, by kind
	ahead  uint64    // count of numbers in runs above next
}

// run is the fate of the numbers from its key in account.runs up to until. It is never changed, only replaced.
type run struct {
	until int64
	fate
}

// fate is the fate of a number. It is comparable.
type fate struct {
	kind     commandv1.FateKind
	key      string // only if open, or if unknown and open before
	voids    uint32 // count of the times that the number was void
	reason   string // the last one
	reusable bool   // see SnapshotFate
	stamp
}

// stamp is the origin of a fate.
type stamp struct {
	index uint64
	at    int64 // Unix ms
	by    Caller
}

// reservation is the last reservation of a key. It is never changed, only replaced.
type reservation struct {
	period   int32
	number   int64
	index    uint64 // log index that drew the number
	attempt  uint32
	state    commandv1.FateKind
	reserved int64 // Unix ms
	holder   Caller

	settled   uint64 // log index; 0 unless confirmed or void
	settledAt int64  // Unix ms
}

// Caller is the principal behind a command of which the state keeps a record. It is comparable.
type Caller struct {
	Kind  commandv1.ActorKind
	Token uint64 // ID of the API token; 0 for every other kind
	Name  string // ID of the member; empty for every other kind
}

func callerOf(a *commandv1.Actor) Caller {
	return Caller{Kind: a.GetKind(), Token: a.GetToken(), Name: a.GetName()}
}

func (c Caller) message() *commandv1.Actor {
	if c == (Caller{}) {
		return nil
	}
	return &commandv1.Actor{Kind: c.Kind, Token: c.Token, Name: c.Name}
}

func newLedger() *ledger {
	return &ledger{
		periods: &btree.Map[int32, *account]{}, keys: &btree.Map[string, *reservation]{},
		opened: &btree.Set[string]{}, settled: &btree.Set[string]{}, free: &btree.Set[int64]{},
	}
}

// clone returns a copy to edit, in O(1). It marks the original too, as sequences.clone does.
func (l *ledger) clone() *ledger {
	c := *l
	c.periods, c.keys = l.periods.IsoCopy(), l.keys.IsoCopy()
	c.opened, c.settled, c.free = l.opened.IsoCopy(), l.settled.IsoCopy(), l.free.IsoCopy()
	return &c
}

// entries returns the number of records that the ledger keeps.
func (l *ledger) entries() int {
	if l == nil {
		return 0
	}
	return l.periods.Len() + l.runs + l.keys.Len()
}

// ordered returns a text for a key whose order is that of the indexes, and of the keys among equals.
func ordered(index uint64, key string) string {
	return string(binary.BigEndian.AppendUint64(nil, index)) + key
}

// keyOf is the inverse of ordered.
func keyOf(text string) string { return text[8:] }

func newAccount(first int64) *account {
	return &account{first: first, next: first, runs: &btree.Map[int64, *run]{}}
}

// account returns a copy of the account of a period to edit, which is part of the ledger already. The account of a new
// period begins at first.
func (l *ledger) account(period int32, first int64) *account {
	a := newAccount(first)
	if old, ok := l.periods.Get(period); ok {
		c := *old
		c.runs = old.runs.IsoCopy()
		a = &c
	}
	l.periods.Set(period, a)
	return a
}

// set gives the numbers [from, until) of an account of the ledger a fate. They must have none, or be exactly a run.
func (l *ledger) set(a *account, from, until int64, f fate) {
	l.drop(a, from)
	a.runs.Set(from, &run{until, f})
	l.count(a, from, until, f.kind, 1)
	l.runs++
	a.advance()
}

// drop removes the run that begins at a number, if there is one.
func (l *ledger) drop(a *account, from int64) {
	if old, ok := a.runs.Delete(from); ok {
		l.count(a, from, old.until, old.kind, -1)
		l.runs--
	}
}

// count adds the numbers [from, until) of one kind to the counts, times a sign.
func (l *ledger) count(a *account, from, until int64, kind commandv1.FateKind, sign int64) {
	n := distance(from, until) * uint64(sign)
	a.counts[kind] += n
	if kind == fateUnknown {
		l.unknown += n
	}
	if from >= a.next {
		a.ahead += n
	}
}

// advance moves next beyond the runs that begin there.
func (a *account) advance() {
	for {
		r, ok := a.runs.Get(a.next)
		if !ok {
			return
		}
		a.ahead -= distance(a.next, r.until)
		a.next = r.until
	}
}

// at returns the run that holds a number, and the first number of the run.
func (a *account) at(n int64) (from int64, r *run, ok bool) {
	a.runs.Descend(n, func(first int64, found *run) bool {
		from, r, ok = first, found, n < found.until
		return false
	})
	return from, r, ok
}

// fate returns the fate of a number; ok is false if the number was not drawn.
func (a *account) fate(n int64) (f fate, ok bool) {
	if _, r, found := a.at(n); found {
		return r.fate, true
	}
	return fate{kind: fateConfirmed}, a.first <= n && n < a.next
}

// last returns the greatest number that was drawn; ok is false if there is none.
func (a *account) last() (n int64, ok bool) {
	until := a.next
	if _, r, some := a.runs.Max(); some {
		until = max(until, r.until)
	}
	return until - 1, until > a.first
}

// distance returns until - from, exactly.
func distance(from, until int64) uint64 { return uint64(until) - uint64(from) }

// endOfNumbers returns the number before which a sequence draws, so that no end of a run overflows.
func (s *sequenceSpec) endOfNumbers() int64 {
	return min(s.max, math.MaxInt64-1) + 1
}
