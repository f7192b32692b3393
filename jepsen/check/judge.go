package check

import (
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

// Judge runs all checkers on the run in dir, the strongest first. An error means that there is no run to judge.
func Judge(dir string) (*Run, []Verdict, error) {
	r, plan, err := openPlanned(dir)
	if err != nil {
		return nil, nil, err
	}
	logs, err := openLogs(r)
	if err != nil {
		return nil, nil, err
	}
	// The checkers that need the grants report an unreadable log themselves.
	held, seen := Held(nil), Seen{}
	for _, log := range logs {
		seen.SnapshotsInstalled += installs(log)
	}
	if grants, last, err := grantsOf(logs); err == nil {
		held, seen.HandedOver = heldAtEnd(r, last), handovers(grants)
		r.findGaps(grants)
	}
	verdicts := []Verdict{
		Containment(r, logs...),
		LogAudit(r, logs...),
		Uniqueness(r),
		Documents(r),
		Restores(r),
		Order(r),
		Refusal(r),
		Liveness(r, held),
		Exits(r),
		SkewBites(r),
		Vacuity(r, plan.Events, seen, floorsFor(r, plan)),
	}
	if plan.Mixed {
		verdicts = append(verdicts, Upgrades(r, raftlog.Version, logs...))
	}
	return r, verdicts, nil
}

// openPlanned opens the run in dir and reads its plan.
func openPlanned(dir string) (*Run, schedule.Plan, error) {
	r, err := Open(dir)
	if err != nil {
		return nil, schedule.Plan{}, err
	}
	plan, err := schedule.Read(planFile(dir))
	return r, plan, err
}

// heldAtEnd returns a function that counts the workers whose windows had not ended at the end of the load.
func heldAtEnd(r *Run, g *raftlog.Grants) Held {
	end := r.Header.WallNanos + r.Phases[history.PhaseEnd] - r.Header.At
	return func(layout string) int {
		l, held := r.Layouts[layout], 0
		for lane, windows := range g.Windows {
			if lane.Layout != layout || len(windows) == 0 {
				continue
			}
			last := windows[len(windows)-1]
			if !last.Released && l.MillisAt(last.Until) > end/int64(time.Millisecond) {
				held++
			}
		}
		return held
	}
}

// handovers returns the number of windows that were granted to another process than the worker's window before.
func handovers(g *raftlog.Grants) int {
	n := 0
	for _, windows := range g.Windows {
		for i := 1; i < len(windows); i++ {
			if windows[i].NonceHash != windows[i-1].NonceHash {
				n++
			}
		}
	}
	return n
}

// installs returns the number of snapshots that members installed from the leader. A member that takes a snapshot itself
// keeps some of the entries that the snapshot covers, and an installed snapshot leaves none. The initial snapshot of a
// restored cluster does not count.
func installs(log *raftlog.Log) int {
	type install struct {
		member string
		index  uint64
	}
	seen := make(map[install]bool)
	for _, h := range log.Harvests {
		if s := h.Snapshot(); s.Index > log.Base.Index && h.Problem == "" && (h.Last == 0 || h.First > s.Index) {
			seen[install{h.Member, s.Index}] = true
		}
	}
	return len(seen)
}
