package server_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/snowflake"
)

// untilObserved waits until every member's replica knows a recent observed clock.
func untilObserved(t *testing.T, nodes []*node) {
	t.Helper()
	for _, n := range nodes {
		until(t, "the observed clock is recent on "+n.cfg.Name, func() bool {
			return time.Now().UnixMilli()-n.server.Member().State().Observed().Load() < 1500
		})
	}
}

func TestClockBackWithinThresholdWaits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		untilObserved(t, nodes)
		for _, n := range nodes {
			before := n.mustGenerate(1)[0]
			n.setClock(-500 * time.Millisecond)
			after := n.mustGenerate(1)[0]
			if after <= before {
				t.Fatalf("%s: %d after %d", n.cfg.Name, after, before)
			}
			// The clock reaches the time of the first ID again after 500 ms. Times in IDs are rounded to milliseconds.
			if age := time.Since(snowflake.Default().TimeOf(uint64(before))); age < 480*time.Millisecond {
				t.Errorf("%s: did not wait: the ID before is %v old", n.cfg.Name, age)
			}
			n.setClock(0)
		}
	})
}

func TestClockBackBeyondThresholdRefuses(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		untilObserved(t, nodes)
		n := follower(t, nodes)
		before := n.mustGenerate(1)[0]
		const back, limit = 20_000, 1000 // ms; much more than the observed clock may be old
		observed := n.server.Member().State().Observed().Load()
		n.setClock(-back * time.Millisecond)
		_, err := n.generate(1, 0)
		if reason(err) != rpc.ClockBehind {
			t.Fatalf("refused with %v", err)
		}
		e := rpc.FromError(err)
		least := observed - (time.Now().UnixMilli() - back)
		behind, err := strconv.ParseInt(e.Metadata[rpc.MetadataBehind], 10, 64)
		if err != nil || behind < least || behind > back || e.RetryAfter.Milliseconds() != behind-limit {
			t.Errorf("metadata %v, retry after %v, want from %d to %d ms behind", e.Metadata, e.RetryAfter, least, back)
		}
		if n.server.Ready() == nil {
			t.Error("ready although it refuses")
		}
		for _, o := range nodes {
			if o != n {
				o.mustGenerate(10)
			}
		}
		n.setClock(0)
		if after := n.mustGenerate(1)[0]; after <= before {
			t.Fatalf("%d after %d", after, before)
		}
	})
}

func TestClockBackAcrossRestart(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		untilObserved(t, nodes)
		n := follower(t, nodes)
		n.stop()
		n.setClock(-5 * time.Second)
		n.start()
		until(t, "it refuses for its clock", func() bool {
			_, err := n.generate(1, 0)
			return reason(err) == rpc.ClockBehind
		})
		n.setClock(0)
		n.untilReady()
		n.mustGenerate(10)
	})
}

func TestClockBackAcrossRestartOfAll(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		untilObserved(t, nodes)
		all := make(seen)
		for _, n := range nodes {
			all.add(t, n.cfg.Name, n.mustGenerate(100)...)
		}
		restartAll(nodes, -time.Minute)
		for _, n := range nodes {
			until(t, n.cfg.Name+" refuses for its clock", func() bool {
				ids, err := n.generate(1, 0)
				if err == nil {
					t.Fatalf("%s issued %v with its clock a minute back", n.cfg.Name, ids)
				}
				return reason(err) == rpc.ClockBehind
			})
		}
		for _, n := range nodes {
			n.setClock(0)
		}
		for _, n := range nodes {
			n.untilReady()
			all.add(t, n.cfg.Name, n.mustGenerate(100)...)
		}
	})
}

// restartAll stops all members and starts them at the same addresses, with their clocks off by skew.
func restartAll(nodes []*node, skew time.Duration) {
	for _, n := range nodes {
		n.pin()
	}
	for _, n := range nodes {
		n.stop()
		n.setClock(skew)
	}
	for _, n := range nodes {
		n.start()
	}
}

// pin makes the next start use the present ports that other members know. Another test may take the ports in the meantime, so
// pin keeps only these ports.
func (n *node) pin() {
	n.cfg.RaftAddr, n.cfg.GossipAddr = n.server.RaftAddr(), n.server.GossipAddr()
}

func TestClockBackUnderSwapKeepsIssuing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3, func(c *server.Config) { c.Rollback = "swap" })
		untilObserved(t, nodes)
		all := make(seen)
		for _, n := range nodes {
			all.add(t, n.cfg.Name, n.mustGenerate(1000)...)
		}
		workers := func(n *node) uint64 { return n.status().GetLanes()[0].GetWorker() }
		for _, n := range []*node{follower(t, nodes), leader(t, nodes)} {
			before, led := workers(n), n.leads()
			n.setClock(-5 * time.Second)
			// A leader whose clock is off transfers its leadership, and is granted no window meanwhile.
			var began time.Time
			var ids []int64
			until(t, n.cfg.Name+" is granted another window", func() bool {
				began = time.Now()
				var err error
				if ids, err = n.generate(1000, 0); err != nil && !(led && reason(err) == rpc.WindowEnded) {
					t.Fatalf("%s: %v", n.cfg.Name, err)
				}
				return err == nil
			})
			all.add(t, n.cfg.Name, ids...)
			if took := time.Since(began); took > 4*time.Second { // the clock catches up after 5 s
				t.Errorf("%s took %v to issue IDs again", n.cfg.Name, took)
			}
			if workers(n) == before {
				t.Errorf("%s keeps worker %d, want another worker", n.cfg.Name, before)
			}
			for range 20 {
				all.add(t, n.cfg.Name, n.mustGenerate(1000)...)
			}
			n.setClock(0)
			// A peer whose clock was read while it was off counts with that reading until the next reading. This member's clock
			// counts as ahead of it.
			until(t, "the corrected clock is trusted", func() bool {
				ids, err := n.generate(1000, 0)
				all.add(t, n.cfg.Name, ids...)
				return err == nil
			})
		}
	})
}

func TestClockForward(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"follower", "leader"} {
		t.Run(role, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				nodes := startCluster(t, 3)
				untilObserved(t, nodes)
				// The members have compared their clocks.
				for _, n := range nodes {
					until(t, "clocks were compared", func() bool { return n.server.Member().Clock().Trusted() })
				}
				n := leader(t, nodes)
				if role == "follower" {
					n = follower(t, nodes)
				}
				n.setClock(time.Hour)
				_, err := n.generate(1, 0)
				if reason(err) != rpc.ClockSkew {
					t.Fatalf("refused with %v", err)
				}
				for _, o := range nodes {
					if o != n {
						o.mustGenerate(10)
					}
				}
				if role == "leader" {
					until(t, "leadership moved", func() bool { return !n.leads() })
				}
				// The observed clock advances, and is not an hour ahead.
				others := except(nodes, n)
				leader(t, others)
				began := time.Now()
				for _, o := range others {
					until(t, "the observed clock advances", func() bool {
						observed := o.server.Member().State().Observed().Load()
						if ahead := observed - time.Now().UnixMilli(); ahead > 1000 {
							t.Fatalf("the observed clock of %s is %d ms ahead", o.cfg.Name, ahead)
						}
						return observed > began.UnixMilli()
					})
				}
				n.setClock(0)
				n.untilReady()
				n.mustGenerate(10)
			})
		})
	}
}

func TestResetObservedClock(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 1)
		n := nodes[0]
		untilObserved(t, nodes)
		// A single member cannot compare its clock: after a start with a wrong clock it trusts its clock, and the observed
		// clock is an hour ahead.
		n.stop()
		n.setClock(time.Hour)
		n.start().untilReady()
		until(t, "the observed clock is an hour ahead", func() bool {
			return n.server.Member().State().Observed().Load() > time.Now().Add(50*time.Minute).UnixMilli()
		})
		n.stop()
		n.setClock(0)
		n.start()
		until(t, "it refuses", func() bool {
			_, err := n.generate(1, 0)
			return reason(err) == rpc.ClockBehind
		})
		before := time.Now().UnixMilli()
		resp, err := n.cluster.ResetObservedClock(t.Context(), &snowraftv1.ResetObservedClockRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if at, now := resp.GetObservedClockAtMs(), time.Now().UnixMilli(); at < before || at > now {
			t.Errorf("the observed clock is %d, want from %d to %d", at, before, now)
		}
		n.untilReady()
		n.mustGenerate(10)
	})
}
