package fsm

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/names"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// A cluster that was restored from a backup does not know what the earlier cluster granted after the backup. So the
// state has, from then on, a floor, up to which no window begins; frozen sequences; and closed names. [State.Restore]
// sets them.

const (
	// maxAncestors bounds the ancestry, which is never cut: a further restore is refused. The list fits into one message of
	// an exchange between members.
	maxAncestors = 1024
	// maxSuperseded bounds the clusters that operators ended; maxOldMembers bounds the members of the earlier cluster.
	maxSuperseded = 1024
	maxOldMembers = 64

	// maxFloor is the last millisecond of the year 9999, so that no tick of a floor overflows.
	maxFloor = 253_402_300_799_999
)

// Restored returns the record of the restore; nil if the cluster was not restored. The caller must not change it.
func (s *State) Restored() *commandv1.Restored { return s.restored }

// FrozenCount returns the number of frozen sequences, including deleted ones.
func (s *State) FrozenCount() int { return s.frozen }

// Frozen returns up to limit frozen sequences after a name, deleted ones included, in ascending order of their names. No
// sequence needs to have the name.
func (s *State) Frozen(after string, limit int) []Sequence {
	var page []Sequence
	add := func(deleted bool) func(string, *sequence) bool {
		n := len(page)
		return func(name string, q *sequence) bool {
			if len(page)-n >= limit {
				return false
			}
			if name > after && q.stops.frozen() {
				v := q.view()
				v.Deleted = deleted
				page = append(page, v)
			}
			return true
		}
	}
	if s.frozen == 0 {
		return nil
	}
	s.sequences.live.Ascend(after, add(false))
	s.sequences.deleted.Ascend(after, add(true))
	slices.SortFunc(page, func(a, b Sequence) int { return strings.Compare(a.Spec.GetName(), b.Spec.GetName()) })
	return page[:min(limit, len(page))]
}

// fence returns the first tick of a layout at which a window may begin: none begins in the past of the layout, and the last tick
// that the earlier cluster can have granted is the tick of the floor.
func (s *State) fence(l *layout) int64 {
	if s.restored == nil {
		return l.border()
	}
	return max(l.layout.TickAt(s.restored.GetFloorAtMs())+1, l.border())
}

// border returns the first tick after the past of the layout; 0 without a past.
func (l *layout) border() int64 {
	if l.past == nil {
		return 0
	}
	return l.past.border
}

// skippedPeriod returns the last period that the earlier cluster may have begun of a sequence with the calendar of spec, in
// any time zone; 0 without a reset or a restore.
func (s *State) skippedPeriod(spec *sequenceSpec) int32 {
	if s.restored == nil || !spec.resets() {
		return 0
	}
	return spec.calendar().latestPeriod(s.restored.GetFloorAtMs())
}

// checkFence refuses to grant a worker of l as long as no window may begin at the tick latest.
func (s *State) checkFence(now, fence, latest int64, l *layout) *Refused {
	if fence >= l.ticks {
		return l.full()
	}
	if fence <= latest {
		return nil
	}
	config := s.Config()
	at := l.layout.MillisAt(fence) - min(config.GetWaitThresholdMs(), config.GetMaxWindowMs()-1)
	why := "this cluster was restored, and holders may still issue what the earlier cluster granted"
	if fence == l.border() {
		why = "the clock is in the past of the layout, which is for backfill jobs only; correct the clock, or"
	}
	return refuse(commandv1.Refusal_REFUSAL_FENCED, "layout %q: %s; try again in %d ms", l.name, why, minus(at, now)).retryAt(at)
}

// thawed refuses to grant numbers of a sequence that is frozen or moved, and to change it.
func (q *sequence) thawed() *Refused {
	switch {
	case q.stops.frozen():
		return refuseFrozen(q.name)
	case q.stops.moved():
		return refuseMoved(q.name)
	}
	return nil
}

func refuseFrozen(name string) *Refused {
	return refuse(commandv1.Refusal_REFUSAL_SEQUENCE_FROZEN,
		"sequence %q is frozen, because the earlier cluster may have granted more of it; resume it with \"snowraft seq resume\"", name)
}

// LastGranted returns the last number granted in this period, if there is one. It fails for a sequence that is frozen or moved, of
// which the last number is not known.
func (s Sequence) LastGranted() (last int64, ok bool, err error) {
	switch {
	case s.Frozen:
		return 0, false, refuseFrozen(s.Spec.GetName())
	case s.Moved:
		return 0, false, refuseMoved(s.Spec.GetName())
	}
	return s.Last, s.HasLast, nil
}

// openNames refuses, while names are closed, to create a sequence or a layout of a name that the state does not know. A
// layout with another specification could compose the IDs that the earlier cluster's layout of that name composed.
func (s *State) openNames(kind, name string) *Refused {
	if !s.restored.GetNamesClosed() {
		return nil
	}
	return refuse(commandv1.Refusal_REFUSAL_RESTORE_UNACKNOWLEDGED,
		"%s %q: the earlier cluster may have had one of that name, and the restore was not acknowledged; "+
			"see \"snowraft restore acknowledge\"", kind, name)
}

// acknowledgeRestore opens the names. Repeating it changes nothing.
func (s *State) acknowledgeRestore(e entry) Result {
	index := e.cmd.GetAcknowledgeRestore().GetIndex()
	switch {
	case s.restored == nil:
		return Result{Err: invalid("this cluster was not restored; there is nothing to acknowledge")}
	case index != s.restored.GetIndex():
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_GENERATION_MISMATCH,
			"this cluster was restored at index %d, not %d; read the status again", s.restored.GetIndex(), index)}
	case s.restored.GetNamesClosed():
		opened := proto.CloneOf(s.restored)
		opened.NamesClosed = false
		s.setRestored(opened)
	}
	return Result{}
}

func (s *State) setRestored(r *commandv1.Restored) {
	s.restored = r
	s.revision++
}

// checkRestored checks the record of a restore.
func checkRestored(r *commandv1.Restored) error {
	if r.GetFloorAtMs() <= 0 || r.GetFloorAtMs() > maxFloor || r.GetRestoredAtMs() <= 0 {
		return fmt.Errorf("a floor at %d ms and a restore at %d ms, expected 1 to %d", r.GetFloorAtMs(), r.GetRestoredAtMs(), int64(maxFloor))
	}
	if r.GetBackedUpAtMs() < 0 {
		return fmt.Errorf("a backup at %d ms, expected at least 0", r.GetBackedUpAtMs())
	}
	if r.GetIndex() < indexGap || r.GetIndex() > math.MaxInt64 {
		return fmt.Errorf("a restore at index %d, expected at least %d", r.GetIndex(), uint64(indexGap))
	}
	if n := len(r.GetAncestors()); n < 1 || n > maxAncestors {
		return fmt.Errorf("%d earlier clusters, expected 1 to %d", n, maxAncestors)
	}
	if n := len(r.GetSuperseded()); n > maxSuperseded {
		return fmt.Errorf("%d clusters ended, expected at most %d", n, maxSuperseded)
	}
	for _, clusters := range [][]string{r.GetAncestors(), r.GetSuperseded()} {
		if err := checkClusters(clusters); err != nil {
			return err
		}
	}
	return checkOldMembers(r.GetOldMembers())
}

func checkClusters(ids []string) error {
	for i, id := range ids {
		if err := names.Check("cluster ID", id); err != nil {
			return err
		}
		if slices.Contains(ids[:i], id) {
			return fmt.Errorf("cluster %q is listed twice", id)
		}
	}
	return nil
}
