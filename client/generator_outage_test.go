package client_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// Without quorum, generators issue to the end of their windows, and then wait or fail, depending on their options. They
// resume when there is a quorum again.
func TestGeneratorsWithoutQuorum(t *testing.T) {
	t.Parallel()
	const window = 2 * time.Second
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 3, func(c *server.Config) { c.MaxWindow = window })
		var all issued
		waiting := embed(t, newApplication(t, apis(hosts...)), client.WithGeneratorHolder("waits"))
		failing := embed(t, newApplication(t, apis(hosts...)), client.WithGeneratorHolder("fails"), client.WithGeneratorNoWait())
		nextBy := func(g *client.Generator, deadline time.Time) error {
			ctx, cancel := context.WithDeadline(t.Context(), deadline)
			defer cancel()
			id, err := g.Next(ctx)
			if err == nil {
				all.add(t, fmt.Sprintf("%p", g), id)
			}
			return err
		}
		next := func(g *client.Generator) error { return nextBy(g, time.Now().Add(client.Patience)) }
		for _, g := range []*client.Generator{waiting, failing} {
			if err := next(g); err != nil { // all generators wait for the first window
				t.Fatal(err)
			}
		}
		var ends []time.Time
		for _, g := range []*client.Generator{waiting, failing} {
			eventually(t, "the window is a long one", func() bool { return time.Until(g.Lanes()[0].ServeUntil) > window*3/4 })
		}
		for _, h := range hosts[:2] {
			h.end(0)
		}
		for _, g := range []*client.Generator{waiting, failing} {
			ends = append(ends, g.Lanes()[0].ServeUntil)
		}
		// Until the end of the window, no caller notices.
		throughout(t, time.Until(ends[0]), func() {
			if err := nextBy(waiting, ends[0]); err != nil && time.Now().Before(ends[0]) {
				t.Fatal(err)
			}
		})
		eventually(t, "the generator without waiting fails", func() bool { return next(failing) != nil })
		if early := time.Until(ends[1]); early > 0 {
			t.Errorf("the generator failed %v before its window ended", early)
		}
		eventually(t, "both windows have ended", func() bool { return time.Now().After(ends[0]) })
		err := next(failing)
		var e *client.Error
		if errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, client.ErrWindowEnded) || !errors.As(err, &e) || e.RetryAfter <= 0 {
			t.Errorf("generator without waiting: %v", err)
		}
		deadline := time.Now().Add(500 * time.Millisecond)
		err = nextBy(waiting, deadline)
		if early := time.Until(deadline); early > 100*time.Millisecond || !errors.Is(err, client.ErrWindowEnded) {
			t.Errorf("waiting generator: %v before its deadline, %v", early, err)
		}

		// Waiting callers get their IDs when the quorum is back.
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := next(waiting); err != nil {
					t.Error(err)
				}
			})
		}
		for _, h := range hosts[:2] {
			h.start()
		}
		wg.Wait()
		eventually(t, "the generator without waiting issues again", func() bool { return next(failing) == nil })
	})
}

// A call that comes while the first window is being granted waits for it.
func TestGeneratorNoWaitAwaitsFirstWindow(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1)
		c := newApplication(t, apis(hosts...))
		var wg sync.WaitGroup
		for i := range 30 {
			g := embed(t, c, client.WithGeneratorHolder(fmt.Sprintf("h%d", i)), client.WithGeneratorNoWait())
			var there atomic.Bool
			for !there.Load() {
				wg.Go(func() {
					if _, err := g.Next(t.Context()); err != nil {
						t.Errorf("%v, %+v", err, g.Lanes())
					}
					there.Store(true)
				})
				runtime.Gosched()
			}
		}
		wg.Wait()
	})
}

// An application that crashes in a loop does not exhaust the workers, because its windows are short: it starts more
// often than there are workers. With the same name, it acquires its former worker when the window has passed.
func TestGeneratorsCrashInLoop(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1)
		layout := hosts[0].narrow("narrow", 4)
		stable := embed(t, newApplication(t, apis(hosts...)), client.WithGeneratorLayout(layout), client.WithGeneratorHolder("stable"))
		var all issued
		const crashes = 24 // more than the 16 workers
		held := func() (n int) {
			for _, w := range hosts[0].granted(layout) {
				if w.GetState().String() == "WORKER_STATE_HELD" {
					n++
				}
			}
			return n
		}
		pace := time.NewTicker(200 * time.Millisecond)
		defer pace.Stop()
		for i := range crashes {
			// The application crashes: it releases no worker.
			c := newApplication(t, apis(hosts...))
			g := embed(t, c, client.WithGeneratorLayout(layout), client.WithGeneratorHolder("crashes"))
			for range 100 {
				id, err := g.Next(t.Context())
				if err != nil {
					t.Fatalf("start %d: %v", i, err)
				}
				all.add(t, fmt.Sprintf("start %d", i), id)
			}
			if n := held(); n == 16 {
				t.Fatalf("start %d: all workers are held", i)
			}
			if _, err := stable.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
			_ = g.Close(t.Context())
			<-pace.C
		}
		// A process that starts under the name of a process whose window has passed acquires the same worker.
		eventually(t, "all windows except one have passed", func() bool { return held() == 1 })
		var newest, worker uint64
		for _, w := range hosts[0].granted(layout) {
			if w.GetHolder() == "crashes/0" && w.GetToken() > newest {
				newest, worker = w.GetToken(), w.GetWorker()
			}
		}
		again := embed(t, newApplication(t, apis(hosts...)), client.WithGeneratorLayout(layout), client.WithGeneratorHolder("crashes"))
		id, err := again.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all.add(t, "again", id)
		if got := again.Lanes()[0].Worker; got != worker {
			t.Errorf("worker %d, want %d", got, worker)
		}
	})
}

// In containers, the address, the name and the process ID are often equal. Generators that derive their worker from
// these collide. Snowraft's generators acquire different workers.
func TestGeneratorsOfEqualContainers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const containers = 100
		hosts := startHosts(t, 1)
		var all issued
		var mu sync.Mutex
		held := make(map[uint64]int) // containers by the worker of their first ID
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range containers {
			c := newApplication(t, apis(hosts...))
			wg.Go(func() {
				<-start
				g := embed(t, c, client.WithGeneratorHolder("container"))
				for n := range 10 {
					id, err := g.Next(t.Context())
					if err != nil {
						t.Errorf("container %d: %v", i, err)
						return
					}
					all.add(t, fmt.Sprintf("container %d", i), id)
					if n > 0 {
						continue
					}
					mu.Lock()
					worker := g.Lanes()[0].Worker
					if other, taken := held[worker]; taken {
						t.Errorf("containers %d and %d hold worker %d", other, i, worker)
					}
					held[worker] = i
					mu.Unlock()
				}
			})
		}
		close(start)
		wg.Wait()
	})
}

// If all workers are held, the error names the time at which a worker becomes free, and the generator acquires it then.
func TestGeneratorsWithoutFreeWorker(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const window = 5 * time.Minute
		hosts := startHosts(t, 1)
		layout := hosts[0].narrow("full", 4)
		workers := snowraftv1.NewWorkerServiceClient(hosts[0].connect())
		nonce := make([]byte, 16)
		var held *snowraftv1.Grant
		for range 16 {
			resp, err := workers.AcquireWorker(t.Context(), &snowraftv1.AcquireWorkerRequest{
				Layout: layout, Holder: "holds", Nonce: nonce, ClockAtMs: time.Now().UnixMilli(), WindowMs: window.Milliseconds(),
			})
			if err != nil {
				t.Fatal(err)
			}
			held = resp.GetGrant()
		}
		last := embed(t, newApplication(t, apis(hosts...)), client.WithGeneratorLayout(layout), client.WithGeneratorHolder("last"))
		var e *client.Error
		eventually(t, "the last generator is refused", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := last.Next(ctx)
			if err == nil {
				t.Fatal("the last generator has a worker")
			}
			return errors.Is(err, client.ErrWorkersExhausted) && errors.As(err, &e)
		})
		if e.RetryAfter < window/2 || e.RetryAfter > window {
			t.Errorf("RetryAfter = %v", e.RetryAfter)
		}
		t.Logf("error: %v; retry after %v", e, e.RetryAfter)
		if _, err := workers.ReleaseWorker(t.Context(), &snowraftv1.ReleaseWorkerRequest{
			Layout: layout, Worker: held.GetWorker(), Token: held.GetToken(), Nonce: nonce, UntilTick: held.GetUntilTick(), NextTick: held.GetFromTick(),
		}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the last generator has a released worker", func() bool { _, err := last.Next(t.Context()); return err == nil })
	})
}
