//go:build linux

package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

func processKinds() []Kind {
	return append(handoverKinds(), []Kind{
		{
			Name: "kill", Family: Process, About: "SIGKILL of one member, a majority or all, and a later start",
			Draw: func(r *rand.Rand) schedule.Event {
				return schedule.Event{On: one(r, Leader, Leader, Follower, Follower, Majority, All), For: between(r, 100*time.Millisecond, 8*time.Second)}
			},
			Begin: kill,
		},
		{
			Name: "pause", Family: Process, About: "SIGSTOP for 0.1 to 30 s, then SIGCONT",
			Draw: func(r *rand.Rand) schedule.Event {
				return schedule.Event{On: one(r, Leader, Leader, Follower, Majority), For: between(r, 100*time.Millisecond, 30*time.Second)}
			},
			Begin: pause,
		},
		{
			Name: "storm", Family: Process, About: "one member after another is killed and restarted at once",
			Draw: func(r *rand.Rand) schedule.Event {
				return schedule.Event{On: All, For: between(r, 2*time.Second, 10*time.Second), Amount: one(r, "300ms", "1s", "2s")}
			},
			Begin: storm,
		},
		upgradeKind(),
	}...)
}

func kill(_ context.Context, w *World, e schedule.Event) (Made, error) {
	hit, err := w.targets(e)
	if err != nil {
		return Made{}, err
	}
	for _, m := range hit {
		m.Kill()
	}
	return Made{Hosts: names(hit), Undo: starts(hit)}, nil
}

// starts returns a function that starts the members that are down.
func starts(members []*lab.Member) func(context.Context) error {
	return func(ctx context.Context) error { return lab.Start(ctx, members...) }
}

func pause(_ context.Context, w *World, e schedule.Event) (Made, error) {
	hit, err := w.targets(e)
	if err != nil {
		return Made{}, err
	}
	for _, m := range hit {
		m.Pause()
	}
	return Made{Hosts: names(hit), Undo: func(context.Context) error {
		for _, m := range hit {
			m.Continue()
		}
		return nil
	}}, nil
}

// storm kills and restarts the members in turn until it is undone.
func storm(ctx context.Context, w *World, e schedule.Event) (Made, error) {
	hit, err := w.targets(e)
	if err != nil {
		return Made{}, err
	}
	every, err := time.ParseDuration(e.Amount)
	if err != nil || every <= 0 {
		return Made{}, fmt.Errorf("amount %q: expected a duration such as 1s, the time from kill to kill", e.Amount)
	}
	undo := repeat(ctx, every, func(ctx context.Context, n int) error {
		m := hit[n%len(hit)]
		m.Kill()
		return m.Start(ctx)
	})
	return Made{Hosts: names(hit), Undo: func(ctx context.Context) error {
		if err := undo(ctx); err != nil {
			return err
		}
		return starts(hit)(ctx)
	}}, nil
}

// repeat calls f at each interval, in a goroutine of its own, with n counting from 0. It ends at the first error, or when
// the returned function is called. That function waits for the goroutine and returns the error.
func repeat(ctx context.Context, interval time.Duration, f func(ctx context.Context, n int) error) func(context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				ended <- nil
				return
			case <-tick.C:
			}
			if err := f(ctx, n); err != nil {
				ended <- err
				return
			}
		}
	}()
	return func(context.Context) error {
		cancel()
		return <-ended
	}
}
