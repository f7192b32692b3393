//go:build linux

package nemesis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/schedule"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// leastUpgrade and mostUpgrade bound the time from one upgrade of a mixed run to the next.
const leastUpgrade, mostUpgrade = 1500 * time.Millisecond, 6 * time.Second

// stopWithin is the time that a member may take to stop: the shutdown limit of "snowraft serve", 10 s, plus a margin.
const stopWithin = 12 * time.Second

// requestAfter is the time from the last member's upgrade to the request to finalize. It suffices for a leader that
// wrongly raises the version without a request, and for the members' statuses to show the raise.
const requestAfter = 3 * time.Second

// upgrades is the state of all upgrades of a run.
type upgrades struct {
	mu      sync.Mutex // held while a member changes its program
	forward bool       // no member returns to the earlier program
}

// upgradeKind returns the fault that switches members to the other build, and back.
func upgradeKind() Kind {
	return Kind{
		Name: "upgrade", Family: Process, About: "members are stopped or killed and started with the other build",
		Beside: true,
		Draw: func(r *rand.Rand) schedule.Event {
			return schedule.Event{On: one(r, Leader, Leader, Follower, Follower, Follower, Majority, All), How: one(r, "stop", "stop", "kill")}
		},
		Begin: upgrade,
	}
}

// finalizeKind returns the fault that finalizes the upgrade, after which members of the earlier version refuse to start.
// [Mix] adds it once to each mixed run; schedules never draw it.
func finalizeKind() Kind {
	return Kind{
		Name: "finalize", Family: Process, About: "all members are upgraded, and the upgrade is finalized",
		Beside: true, Begin: finalize,
	}
}

// Mix adds the faults of a run with two versions to a schedule. Members are upgraded and downgraded until the upgrade is
// finalized, at a moment in the middle third of the run.
func Mix(seed uint64, events []schedule.Event, length time.Duration) []schedule.Event {
	r := rand.New(rand.NewPCG(seed, 2))
	final := length/3 + time.Duration(r.Int64N(int64(length/3)+1))
	kind, events := upgradeKind(), slices.Clone(events)
	add := func(e schedule.Event, name string, at time.Duration) {
		e.Fault, e.At, e.Seed = name, schedule.Duration(at.Round(time.Millisecond)), r.Uint64()>>11
		events = append(events, e)
	}
	for at := time.Second; at < final; at += time.Duration(between(r, leastUpgrade, mostUpgrade)) {
		add(kind.Draw(r), kind.Name, at)
	}
	add(schedule.Event{On: All}, finalizeKind().Name, final)
	slices.SortStableFunc(events, func(a, b schedule.Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

// upgrade restarts the members, one after another, each with the build that it does not run.
func upgrade(ctx context.Context, w *World, e schedule.Event) (Made, error) {
	hit, err := w.targets(e)
	if err != nil {
		return Made{}, err
	}
	w.upgrades.mu.Lock()
	defer w.upgrades.mu.Unlock()
	for _, m := range hit {
		if err := w.restart(ctx, m, e.How == "kill", w.upgrades.forward || !m.Upgraded()); err != nil {
			return Made{}, err
		}
	}
	return Made{Hosts: names(hit), Detail: e.How}, nil
}

// restart changes the program of a member. A member that is down stays down. Requires w.upgrades.mu held.
func (w *World) restart(ctx context.Context, m *lab.Member, kill, upgraded bool) error {
	ran := m.Running()
	if kill {
		m.Kill()
	} else {
		m.Stop(stopWithin)
	}
	m.Upgrade(upgraded)
	if !ran {
		return nil
	}
	return m.Start(ctx)
}

// finalize upgrades the remaining members, and then calls FinalizeUpgrade, as "snowraft upgrade finalize" does, until the
// call succeeds.
func finalize(ctx context.Context, w *World, _ schedule.Event) (Made, error) {
	ctx, cancel := w.patient(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	for _, m := range w.Lab.Members {
		if err := w.forward(ctx, m); err != nil {
			return Made{}, err
		}
	}
	if !history.Sleep(ctx, requestAfter) {
		return Made{}, ctx.Err()
	}
	w.Lab.Record(history.Line{Note: &history.Note{At: history.Now(), What: history.NoteFinalize}})
	for {
		var to uint32
		err := w.operate(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
			resp, err := snowraftv1.NewOperationsServiceClient(conn).FinalizeUpgrade(ctx, &snowraftv1.FinalizeUpgradeRequest{})
			to = resp.GetTo()
			return err
		})
		switch {
		case err == nil && to == fsm.Version:
			return Made{Hosts: names(w.Lab.Members), Detail: fmt.Sprintf("commands up to %d", to)}, nil
		case err == nil: // gossip has not yet shown the leader that all members know the newer version
			err = errors.New("nothing to finalize")
		}
		if !history.Sleep(ctx, time.Second) {
			return Made{}, fmt.Errorf("upgrade not finalized: %w", err)
		}
	}
}

// forward upgrades a member for good. It reserves a member that is not a founder meanwhile, because workloads start and
// stop such members.
func (w *World) forward(ctx context.Context, m *lab.Member) error {
	for !slices.Contains(w.Lab.Founders(), m) {
		release, ok := m.Reserve()
		if ok {
			defer release()
			break
		}
		if !history.Sleep(ctx, 100*time.Millisecond) {
			return fmt.Errorf("%s is in use: %w", m.Name, ctx.Err())
		}
	}
	w.upgrades.mu.Lock()
	defer w.upgrades.mu.Unlock()
	w.upgrades.forward = true
	if m.Upgraded() {
		return nil
	}
	return w.restart(ctx, m, false, true)
}
