package client_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/snowflake"
)

func TestGenerator(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1)
		c := newApplication(t, apis(hosts...))
		g := embed(t, c, client.WithGeneratorHolder("app"), client.WithGeneratorLanes(2))
		if err := g.WaitReady(t.Context()); err != nil || g.Ready() != nil {
			t.Fatalf("WaitReady() = %v, then Ready() = %v", err, g.Ready())
		}
		var all issued
		var last int64
		for range 1000 {
			id, err := g.NextAfter(t.Context(), last)
			if err != nil {
				t.Fatal(err)
			}
			if id <= last {
				t.Fatalf("%d after %d", id, last)
			}
			last = id
			all.add(t, "NextAfter", id)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 1000 {
					id, err := g.Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					all.add(t, "Next", id)
				}
			})
		}
		wg.Wait()
		ranges, err := g.Ranges(t.Context(), 10_000)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range ranges {
			for id := range r.All() {
				all.add(t, "Ranges", id)
			}
		}
		prefix := []int64{1, 2}
		ids, err := g.Append(t.Context(), prefix, 10_000)
		if err != nil || len(ids) != 10_002 || !slices.Equal(ids[:2], prefix) {
			t.Fatalf("Append() = %d IDs, %v, want 10,000 after the two that were there", len(ids), err)
		}
		for _, id := range ids[2:] {
			all.add(t, "Append", id)
		}
		if len(all.by) != 29_000 {
			t.Errorf("%d IDs", len(all.by))
		}
		if err := g.Ready(); err != nil {
			t.Error(err)
		}
		// One lane may have issued all of these IDs before the other lane acquired its worker.
		eventually(t, "each lane has a worker", func() bool {
			return !slices.ContainsFunc(g.Lanes(), func(l client.LaneStatus) bool { return l.Token == 0 })
		})
		lanes := g.Lanes()
		if len(lanes) != 2 || lanes[0].Token == 0 || lanes[0].Worker == lanes[1].Worker || time.Until(lanes[0].ServeUntil) <= 0 {
			t.Errorf("%+v", lanes)
		}
		for _, w := range hosts[0].granted("") {
			if w.GetToken() == lanes[0].Token && w.GetHolder() != "app/0" {
				t.Errorf("the holder is %q", w.GetHolder())
			}
		}

		for _, n := range []int{0, -1, 1_000_001} {
			if _, err := g.Ranges(t.Context(), n); !errors.Is(err, client.ErrInvalidArgument) {
				t.Errorf("%d IDs: %v", n, err)
			}
			if ids, err := g.Append(t.Context(), prefix, n); !errors.Is(err, client.ErrInvalidArgument) || !slices.Equal(ids, prefix) {
				t.Errorf("Append(%d) = %v, %v", n, ids, err)
			}
		}
		for _, after := range []int64{math.MaxInt64, -1, math.MinInt64} {
			if _, err := g.NextAfter(t.Context(), after); !errors.Is(err, client.ErrInvalidArgument) {
				t.Errorf("above %d: %v", after, err)
			}
		}
		future := snowflake.Default().Compose(snowflake.Default().TickAt(time.Now().Add(time.Hour).UnixMilli()), 0, 0)
		if _, err := g.NextAfter(t.Context(), int64(future)); !errors.Is(err, client.ErrInvalidArgument) {
			t.Errorf("above an ID of the future: %v", err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.Next(cancelled); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %v", err)
		}

		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := g.Next(t.Context()); !errors.Is(err, client.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if err := g.Ready(); !errors.Is(err, client.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		for _, w := range hosts[0].granted("") {
			if strings.HasPrefix(w.GetHolder(), "app/") && w.GetState().String() != "WORKER_STATE_RELEASED" {
				t.Errorf("after Close: %v", w)
			}
		}
	})
}

func TestGeneratorOptions(t *testing.T) {
	t.Parallel()
	c := newApplication(t, []string{"127.0.0.1:1"})
	for what, o := range map[string]client.GeneratorOption{
		"no layout": client.WithGeneratorLayout(""), "no holder": client.WithGeneratorHolder(""), "a space": client.WithGeneratorHolder("a b"),
		"a reserved name": client.WithGeneratorHolder("$a"), "an accent apart": client.WithGeneratorHolder("cafe\u0301"),
		"a long holder": client.WithGeneratorHolder(strings.Repeat("x", 126)), "no lanes": client.WithGeneratorLanes(0), "65 lanes": client.WithGeneratorLanes(65),
	} {
		if _, err := client.NewGenerator(c, o); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

// Without a cluster, calls wait for their whole timeout, and Close does not wait.
func TestGeneratorWithoutCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := embed(t, newApplication(t, []string{"127.0.0.1:1"}))
		const timeout = 300 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		began := time.Now()
		_, err := g.Next(ctx)
		if !errors.Is(err, client.ErrWindowEnded) || !errors.Is(err, client.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != timeout {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := g.Ready(); !errors.Is(err, client.ErrWindowEnded) || g.Lanes() != nil {
			t.Errorf("%v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), timeout)
		defer cancel()
		if err := g.WaitReady(ctx); !errors.Is(err, client.ErrWindowEnded) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitReady() = %v", err)
		}
		waiting := make(chan error)
		go func() { waiting <- g.WaitReady(t.Context()) }()
		began = time.Now()
		if err := g.Close(t.Context()); err != nil || time.Since(began) != 0 {
			t.Errorf("closed after %v: %v", time.Since(began), err)
		}
		if err := <-waiting; !errors.Is(err, client.ErrClosed) {
			t.Errorf("WaitReady() = %v after Close", err)
		}
		if _, err := g.Next(t.Context()); !errors.Is(err, client.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}

// If the client is closed before there is a window, calls fail with ErrClosed at once.
func TestGeneratorOfClosedClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newApplication(t, []string{"127.0.0.1:1"})
		g := embed(t, c)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := g.Next(t.Context()); !errors.Is(err, client.ErrClosed) || time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// While the layout does not exist, calls fail at once.
func TestGeneratorOfUnknownLayout(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1)
		g := embed(t, newApplication(t, apis(hosts...)), client.WithGeneratorLayout("later"), client.WithGeneratorNoWait())
		if _, err := g.Next(t.Context()); !errors.Is(err, client.ErrUnknownLayout) {
			t.Fatal(err)
		}
		if err := g.WaitReady(t.Context()); !errors.Is(err, client.ErrUnknownLayout) {
			t.Fatalf("WaitReady() = %v", err)
		}
		hosts[0].narrow("later", 4)
		eventually(t, "it issues", func() bool { _, err := g.Next(t.Context()); return err == nil })
	})
}

// No goroutine of a generator and its client is left after they are closed, whatever happened before.
func TestGeneratorLeaks(t *testing.T) {
	hosts := startHosts(t, 1)
	before := goleak.IgnoreCurrent()
	for _, wait := range []bool{true, false} {
		for range 3 {
			c, err := client.New(apis(hosts...))
			if err != nil {
				t.Fatal(err)
			}
			g, err := client.NewGenerator(c, client.WithGeneratorLanes(3))
			if err != nil {
				t.Fatal(err)
			}
			if wait {
				if _, err := g.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	var left error
	defer func() {
		if t.Failed() {
			t.Log(left)
		}
	}()
	eventually(t, "no goroutine is left", func() bool { // a busy machine needs longer than goleak waits
		left = goleak.Find(before)
		return left == nil
	})
}
