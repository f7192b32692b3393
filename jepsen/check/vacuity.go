package check

import (
	"fmt"
	"math"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

// Floors are how much has to have happened in a run, at least, for it to show anything.
type Floors struct {
	LeaderChanges      int // other leaders than the first one that was seen, each in a term of its own
	Refusals           int // requests for IDs of the workload "ids" that were refused because of a clock
	SnapshotsInstalled int
	Ambiguous          int     // operations whose outcome is not known
	HandedOver         int     // workers that went from one holder to another
	Rate               float64 // requests for IDs of the workload "ids" that were answered, per second, while clients went on
}

// Seen is what copies of the members' logs show.
type Seen struct {
	HandedOver         int // workers that went from one process to another
	SnapshotsInstalled int // that members got from the leader
}

// workloadIDs is the workload whose rate and refusals count: others request IDs as well, some of which
// are refused without a fault.
const workloadIDs = "ids"

// Vacuity says that a run is invalid if too little happened in it: less than a floor, a phase that
// is missing, a planned workload of which nothing succeeded, a planned fault that failed, did not
// begin or did not end, a kind of fault that never hit anything, or IDs that clients were given and that are not written down. It never fails.
func Vacuity(r *Run, events []schedule.Event, seen Seen, f Floors) Verdict {
	v := newVerdict("vacuity")
	answered, succeeded, err := r.count(v)
	if err != nil {
		v.invalid("%v", err)
	}
	for _, s := range r.Statuses {
		v.Facts["statuses"]++
		if s.Error == "" {
			v.Facts["statuses_answered"]++
		}
	}
	v.Facts["leader_changes"] = r.leaderChanges()
	v.Facts["handed_over"], v.Facts["snapshots_installed"] = int64(seen.HandedOver), int64(seen.SnapshotsInstalled)
	for _, floor := range []struct {
		what  string
		floor int
	}{{"leader_changes", f.LeaderChanges}, {"refusals", f.Refusals}, {"snapshots_installed", f.SnapshotsInstalled}, {"ambiguous", f.Ambiguous}, {"handed_over", f.HandedOver}} {
		if v.Facts[floor.what] < int64(floor.floor) {
			v.invalid("%s: %d, expected at least %d", floor.what, v.Facts[floor.what], floor.floor)
		}
	}
	rate := r.phases(v, answered)
	if rate < f.Rate {
		v.invalid("%.1f requests for IDs were answered per second, expected at least %.1f", rate, f.Rate)
	}
	for _, w := range r.Header.Workloads {
		if w != "all" && succeeded[w] == 0 {
			v.invalid("no operation of workload %q succeeded", w)
		}
	}
	r.planned(v, events)
	v.Summary = fmt.Sprintf("%d operations, %d faults; seen, and asked for: requests for IDs answered per second %.1f, %.1f; leader changes %d, %d; refusals because of a clock %d, %d; outcomes not known %d, %d; snapshots installed %d, %d; workers handed over %d, %d",
		v.Facts["ops"], v.Facts["faults"], rate, f.Rate, v.Facts["leader_changes"], f.LeaderChanges, v.Facts["refusals"], f.Refusals,
		v.Facts["ambiguous"], f.Ambiguous, v.Facts["snapshots_installed"], f.SnapshotsInstalled, seen.HandedOver, f.HandedOver)
	return *v
}

// count counts what clients did: the requests for IDs of the workload "ids" that were answered, and
// by workload what succeeded.
func (r *Run) count(v *Verdict) (answered int64, succeeded map[string]int64, err error) {
	succeeded = make(map[string]int64)
	given := int64(0) // IDs, as the operations say
	for op, err := range r.Ops() {
		if err != nil {
			return 0, nil, err
		}
		v.Facts["ops"]++
		v.Facts["ops_"+op.Do]++
		ids := op.Do == history.DoIDs && op.Workload == workloadIDs
		switch op.Outcome {
		case history.OK:
			succeeded[op.Workload]++
			if op.Do == history.DoIDs {
				given += int64(op.Count)
			}
			if ids {
				answered++
			}
		case history.Info:
			v.Facts["ambiguous"]++
		case history.Fail:
			v.Facts["failed"]++
			if ids && (op.Reason == reasonBehind || op.Reason == reasonSkew) {
				v.Facts["refusals"]++
			}
			if op.Reason != "" {
				v.Facts["reason_"+op.Reason]++
			}
		}
	}
	v.Facts["ids_answered"] = answered
	for w, n := range succeeded {
		v.Facts["succeeded_"+w] = n
	}
	return answered, succeeded, r.written(v, given)
}

// written says if fewer IDs stand in files than clients were given: then the other checkers do not see
// all of them. There may be more, of a generator that was killed before it told of the operation.
func (r *Run) written(v *Verdict, given int64) error {
	files, err := history.IDFiles(r.Dir)
	if err != nil {
		return err
	}
	written := int64(0)
	for _, paths := range files {
		for i, err := range readAll(paths) {
			if err != nil {
				return err
			}
			written += int64(i.Count)
		}
	}
	v.Facts["ids_given"], v.Facts["ids_written"] = given, written
	if written < given {
		v.invalid("clients were given %d IDs, and only %d are written down", given, written)
	}
	return nil
}

// leaderChanges is the number of leaders, one per term, except the first.
func (r *Run) leaderChanges() int64 {
	type leaderTerm struct {
		term   uint64
		leader string
	}
	leaderTerms := make(map[leaderTerm]bool)
	for _, s := range r.Statuses {
		if s.Error == "" && s.LeaderID != "" {
			leaderTerms[leaderTerm{s.Term, s.LeaderID}] = true
		}
	}
	return int64(max(len(leaderTerms)-1, 0))
}

// phases says which phases are missing, and returns how much was answered per second from the
// beginning of the load to its end, without the time in which a restored cluster may issue nothing.
func (r *Run) phases(v *Verdict, answered int64) float64 {
	last := int64(math.MinInt64)
	for _, name := range []string{history.PhaseLoad, history.PhaseFaults, history.PhaseHealed, history.PhaseEnd} {
		at, ok := r.Phases[name]
		switch {
		case !ok:
			v.invalid("phase %q is missing", name)
		case at < last:
			v.invalid("phase %q is at %s, before the one that it follows", name, r.clock(at))
		}
		last = max(last, at)
	}
	took := r.Phases[history.PhaseEnd] - r.Phases[history.PhaseLoad] - r.silent(newObservedClock(r).wall)
	if took <= 0 {
		return 0
	}
	return float64(answered) / (float64(took) / 1e9)
}
