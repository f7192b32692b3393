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

// crashloop kills one founder again and again, so soon after each start that it often has
// not taken a worker yet, while clients ask it for IDs. It does that for some seconds at a
// time, with the member reserved: who breaks members in a way that such kills would undo or
// spoil reserves them too, and has its chance between two such times.
func crashloop() Workload {
	return Workload{
		Name:  "crashloop",
		About: "a member killed 0.1 to 2 s after each of its starts, and IDs asked of it",
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

// crash kills a member and starts it again, for some seconds; it leaves it running.
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
