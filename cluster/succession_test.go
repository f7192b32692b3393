package cluster

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster/leadership"
	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// calledBy counts the elections that these hosts won without a timeout or a transfer.
func calledBy(hosts []*host) (count uint64) {
	for _, h := range hosts {
		count += h.ElectionsWon()[leadership.Refused]
	}
	return count
}

// untilFollowed waits until all hosts have followed one leader long enough to replace it without a timeout.
func untilFollowed(t *testing.T, hosts []*host) (leader *host, followers []*host) {
	t.Helper()
	leader = leaderOf(t, hosts)
	for _, h := range hosts {
		if h != leader {
			followers = append(followers, h)
		}
	}
	clusterkit.Eventually(t, "the leader is followed", func() bool {
		return !slices.ContainsFunc(followers, func(h *host) bool {
			return h.Term() != leader.Term() || !h.links.Has(transport.Origin{Node: leader.ID(), Process: leader.Process()})
		})
	})
	<-time.After(leader.cfg.Timing.Heartbeat + 500*time.Millisecond)
	return leader, followers
}

// inTrios runs a test with clusters of three hosts, an open one and a secured one.
func inTrios(t *testing.T, boxed bool, test func(t *testing.T, hosts []*host)) {
	t.Helper()
	for name, numbers := range map[string][]int{"open": nil, "secured": {0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusterkit.InMemory(t, func(t *testing.T, network clusterkit.Network) {
				test(t, trio(t, place{network, boxed}, numbers...))
			})
		})
	}
}

// A middlebox that resets connections and refuses new ones to the leader does not depose the leader.
func TestLeaderBehindMiddleboxIsKept(t *testing.T) {
	t.Parallel()
	inTrios(t, true, func(t *testing.T, hosts []*host) {
		leader, _ := untilFollowed(t, hosts)
		for _, refuse := range []bool{false, true} {
			if refuse {
				leader.box.Refuse()
			}
			for _, h := range hosts {
				h.box.Reset()
			}
			<-time.After(leader.cfg.Timing.Heartbeat / 2)
			leader.box.Accept(t)
		}
		if n := calledBy(hosts); n > 0 {
			t.Errorf("%d elections were called against a leader that lives", n)
		}
	})
}

func TestEndedLeaderIsReplacedWithoutTimeout(t *testing.T) {
	t.Parallel()
	inTrios(t, false, func(t *testing.T, hosts []*host) {
		leader, followers := untilFollowed(t, hosts)
		leader.Fail(errors.New("stopped by the test")) // a failed leader transfers no leadership
		if err := leader.Close(t.Context()); err != nil {
			t.Error(err)
		}
		next := leaderOf(t, followers)
		if calledBy(followers) != 1 || next.log.Lines("calling an election") != 1 {
			t.Errorf("%d elections were called, want one; the new leader logs %d calls", calledBy(followers), next.log.Lines("calling an election"))
		}
	})
}
