package check

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/snowraft/snowraft/jepsen/schedule"
)

const (
	// answeredShare is which share of the requests for IDs has to be answered, of those that the
	// rate of the run amounts to.
	answeredShare = 0.3
	// churned is the least number of workers that change their holder per minute, where holders come and go.
	churned = 10
	// snapshotsAfter is the time that a run takes until snapshots are installed for sure: members take
	// one each 4,096 entries.
	snapshotsAfter = 5 * time.Minute
)

// upsetting are faults that a leader does not survive as leader, if it is hit.
var upsetting = []string{"kill", "storm", "pause", "isolate", "unplug", "power-loss", "dead-disk", "raft-only"}

// floorsFor returns those for a run of this plan, well below what its faults do: they overlap, and some hit
// who is down already.
func floorsFor(r *Run, p schedule.Plan) Floors {
	f := Floors{Rate: answeredShare * r.Header.Rate}
	ids := slices.Contains(p.Workloads, workloadIDs)
	if !ids {
		f.Rate = 0
	}
	numbers := slices.Contains(p.Workloads, "strict") || slices.Contains(p.Workloads, "redis")
	upsets, skews, replaced := 0, 0, 0
	for _, e := range p.Events {
		long := time.Duration(e.For) >= 2*time.Second
		leader := e.On == "leader" || e.On == "majority" || e.On == "all"
		switch {
		case slices.Contains(upsetting, e.Fault) && leader && long:
			upsets++
		// A clock that is behind by little more than the threshold catches up at once. Where all are off
		// together, or one has no window yet, other reasons may come first.
		case e.Fault == "clock-bump" && long && beyond(e.Amount, 2*r.Header.WaitThresholdMillis):
			skews++
		}
		if e.Fault == "wipe" {
			replaced++
		}
	}
	f.LeaderChanges = (upsets + 1) / 2
	if slices.Contains(p.Workloads, "churn") {
		f.HandedOver = int(time.Duration(p.Duration).Minutes() * churned)
	}
	if ids {
		f.Refusals = 5 * skews
	}
	if numbers {
		f.Ambiguous = upsets
	}
	if numbers && replaced > 0 && time.Duration(p.Duration) >= snapshotsAfter {
		f.SnapshotsInstalled = 1
	}
	return f
}

// beyond reports whether an amount of a fault of clocks is more than so many milliseconds, in either
// direction.
func beyond(amount string, millis int64) bool {
	d, err := time.ParseDuration(amount)
	return err == nil && d.Abs() > time.Duration(millis)*time.Millisecond
}

// planFile is where a run's plan is, in its directory.
func planFile(dir string) string { return filepath.Join(dir, "schedule.jsonl") }
