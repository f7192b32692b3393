//go:build linux

package workload

import (
	"context"
	"sync"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/snowflake"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// crashloop kills one founder repeatedly, so soon after each start that the founder often
// has not acquired a worker yet. Meanwhile clients request IDs from it. The kills come in
// spells of some seconds, during which the founder is reserved. Faults that such kills would
// undo or spoil also reserve the founder, and run between two spells.
func crashloop() Workload {
	return Workload{
		Name:  "crashloop",
		About: "a member that is killed 0.1 to 2 s after each of its starts, and requests for its IDs",
		Run:   runCrashloop,
	}
}

func runCrashloop(ctx context.Context, w *World) error {
	layout := snowflake.Default().Name()
	out, err := w.IDs(layout)
	if err != nil {
		return err
	}
	s, err := connect(w, snowraftv1.NewIdServiceClient)
	if err != nil {
		return err
	}
	defer s.close()
	target := w.Lab.Founders()[0]
	var wg sync.WaitGroup
	begin := func(rate float64, whom func() (*lab.Member, bool)) {
		c := idClient{client: w.client("crashloop"), layout: layout, out: out}
		wg.Go(func() {
			pace(ctx, rate, func(ctx context.Context) {
				if m, ok := whom(); ok {
					c.ask(ctx, m, s.of[m], 0, 0)
				}
			})
		})
	}
	begin(w.Rate*0.6, func() (*lab.Member, bool) { return target, true })
	begin(w.Rate*0.4, w.someone)
	troubled, cancel := w.troubled(ctx)
	defer cancel()
	for err == nil && history.Sleep(troubled, within(2*time.Second, 6*time.Second)) {
		if release, ok := target.Reserve(); ok {
			err = crash(troubled, target)
			release()
		}
	}
	wg.Wait()
	return err
}

// crash repeatedly kills a member and starts it again for 3 to 10 s. Finally the member runs.
func crash(ctx context.Context, m *lab.Member) error {
	spell, end := context.WithTimeout(ctx, within(3*time.Second, 10*time.Second))
	defer end()
	for history.Sleep(spell, within(100*time.Millisecond, 2*time.Second)) {
		m.Kill()
		if err := m.Start(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return nil
}
