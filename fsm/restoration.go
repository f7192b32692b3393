package fsm

import (
	"fmt"
	"math"
	"slices"

	"github.com/snowraft/snowraft/internal/limits"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// indexGap is the least distance from the last index of a backup to the index of the restore. It is more than a cluster
// applies in a second. In longer times the clock raises the index by more than the earlier cluster can have applied.
const indexGap = 1 << 16

// FirstIndex returns the index at which a cluster is restored from a backup of this state whose last index is last, by
// the clock of the host and the end of the earlier cluster. Tokens, generations and incarnations are indexes, and the
// earlier cluster continued to indexes that the backup does not know. Of two clusters that were restored from one backup,
// the later one has the higher index, by more than a cluster applies in the time between, if the clocks of their hosts
// are correct within two of the largest offsets. An end further ahead of the clock does not count: it may be a time that
// is certainly late enough.
//
// The index rises with the clock in any case: if last plus the gap is ahead of the index for the state's own clock, the
// difference is added. A minimum beyond last instead would be the same for all restores of a backup that was taken soon
// after a restore.
func (s *State) FirstIndex(last uint64, nowMillis, oldEndedMillis int64) uint64 {
	known := max(s.observed, s.restored.GetRestoredAtMs())
	last = min(last, math.MaxInt64) // Restore refuses a greater index
	ended := min(oldEndedMillis, plus(nowMillis, 2*limits.MaxOffset.Milliseconds()))
	now := max(nowMillis, known)
	index, ahead := indexAt(max(now, ended), now), uint64(0)
	if at := indexAt(known, known); last+indexGap > at {
		ahead = last + indexGap - at
	}
	return index + ahead
}

// indexAt returns an index that rises with the later of the clock and the end of the earlier cluster, by 2^20 per second,
// and by 2^13 with the clock alone: two restores may be given the same end, which is ahead of both clocks. It is below
// 2^59, so its sum with an index does not overflow.
func indexAt(laterMillis, nowMillis int64) uint64 {
	seconds := func(millis int64) uint64 { return uint64(min(max(millis, 0), maxFloor)) / 1000 }
	return seconds(laterMillis)<<20 + seconds(nowMillis)<<13
}

// Restoration holds the facts that a new cluster needs about the earlier cluster with whose state it begins.
type Restoration struct {
	Index      uint64 // index of the restore, see [State.FirstIndex]; the first command has a higher one
	NowMillis  int64  // clock of the host that restores; Unix ms
	OldCluster string // ID of the earlier cluster
	// OldMembers are the members of the earlier cluster at the time of the backup.
	OldMembers []*commandv1.OldMember

	// OldEndedMillis is the end of the earlier cluster by its own clock, in Unix ms: no member proposed anything after it.
	OldEndedMillis int64
	// The largest maximum window and maximum clock offset that were in force after the backup.
	MaxWindowMillis, MaxOffsetMillis int64

	// ZonesKept reports that the time zone of no sequence changed after the backup. If it is false, periods may have begun
	// as early as in the earliest time zone.
	ZonesKept  bool
	KeepTokens bool // leave API tokens and anonymous callers as they are

	// Period returns the period that contains a time, in Unix ms: its first day as the decimal number yyyymmdd. It is
	// called for sequences with a reset.
	Period func(periods Periods, atMillis int64) (int32, error)
}

// Restore turns the state into that of a new cluster, restored from a backup. Grants of the earlier cluster after the
// backup are not repeated:
//
//   - Windows begin after the floor, and no window of the earlier cluster reaches beyond the floor.
//   - All workers are released, and no block can be returned.
//   - All pasts are closed, and all backfill jobs are ended.
//   - All sequences are frozen, their formats since the backup are unknown, and sequences and layouts of other names cannot be created. All templates are suspended.
//   - Periods that the earlier cluster may have begun are skipped, and earlier ones are closed until they are resumed.
//   - The lineage begins again, and a seal ends.
//
// The floor of an earlier restore counts too. The new cluster begins with the commands that this program knows. After an error the state must not be used.
func (s *State) Restore(r Restoration) error {
	ended := max(r.OldEndedMillis, s.observed)
	offset := 2 * max(r.MaxOffsetMillis, s.Config().GetMaxClockOffsetMs())
	window := max(r.MaxWindowMillis, s.Config().GetMaxWindowMs())
	next := &commandv1.Restored{
		FloorAtMs: max(plus(ended, plus(window, offset)), s.restored.GetFloorAtMs()), Index: r.Index, RestoredAtMs: r.NowMillis,
		Ancestors: r.ancestors(s.restored.GetAncestors()), NamesClosed: true,
		OldMembers: r.oldMembers(), Superseded: s.restored.GetSuperseded(),
	}
	if s.version >= DocumentVersion {
		next.BackedUpAtMs = s.certainClock()
		if s.restored != nil {
			next.BackedUpAtMs = min(next.GetBackedUpAtMs(), s.restored.GetBackedUpAtMs())
		}
	}
	if err := checkRestored(next); err != nil {
		return fmt.Errorf("cannot restore: %w", err)
	}
	if r.Index < s.index+indexGap {
		return fmt.Errorf("cannot restore at index %d: expected at least %d beyond %d", r.Index, uint64(indexGap), s.index)
	}
	if err := s.freeze(r, plus(ended, offset)); err != nil {
		return err
	}
	for _, l := range s.layouts {
		l.workers.releaseAll()
		if l.past != nil {
			l.voidPast(next.GetBackedUpAtMs())
		}
	}
	s.suspendTemplates()
	if !r.KeepTokens {
		s.disableTokens()
	}
	s.removed = nil
	s.lastCheckpoint = checkpointOf(0, [32]byte{})
	s.lineage, s.sealed = lineage{}, nil
	s.observed, s.lowered = min(s.observed, r.NowMillis), 0
	s.version = max(s.version, livesVersion)
	s.index = r.Index
	s.setRestored(next)
	return nil
}

// ancestors returns the IDs of all earlier clusters, the latest at the end.
func (r Restoration) ancestors(earlier []string) []string {
	ids := slices.DeleteFunc(slices.Clone(earlier), func(id string) bool { return id == r.OldCluster })
	return append(ids, r.OldCluster)
}

// freeze freezes all sequences, deleted ones included, and skips the periods that may have begun until a time.
func (s *State) freeze(r Restoration, until int64) error {
	var frozen, buried []*sequence
	for old, deleted := range s.sequences.all() {
		q := *old
		q.stops |= stopFrozen
		q.setFormats(q.earlier(), false)
		q.forbidReturn()
		if q.spec.resets() {
			period, err := r.lastPeriod(q.spec, deleted, until)
			if err != nil {
				return fmt.Errorf("cannot restore sequence %q: %w", q.name, err)
			}
			q.skipTo(period)
			q.late = q.late.value().freeze().pointer()
		}
		if q.ledger != nil {
			q.ledger = q.ledger.doubt(old, q.period)
		}
		if deleted {
			buried = append(buried, &q)
		} else {
			frozen = append(frozen, &q)
		}
	}
	for _, q := range frozen {
		s.sequences.put(q)
	}
	for _, q := range buried {
		s.sequences.putDeleted(q)
	}
	s.frozen, s.entries = len(frozen)+len(buried), 0
	for _, q := range frozen {
		s.entries += q.ledger.entries()
	}
	s.sequenceRevision++
	return nil
}

// lastPeriod returns the last period that a sequence may have begun until a time. The time zone of a deleted one is
// not remembered.
func (r Restoration) lastPeriod(spec *sequenceSpec, deleted bool, until int64) (period int32, err error) {
	if !deleted {
		if period, err = r.Period(spec.periods(), until); err != nil {
			return 0, err
		}
	}
	if deleted || !r.ZonesKept {
		period = max(period, spec.calendar().latestPeriod(until))
	}
	return period, checkDate(period)
}

// skipTo begins a later period, in which the earlier cluster may have granted any number.
func (q *sequence) skipTo(period int32) {
	if period <= q.period {
		return
	}
	some := q.used.some
	q.roll(period, true)
	if q.spent = true; some { // else resume knows that nothing was granted
		q.leaveTrace()
	}
}

// releaseAll voids all claims. High-waters stay.
func (w *workers) releaseAll() {
	for number := range w.count() {
		w.at(number).released, w.at(number).extension = true, extension{}
	}
}

// disableTokens disables all API tokens and gives anonymous callers the permissions that they have in a new cluster.
func (s *State) disableTokens() {
	t := tokens{anonymous: newAnonymous()}
	for _, r := range s.tokens.byID {
		disabled := *r
		disabled.Disabled = true
		t.byID = append(t.byID, &disabled)
	}
	s.setTokens(t)
}

// IssuesFrom returns the time, in Unix ms, from which all layouts can issue IDs after a restore: the time at which the
// first tick after the floor has begun in each of them. It is 0 in a cluster that was not restored.
func (s *State) IssuesFrom() int64 {
	if s.restored == nil {
		return 0
	}
	begins := s.restored.GetFloorAtMs()
	for _, l := range s.layouts {
		if fence := s.fence(l); fence < l.ticks {
			begins = max(begins, l.layout.MillisAt(fence))
		}
	}
	return begins
}
