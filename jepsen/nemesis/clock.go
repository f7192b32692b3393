//go:build linux

package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/schedule"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func clockKinds() []Kind {
	return []Kind{
		{
			Name: "clock-bump", Family: Clock, About: "the clock of a member jumps by 10 ms to an hour, and back",
			Draw:  drawClock(append(bumps(""), bumps("-")...), Leader, Leader, Follower, Minority),
			Begin: bump,
		},
		{
			Name: "clock-decade", Family: Clock, About: "the clock of one member jumps by ten years, and back",
			Draw:  drawClock([]string{decade, "-" + decade}, Leader, Follower),
			Begin: bump,
		},
		{
			Name: "clock-strobe", Family: Clock, About: "the clock of a member jumps back and forth many times per second",
			Draw:  drawClock(append(bumps(""), bumps("-")...), Leader, Follower),
			Begin: strobe,
		},
		{
			Name: "clock-drift", Family: Clock, About: "the clock of a member runs fast or slow",
			Draw:  drawClock([]string{"5ms", "50ms", "300ms", "-5ms", "-50ms", "-300ms"}, Leader, Follower, All),
			Begin: drift,
		},
		{
			Name: "clock-rollback", Family: Clock, About: "a member is killed and restarts with a clock that is behind",
			Draw:  drawClock(bumps("-"), Leader, Follower, Follower),
			Begin: rollback,
		},
		{
			Name: "clock-all", Family: Clock, About: "the clocks of all members jump together, and back",
			Draw:  drawClock(append(bumps(""), bumps("-")...), All),
			Alone: true, // an operator corrects the clocks afterward, which takes a healthy cluster
			Begin: bumpAll,
		},
	}
}

// decade is ten years. Only the fault clock-decade moves a clock so far that a certificate could expire.
const decade = "87600h"

// bumps returns the amounts by which clocks jump, each with the sign.
func bumps(sign string) []string {
	var all []string
	for _, d := range []string{"10ms", "200ms", "700ms", "1500ms", "5s", "1m", "1h"} {
		all = append(all, sign+d)
	}
	return all
}

func drawClock(amounts []string, whom ...string) func(*rand.Rand) schedule.Event {
	return func(r *rand.Rand) schedule.Event {
		return schedule.Event{On: one(r, whom...), Amount: one(r, amounts...), For: between(r, 3*time.Second, 15*time.Second)}
	}
}

// clocks returns the members whose clocks an event changes, and the amount of the change.
func (w *World) clocks(e schedule.Event) ([]*lab.Member, time.Duration, error) {
	hit, err := w.targets(e)
	if err != nil {
		return nil, 0, err
	}
	amount, err := time.ParseDuration(e.Amount)
	if err != nil {
		return nil, 0, fmt.Errorf("amount %q: expected a duration such as -5s", e.Amount)
	}
	return hit, amount, nil
}

func set(members []*lab.Member, offset time.Duration) error {
	for _, m := range members {
		if err := m.Skew(offset); err != nil {
			return err
		}
	}
	return nil
}

// seenWithin bounds the wait for a status that shows a fault. Statuses are requested every 500 ms.
const seenWithin = 10 * time.Second

// right returns a function that corrects the clocks. Before that, it waits for a status that shows a wrong clock, because
// a busy machine may answer no request during the fault.
func (w *World) right(members []*lab.Member) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, seenWithin)
		defer cancel()
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil && !slices.ContainsFunc(members, w.showsOffset) {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		return set(members, 0)
	}
}

// showsOffset reports whether the last status of a member shows that its clock is wrong.
func (w *World) showsOffset(m *lab.Member) bool {
	s, ok := w.Lab.Status(m)
	return ok && s.Distinguishes(s.SkewCallNanos) && s.Distinguishes(s.SkewReturnNanos)
}

func bump(_ context.Context, w *World, e schedule.Event) (Made, error) {
	hit, amount, err := w.clocks(e)
	if err != nil {
		return Made{}, err
	}
	return Made{Hosts: names(hit), Offset: amount, Detail: e.Amount, Undo: w.right(hit)}, set(hit, amount)
}

func strobe(ctx context.Context, w *World, e schedule.Event) (Made, error) {
	hit, amount, err := w.clocks(e)
	if err != nil {
		return Made{}, err
	}
	undo := repeat(ctx, 20*time.Millisecond, func(_ context.Context, n int) error {
		return set(hit, amount*time.Duration(n%2))
	})
	return Made{Hosts: names(hit), Offset: amount, Detail: e.Amount, Undo: then(undo, func(context.Context) error { return set(hit, 0) })}, nil
}

// drift moves clocks by the amount per second, in small steps.
func drift(ctx context.Context, w *World, e schedule.Event) (Made, error) {
	hit, amount, err := w.clocks(e)
	if err != nil {
		return Made{}, err
	}
	const steps = 20 // per second
	undo := repeat(ctx, time.Second/steps, func(_ context.Context, n int) error {
		return set(hit, amount*time.Duration(n)/steps)
	})
	return Made{Hosts: names(hit), Detail: e.Amount + " per second", Undo: then(undo, w.right(hit))}, nil
}

func rollback(ctx context.Context, w *World, e schedule.Event) (Made, error) {
	hit, amount, err := w.clocks(e)
	if err != nil {
		return Made{}, err
	}
	for _, m := range hit {
		m.Kill()
	}
	if err := set(hit, amount); err != nil {
		return Made{}, err
	}
	return Made{Hosts: names(hit), Offset: amount, Detail: e.Amount, Undo: w.right(hit)}, starts(hit)(ctx)
}

// bumpAll changes all clocks by the amount, and Undo corrects them. Clocks that were ahead have raised the observed
// clock, and lanes have issued IDs of future ticks. Undo therefore also takes the steps that the runbook names for
// operators: it resets the observed clock and restarts the members.
func bumpAll(_ context.Context, w *World, e schedule.Event) (Made, error) {
	hit, amount, err := w.clocks(e)
	if err != nil {
		return Made{}, err
	}
	undo := w.right(hit)
	if amount > 0 {
		undo = then(undo, w.resetClock, func(ctx context.Context) error {
			for _, m := range hit {
				m.Kill()
				if err := m.Start(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return Made{Hosts: names(hit), Offset: amount, Detail: e.Amount, Undo: undo}, set(hit, amount)
}

// resetClock lowers the observed clock to the leader's clock.
func (w *World) resetClock(ctx context.Context) error {
	return w.operate(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := snowraftv1.NewClusterServiceClient(conn).ResetObservedClock(ctx, &snowraftv1.ResetObservedClockRequest{})
		return err
	})
}

// then returns a function that calls the functions in order, up to the first that fails.
func then(things ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, do := range things {
			if err := do(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}
