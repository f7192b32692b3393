package check

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/snowraft/snowraft/jepsen/schedule"
)

const (
	// answeredShare is the share of the run's rate at which requests for IDs must be answered. A few long faults can
	// take most of a run shorter than longRun, of which shortShare is enough.
	answeredShare = 0.3
	shortShare    = 0.1
	// churned is the least number of workers per minute that change their holder in the workload "churn".
	churned = 10
	// wrappedHit is the least number of faults per minute that hit processes of the workload "wrapped".
	wrappedHit = 6
	// longRun is the length of a run that surely has installed snapshots: members take a snapshot every 4,096 entries.
	longRun = 5 * time.Minute
)

// upsetting lists the faults that cost an affected leader its leadership.
var upsetting = []string{"kill", "storm", "pause", "isolate", "unplug", "power-loss", "dead-disk", "raft-only"}

// floorsFor returns the floors for a run of a plan. They are well below the usual counts, because faults overlap and some
// affect members that are already down.
func floorsFor(r *Run, p schedule.Plan) Floors {
	f := Floors{Rate: answeredShare * r.Header.Rate}
	long := p.Duration == 0 || time.Duration(p.Duration) >= longRun // scenarios have no duration
	if !long {
		f.Rate = shortShare * r.Header.Rate
	}
	ids := slices.Contains(p.Workloads, workloadIDs)
	if !ids {
		f.Rate = 0
	}
	numbers := slices.Contains(p.Workloads, "strict") || slices.Contains(p.Workloads, "redis")
	upsets, skews, replaced := 0, 0, 0
	for _, e := range p.Events {
		lasts := time.Duration(e.For) >= 2*time.Second
		leader := e.On == "leader" || e.On == "majority" || e.On == "all"
		switch {
		case slices.Contains(upsetting, e.Fault) && leader && lasts:
			upsets++
		// A clock that is slightly more than the threshold behind catches up at once. If all clocks are off, or a
		// member has no window yet, requests may be refused for another reason.
		case e.Fault == "clock-bump" && lasts && beyond(e.Amount, 2*r.Header.WaitThresholdMillis):
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
	if slices.Contains(p.Workloads, "wrapped") {
		f.WrappedFaults = int(time.Duration(p.Duration).Minutes() * wrappedHit)
	}
	if ids && (long || skews >= surelyOne || skews == len(p.Events)) {
		f.Refusals = 5 * skews
	}
	if numbers {
		f.Ambiguous = upsets
	}
	if numbers && replaced > 0 && long {
		f.SnapshotsInstalled = 1
	}
	return f
}

// beyond reports whether the amount of a fault of clocks exceeds a number of milliseconds in either direction.
func beyond(amount string, millis int64) bool {
	d, err := time.ParseDuration(amount)
	return err == nil && d.Abs() > time.Duration(millis)*time.Millisecond
}

// planFile returns the path of the plan in a run's directory.
func planFile(dir string) string { return filepath.Join(dir, "schedule.jsonl") }
