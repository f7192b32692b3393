package check

import (
	"fmt"
	"math"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

// Floors are the least counts with which a run shows anything.
type Floors struct {
	LeaderChanges      int     // pairs of a term and its leader after the first pair seen
	Refusals           int     // requests for IDs of the workload "ids" that were refused because of a clock
	SnapshotsInstalled int     // snapshots that members installed from the leader
	Ambiguous          int     // operations with an unknown outcome
	HandedOver         int     // windows granted to another process than the worker's window before
	WrappedFaults      int     // faults that hit processes of the workload "wrapped"
	Rate               float64 // answered requests for IDs of the workload "ids" per second of load
}

// Seen holds the counts from the harvested logs, see Floors.
type Seen struct {
	HandedOver         int
	SnapshotsInstalled int
}

// workloadIDs is the workload whose rate and refusals count. Other workloads also request IDs, and some of their requests
// are refused without a fault.
const workloadIDs = "ids"

// Vacuity makes a run invalid in which too little happened. It never fails. A run is invalid if
//
//   - a count is below its floor,
//   - a phase is missing,
//   - no operation of a planned workload succeeded,
//   - a planned fault failed, did not begin or did not end,
//   - all faults of a kind were idle of which one surely has an effect, or
//   - the ID files have fewer IDs than clients received.
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
	for _, n := range r.Notes {
		if n.What == history.NoteWrapped {
			v.Facts["wrapped_faults"]++
		}
	}
	for _, floor := range []struct {
		what  string
		floor int
	}{{"leader_changes", f.LeaderChanges}, {"refusals", f.Refusals}, {"snapshots_installed", f.SnapshotsInstalled}, {"ambiguous", f.Ambiguous}, {"handed_over", f.HandedOver}, {"wrapped_faults", f.WrappedFaults}} {
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
	v.Summary = fmt.Sprintf("%d operations, %d faults; counts, and their minimums in parentheses: "+
		"requests for IDs answered per second %.1f (%.1f), leader changes %d (%d), refusals because of a clock %d (%d), "+
		"unknown outcomes %d (%d), snapshots installed %d (%d), workers handed over %d (%d), faults of wrapped generators %d (%d)",
		v.Facts["ops"], v.Facts["faults"], rate, f.Rate, v.Facts["leader_changes"], f.LeaderChanges, v.Facts["refusals"], f.Refusals,
		v.Facts["ambiguous"], f.Ambiguous, v.Facts["snapshots_installed"], f.SnapshotsInstalled, seen.HandedOver, f.HandedOver,
		v.Facts["wrapped_faults"], f.WrappedFaults)
	return *v
}

// count adds the facts about operations. It returns the number of answered requests for IDs of the workload "ids", and the
// number of successful operations by workload.
func (r *Run) count(v *Verdict) (answered int64, succeeded map[string]int64, err error) {
	succeeded = make(map[string]int64)
	given := int64(0) // IDs that clients received
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
			if op.Do == history.DoIDs || op.Do == history.DoBackfill {
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

// written makes the run invalid if the ID files have fewer IDs than clients received, because the other checkers do not
// see all IDs then. The files may have more: a killed generator may not have reported its last operation.
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
		v.invalid("clients received %d IDs, but the ID files have only %d", given, written)
	}
	return nil
}

// leaderChanges returns the number of pairs of a term and its leader, without the first.
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

// phases makes the run invalid if a phase is missing or out of order. It returns the answered requests per second of load,
// without the time in which a restored cluster may issue nothing, and that for which the machine kept a member from a processor.
func (r *Run) phases(v *Verdict, answered int64) float64 {
	last := int64(math.MinInt64)
	for _, name := range []string{history.PhaseLoad, history.PhaseFaults, history.PhaseHealed, history.PhaseEnd} {
		at, ok := r.Phases[name]
		switch {
		case !ok:
			v.invalid("phase %q is missing", name)
		case at < last:
			v.invalid("phase %q is at %s, before an earlier phase", name, r.clock(at))
		}
		last = max(last, at)
	}
	from, to := r.Phases[history.PhaseLoad], r.Phases[history.PhaseEnd]
	took := to - from - r.silent(newObservedClock(r).wall) - r.stalled(from, to)
	if took <= 0 {
		return 0
	}
	return float64(answered) / (float64(took) / 1e9)
}
