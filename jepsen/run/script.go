//go:build linux

package run

import (
	"cmp"
	"context"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/workload"
)

// Script is faults in a set order, each of which waits for what the ones before did.
type Script struct {
	// WaitThreshold and MaxWindow are the cluster's, 0 for those of other runs.
	WaitThreshold, MaxWindow time.Duration
	// Strays are hosts for members of another cluster.
	Strays int
	// Play makes the faults and takes them back. An error means that there is no run to judge.
	Play func(ctx context.Context, w *workload.World) error
}

// A script waits itself until the cluster is well, before and after.
const (
	scriptWarmUp   = time.Second
	scriptCoolDown = 3 * time.Second
)

func (r *run) warmUp() time.Duration {
	if r.Script != nil {
		return scriptWarmUp
	}
	return warmUp
}

func (r *run) coolDown() time.Duration {
	if r.Script != nil {
		return scriptCoolDown
	}
	return coolDown
}

func (r *run) waitThreshold() time.Duration {
	if r.Script != nil {
		return cmp.Or(r.Script.WaitThreshold, waitThreshold)
	}
	return waitThreshold
}

func (r *run) maxWindow() time.Duration {
	if r.Script != nil {
		return cmp.Or(r.Script.MaxWindow, maxWindow)
	}
	return cmp.Or(time.Duration(r.Plan.MaxWindow), maxWindow)
}

// play makes the faults of the script or the plan. Those of a plan may be over early, or
// there may be none: the load goes on for as long as was requested.
func (r *run) play(ctx context.Context, faults *nemesis.World, failed <-chan error) error {
	if r.Script != nil {
		return r.Script.Play(ctx, r.world)
	}
	begun := history.Now()
	if err := faults.Play(ctx, r.journal, r.Plan.Events); err != nil {
		// The history says so, and checkers tell what they can.
		r.say("faults that could not be made or undone: %v", err)
	}
	return r.wait(ctx, time.Duration(begun+int64(r.Plan.Duration)-history.Now()), failed)
}
