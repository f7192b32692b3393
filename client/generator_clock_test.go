package client_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/snowflake"
)

// bystander starts a generator with a correct clock that issues all the time. done fails the test if a call
// failed.
func bystander(t *testing.T, c *client.Client, all *issued) (done func()) {
	t.Helper()
	g := embed(t, c, client.WithGeneratorHolder("bystander"))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			id, err := g.Next(context.WithoutCancel(ctx))
			if err != nil {
				t.Errorf("generator with a correct clock: %v", err)
				return
			}
			all.add(t, "bystander", id)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// throughout repeats an action for a time.
func throughout(t *testing.T, d time.Duration, do func()) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < d; <-tick.C {
		do()
	}
}

func TestGeneratorStartsWithWrongClock(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		off    time.Duration
		reason error
	}{
		"an hour ahead":  {time.Hour, client.ErrClockSkew},
		"an hour behind": {-time.Hour, client.ErrClockBehind},
		"a bit ahead":    {1200 * time.Millisecond, client.ErrClockSkew},
		"a bit behind":   {-5 * time.Second, client.ErrClockBehind},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				hosts := startHosts(t, 3)
				var all issued
				done := bystander(t, newApplication(t, apis(hosts...)), &all)
				hand := newHandClock()
				hand.set(c.off)
				g := embed(t, newApplication(t, apis(hosts...)), hand.option())
				eventually(t, "the generator reports its clock", func() bool {
					id, err := g.Next(t.Context())
					if err == nil {
						t.Fatalf("issued %d", id)
					}
					return errors.Is(err, c.reason)
				})
				throughout(t, 3*time.Second/2, func() {
					if id, err := g.Next(t.Context()); err == nil || errors.Is(err, context.DeadlineExceeded) || g.Lanes()[0].Token != 0 {
						t.Fatalf("issued %d, %+v, %v; want an error at once", id, g.Lanes(), err)
					}
				})
				hand.set(0)
				eventually(t, "it issues", func() bool {
					id, err := g.Next(t.Context())
					if err == nil {
						all.add(t, "it", id)
					}
					return err == nil
				})
				for range 1000 {
					id, err := g.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					all.add(t, "it", id)
				}
				done()
			})
		})
	}
}

func TestGeneratorClockJumps(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		by     time.Duration
		reason error
	}{
		"an hour ahead": {time.Hour, client.ErrClockSkew},
		"an hour back":  {-time.Hour, client.ErrClockBehind},
		"1.2 s ahead":   {1200 * time.Millisecond, client.ErrClockSkew},
		"3 s back":      {-3 * time.Second, client.ErrClockBehind},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				hosts := startHosts(t, 3)
				var all issued
				done := bystander(t, newApplication(t, apis(hosts...)), &all)
				hand := newHandClock()
				g := embed(t, newApplication(t, apis(hosts...)), hand.option())
				var last int64
				next := func() {
					t.Helper()
					id, err := g.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if id <= last {
						t.Fatalf("%d after %d", id, last)
					}
					all.add(t, "it", id)
					last = id
				}
				for range 2 {
					for range 1000 {
						next()
					}
					before := g.Lanes()[0]
					hand.set(c.by)
					throughout(t, 5*time.Second/4, func() {
						id, err := g.Next(t.Context())
						var e *client.Error
						if !errors.Is(err, c.reason) || !errors.As(err, &e) || e.RetryAfter <= 0 {
							t.Fatalf("%d, %v", id, err)
						}
						if !errors.Is(g.Ready(), c.reason) {
							t.Fatalf("ready: %v", g.Ready())
						}
					})
					hand.set(0)
					eventually(t, "it issues", func() bool { return g.Ready() == nil })
					next()
					if now := g.Lanes()[0]; now.Worker != before.Worker && before.ServeUntil.After(time.Now()) {
						t.Errorf("lanes: had %+v, have %+v", before, now)
					}
				}
				done()
			})
		})
	}
}

// A generator waits for a clock that is set back a little, and IDs stay in order.
func TestGeneratorClockSetBackALittle(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1)
		hand := newHandClock()
		g := embed(t, newApplication(t, apis(hosts...)), hand.option())
		before, err := g.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		hand.set(-400 * time.Millisecond)
		after, err := g.Next(t.Context())
		if err != nil || after <= before {
			t.Fatalf("%d after %d: %v", after, before, err)
		}
		// The clock has to reach the time of the first ID again. The test may have been late to set it back.
		if passed := time.Since(snowflake.Default().TimeOf(uint64(before))); passed < 380*time.Millisecond {
			t.Errorf("the second ID came %v after the first one", passed)
		}
	})
}

// Under the policy swap, a generator whose clock moved backwards acquires another worker, and no ID repeats.
func TestGeneratorClockMovedBackwardsUnderSwap(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1, func(c *server.Config) { c.Rollback = "swap" })
		hand := newHandClock()
		g := embed(t, newApplication(t, apis(hosts...)), hand.option())
		var all issued
		issue := func() {
			t.Helper()
			for range 1000 {
				id, err := g.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				all.add(t, "it", id)
			}
		}
		issue()
		before := g.Lanes()[0].Worker
		// The generator knows the policy after its first request to a member.
		eventually(t, "the generator issues with another worker", func() bool {
			hand.set(-time.Hour)
			defer hand.set(0)
			_, err := g.Next(t.Context())
			return err == nil && g.Lanes()[0].Worker != before
		})
		hand.set(-time.Hour)
		issue()
		hand.set(0)
		eventually(t, "the generator issues with a correct clock", func() bool { _, err := g.Next(t.Context()); return err == nil })
		issue()
	})
}

// If no member can be reached, the monotonic clock shows the jump.
func TestGeneratorClockJumpsWithoutCluster(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1)
		hand := newHandClock()
		g := embed(t, newApplication(t, apis(hosts...)), hand.option())
		var all issued
		issue := func() {
			t.Helper()
			id, err := g.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all.add(t, "it", id)
		}
		issue()
		hosts[0].end(0)
		hand.stop() // the window outlasts the test
		issue()
		for _, c := range []struct {
			by     time.Duration
			reason error
		}{{time.Hour, client.ErrClockSkew}, {-time.Hour, client.ErrClockBehind}} {
			hand.set(c.by)
			if id, err := g.Next(t.Context()); !errors.Is(err, c.reason) {
				t.Errorf("%v: %d, %v", c.by, id, err)
			}
			hand.set(0)
			issue()
		}
	})
}
