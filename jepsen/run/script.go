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

// Script is a fixed series of faults. Each fault waits for the effect of the faults before.
type Script struct {
	// WaitThreshold and MaxWindow are settings of the cluster; 0 for the values of other runs.
	WaitThreshold, MaxWindow time.Duration
	// Strays is the number of hosts for members of another cluster.
	Strays int
	// Twins is the number of hosts that begin without a member.
	Twins int
	// Play makes the faults and undoes them. An error means that there is no run to judge.
	Play func(ctx context.Context, w *workload.World) error
}

// The times of load before and after a script are short, because a script waits for a healthy cluster at both ends.
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

// play makes the faults of the script or the plan. With a plan, it returns after the plan's duration, even if the faults
// end earlier or there are none.
func (r *run) play(ctx context.Context, faults *nemesis.World, failed <-chan error) error {
	if r.Script != nil {
		return r.Script.Play(ctx, r.world)
	}
	begun := history.Now()
	if err := faults.Play(ctx, r.journal, r.Plan.Events); err != nil {
		// The history has the error too, and the checkers still judge the run.
		r.say("faults not made or not undone: %v", err)
	}
	return r.wait(ctx, time.Duration(begun+int64(r.Plan.Duration)-history.Now()), failed)
}
