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

// upgradeEvery is the time from one upgrade of a mixed run to the next, at least and at most.
const leastUpgrade, mostUpgrade = 1500 * time.Millisecond, 6 * time.Second

// stopWithin is the time that a member may take to stop: what "snowraft serve" promises and a little.
const stopWithin = 12 * time.Second

// requestAfter is the time from the last member's upgrade to the request to finalize: enough for a leader to raise the
// version without one, and for the members' statuses to show that.
const requestAfter = 3 * time.Second

// upgrades is the state of all upgrades of a run.
type upgrades struct {
	mu      sync.Mutex // held while a member changes its program
	forward bool       // no member goes back to the earlier program
}

// upgradeKind has members change to the other build, and back.
func upgradeKind() Kind {
	return Kind{
		Name: "upgrade", Family: Process, About: "members stopped or killed and started with the other build",
		Beside: true,
		Draw: func(r *rand.Rand) schedule.Event {
			return schedule.Event{On: one(r, Leader, Leader, Follower, Follower, Follower, Majority, All), How: one(r, "stop", "stop", "kill")}
		},
		Begin: upgrade,
	}
}

// finalizeKind ends the way back. It is made once in each mixed run and is not drawn, because a member of the earlier
// version refuses to start after it.
func finalizeKind() Kind {
	return Kind{
		Name: "finalize", Family: Process, About: "all members upgraded, and the upgrade finalized",
		Beside: true, Begin: finalize,
	}
}

// Mix adds to a schedule what makes members of two versions of it: upgrades of members and back, again and again, until
// a moment in the middle at which the upgrade is finalized.
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

// upgrade starts one member after another with the build that it does not run.
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

// restart changes the program of a member. One that is down stays down. upgrades.mu is held.
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

// finalize upgrades the members that are not, and then does what "snowraft upgrade finalize" does, until it succeeds.
func finalize(ctx context.Context, w *World, _ schedule.Event) (Made, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	for _, m := range w.Lab.Members {
		if err := w.forward(ctx, m); err != nil {
			return Made{}, err
		}
	}
	if !history.Sleep(ctx, requestAfter) {
		return Made{}, ctx.Err()
	}
	w.Lab.Tell(history.Line{Note: &history.Note{At: history.Now(), What: history.NoteFinalize}})
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
		case err == nil: // the leader has not learned from gossip yet that the others know more
			err = errors.New("nothing to finalize")
		}
		if !history.Sleep(ctx, time.Second) {
			return Made{}, fmt.Errorf("upgrade not finalized: %w", err)
		}
	}
}

// forward upgrades a member for good. One that a workload lets join and go is reserved meanwhile.
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
