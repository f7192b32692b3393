//go:build linux

package mutants

import (
	"slices"
	"time"

	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

// The names of the checkers in their verdicts.
const (
	containment = "containment"
	logAudit    = "log-audit"
	uniqueness  = "uniqueness"
	order       = "order"
	refusal     = "refusal"
	liveness    = "liveness"
	restored    = "restore"
	documented  = "documents"
)

// Rows returns the controls and all bugs that a run of real members can show. Tests of the models show the other planted
// bugs.
func Rows() []Row {
	kills := again(schedule.Event{Fault: "kill", On: nemesis.Follower, For: lasting(200 * time.Millisecond)}, 3*time.Second, 15*time.Second)
	handovers := again(schedule.Event{Fault: "handover", On: nemesis.Leader, For: lasting(25 * time.Second)}, time.Hour, 30*time.Second)
	leavings := again(schedule.Event{Fault: "left-behind", On: nemesis.Leader, For: lasting(25 * time.Second)}, time.Hour, 30*time.Second)
	restores := []schedule.Event{{At: schedule.Duration(time.Second), Fault: "restore", On: nemesis.All, How: nemesis.FromMember, For: lasting(5 * time.Second)}}
	return []Row{
		{
			Workloads: []string{"ids", "strict", "churn"}, Duration: 40 * time.Second,
			Kinds: "kill,pause,isolate,clock-bump,power-loss,handover",
		},
		{
			Where: "restored", Workloads: []string{"ids", "strict", "relaxed", "embedded", "churn"}, Duration: 10 * time.Second,
			MaxWindow: 8 * time.Second, Events: restores,
		},
		{
			Where: "documents", Workloads: []string{"documents"}, Duration: 15 * time.Second, MaxWindow: 8 * time.Second, Events: restores,
		},
		{
			Where: "nonvoters", Workloads: []string{"strict", "nonvoters"}, Duration: 30 * time.Second, Rate: 400, Events: leavings,
		},
		{
			Where: "wrapped", Workloads: []string{"ids", "wrapped"}, Duration: 45 * time.Second, MaxWindow: 8 * time.Second, Kinds: "kill,pause,isolate",
		},
		{
			// The wrapper is stopped, and the guard lets the command continue beyond the end of the window.
			Bug: "run-guard-sleeps", Workloads: []string{"wrapped"}, Duration: 40 * time.Second, MaxWindow: 8 * time.Second,
			Expected: []string{containment, uniqueness}, OnlyExpected: true,
		},
		{
			// The host is cut off, and wrapper and guard only send SIGTERM, which the command ignores.
			Bug: "run-end-ignored", Workloads: []string{"wrapped"}, Duration: 40 * time.Second, MaxWindow: 8 * time.Second,
			Expected: []string{containment, uniqueness}, OnlyExpected: true,
		},
		{
			// The clock jumps, and wrapper and guard do not see it. The window ends long after the checkers excuse no IDs.
			Bug: "run-clock-not-compared", Workloads: []string{"wrapped"}, Duration: 60 * time.Second, MaxWindow: 20 * time.Second,
			Expected: []string{containment, uniqueness}, OnlyExpected: true,
		},
		{
			// A holder extends a window again after it has released the worker.
			Bug: "no-token-check", Workloads: []string{"churn"}, Duration: 15 * time.Second,
			Expected: []string{logAudit}, OnlyExpected: true,
		},
		{
			// A holder that received no answer extends again from the last end that it knows.
			Bug: "no-extend-cas", Workloads: []string{"churn"}, Duration: 15 * time.Second,
			Expected: []string{logAudit}, OnlyExpected: true,
		},
		{
			Bug: "reuse-window", Workloads: []string{"ids"}, Duration: 15 * time.Second, Events: kills,
			Expected: []string{containment},
		},
		{
			Bug: "release-too-low", Workloads: []string{"churn"}, Duration: 15 * time.Second,
			Expected: []string{logAudit, containment},
		},
		{
			Bug: "trust-replica", Workloads: []string{"ids"}, Duration: 15 * time.Second, Events: kills,
			Expected: []string{containment},
		},
		{
			// A member without quorum issues IDs beyond its window, after the seconds that the window still lasts.
			Bug: "assume-extended", Workloads: []string{"ids"}, Duration: 22 * time.Second,
			Events:   again(schedule.Event{Fault: "kill", On: nemesis.Majority, For: lasting(20 * time.Second)}, time.Hour, 22*time.Second),
			Expected: []string{containment},
		},
		{
			// A process loses leadership and later regains it.
			Bug: "keep-leader-term", Workloads: []string{"strict"}, Duration: 30 * time.Second, Events: handovers,
			Expected: []string{order, uniqueness, containment},
		},
		{
			Bug: "no-sync", Workloads: []string{"ids", "strict"}, Duration: 20 * time.Second,
			Events:   again(schedule.Event{Fault: "power-loss", On: nemesis.All, For: lasting(500 * time.Millisecond)}, 8*time.Second, 20*time.Second),
			Expected: []string{logAudit, containment, order, uniqueness},
		},
		{
			// Each request with an ID adds an entry to the log, and members take a snapshot after 4,096 entries.
			Bug: "snapshot-forgets", Workloads: []string{"strict", "ids"}, Duration: 30 * time.Second, Rate: 1500,
			Expected: []string{logAudit},
		},
		{
			// A clock that moves backwards by less than the wait threshold reaches the same tick a second time.
			Bug: "reset-before-check", Workloads: []string{"ids"}, Duration: 15 * time.Second, Rate: 400,
			Events: slices.Concat(
				again(schedule.Event{Fault: "clock-bump", On: nemesis.Leader, Amount: "-200ms", For: lasting(1500 * time.Millisecond)}, 2*time.Second, 15*time.Second),
				again(schedule.Event{Fault: "clock-bump", On: nemesis.Follower, Amount: "-200ms", For: lasting(1500 * time.Millisecond)}, 2*time.Second, 15*time.Second)),
			Expected: []string{uniqueness},
		},
		{
			Bug: "now-in-apply", Workloads: []string{"ids", "churn"}, Duration: 10 * time.Second,
			Expected: []string{logAudit},
		},
		{
			Bug: "sequence-wraps", Workloads: []string{"ids"}, Duration: 10 * time.Second,
			Expected: []string{uniqueness},
		},
		{
			Bug: "worker-out-of-range", Workloads: []string{"churn"}, Duration: 10 * time.Second,
			Expected: []string{logAudit, containment, uniqueness},
		},
		{
			Bug: "forward-without-id", Workloads: []string{"strict"}, Duration: 10 * time.Second,
			Expected: []string{uniqueness},
		},
		{
			Bug: "count-nonvoters", Workloads: []string{"removals"}, Duration: 30 * time.Second,
			Expected: []string{refusal},
		},
		{
			// The former leader reaches only the nonvoters, which are as many as a majority.
			Bug: "count-nonvoters", Where: "in-verify", Workloads: []string{"strict", "nonvoters"}, Duration: 30 * time.Second, Rate: 400,
			Events:   leavings,
			Expected: []string{order},
		},
		{
			// The leader is stopped while it transfers leadership, and continues before its lease ends.
			Bug: "old-acknowledgement", Workloads: []string{"strict"}, Duration: 30 * time.Second, Events: handovers, Rate: 400,
			Expected: []string{order},
		},
		{
			// The leader's clock moves backwards too. Otherwise the leader itself would reject the holders' clocks.
			Bug: "no-clock-check", Workloads: []string{"churn"}, Duration: 20 * time.Second,
			Events:   again(schedule.Event{Fault: "clock-all", On: nemesis.All, Amount: "-5s", For: lasting(15 * time.Second)}, time.Hour, 20*time.Second),
			Expected: []string{logAudit},
		},
		{
			Bug: "no-barrier", Workloads: []string{"strict"}, Duration: 30 * time.Second, Events: handovers, Rate: 400,
			Expected: []string{order},
		},
		{
			Bug: "no-confirm", Workloads: []string{"strict"}, Duration: 30 * time.Second, Events: handovers, Rate: 400,
			Expected: []string{order},
		},
		{
			// A restored cluster repeats grants of the old cluster: windows of workers unused in the backup, or blocks of its
			// sequences.
			Bug: "floor-of-used-workers", Workloads: []string{"ids", "embedded", "churn"}, Duration: 10 * time.Second, MaxWindow: 8 * time.Second,
			Events: restores, Expected: []string{containment, logAudit, restored},
		},
		{
			Bug: "live-not-frozen", Workloads: []string{"strict", "relaxed"}, Duration: 10 * time.Second, MaxWindow: 8 * time.Second,
			Events: restores, Expected: []string{uniqueness, containment},
		},
		{
			Bug: "void-reused-without-word", Workloads: []string{"documents"}, Duration: 20 * time.Second,
			Expected: []string{documented},
		},
		{
			Bug: "taken-drawn", Workloads: []string{"documents"}, Duration: 20 * time.Second,
			Expected: []string{documented},
		},
		{
			// A restored cluster starts a backfill job again that the old one had started after the backup.
			Bug: "resumed-job-again", Workloads: []string{"documents"}, Duration: 10 * time.Second, MaxWindow: 8 * time.Second,
			Events: restores, Expected: []string{documented, logAudit},
		},
		{
			Bug: "no-cluster-check", Workloads: []string{"ids", "strict"}, Duration: 25 * time.Second,
			Events:   []schedule.Event{{At: schedule.Duration(time.Second), Fault: "stranger", On: nemesis.Leader, For: lasting(15 * time.Second)}},
			Expected: []string{logAudit},
		},
	}
}
