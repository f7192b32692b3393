//go:build mutants

package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/internal/mutant"
)

// Each look returns what it finds wrong, which must be nothing without a bug.
func TestPlantedBugsAreCaught(t *testing.T) {
	for _, c := range []struct {
		bug  mutant.Bug
		name string
		look func(t *testing.T) error
	}{
		{mutant.CountNonvoters, "verification", confirmedByAMinority},
		{mutant.CountNonvoters, "removal", leftByAMinority},
		{mutant.NoClusterCheck, "handshake", greetedByOthers},
		{mutant.NoClusterCheck, "gossip", heardByOthers},
	} {
		for _, bug := range []mutant.Bug{"", c.bug} {
			t.Run(fmt.Sprintf("%s of %s/bug=%s", c.name, c.bug, bug), func(t *testing.T) {
				defer mutant.Plant(bug)()
				err := c.look(t)
				if (err != nil) != (bug != "") {
					t.Errorf("found %v", err)
				}
				t.Log(err)
			})
		}
	}
}

// confirmedByAMinority asks, in a cluster of up to five voters and three nonvoters, with each set of
// servers that answers that there is no later term. A leader must be confirmed if, and only if, a
// majority of the voters is among them, itself included.
func confirmedByAMinority(t *testing.T) (wrong error) {
	for voters := 1; voters <= 5; voters++ {
		for all := voters; all <= voters+3; all++ {
			var servers []raft.Server
			for i := range all {
				s := raft.Server{ID: raft.ServerID(fmt.Sprint(i))}
				if i >= voters {
					s.Suffrage = raft.Nonvoter
				}
				servers = append(servers, s)
			}
			for answering := range 1 << all {
				var err error
				synctest.Test(t, func(t *testing.T) {
					others, need := majority(servers, "0")
					_, err = confirm(t.Context(), 5, others, need, func(_ context.Context, id raft.ServerID) (uint64, error) {
						var i int
						fmt.Sscan(string(id), &i)
						if answering>>i&1 == 0 {
							return 0, errors.ErrUnsupported
						}
						return 5, nil
					})
				})
				of := bits.OnesCount(uint(answering|1) & (1<<voters - 1))
				found := fmt.Errorf("of %d voters and %d nonvoters, with the answers %b, a leader is confirmed: %t", voters, all-voters, answering|1, err == nil)
				switch {
				case err == nil && of <= voters/2:
					return found // the worse of the two
				case err != nil && of > voters/2:
					wrong = found
				}
			}
		}
	}
	return wrong
}

// leftByAMinority removes a member of which the rest has no majority of live voters.
func leftByAMinority(*testing.T) error {
	members := []Member{
		{ID: "a", Voter: true, Alive: true}, {ID: "b", Voter: true, Alive: true}, {ID: "c", Voter: true},
		{ID: "d", Alive: true}, {ID: "e", Alive: true},
	}
	if live, voters := without(members, "b"); live != 1 || voters != 2 {
		return fmt.Errorf("%d of %d voters would be alive, expected 1 of 2", live, voters)
	}
	return nil
}

// ofCluster is as much of a node as judges others.
func ofCluster(t *testing.T) *Node {
	n := &Node{logger: slog.New(slog.DiscardHandler)}
	n.id = storage.NewIdentity(uuid.NewString(), uuid.NewString(), 1)
	n.cfg = Config{Name: "a", GossipHost: "h", GossipPort: 3, RaftAddress: "h:1", APIAddress: "h:2", Removed: emptyFSM{}, Logger: n.logger}
	n.gossip = newGossip(&n.cfg, n.meta, n.stats, func(string) bool { return false })
	if v := n.judge(hello{From: sameCluster(n), To: n.ID()}); v.err() != nil {
		t.Fatalf("one of its own is refused: %+v", v)
	}
	return n
}

func sameCluster(n *Node) meta {
	m := someMeta()
	m.Cluster = n.ClusterID()
	return m
}

// greetedByOthers shakes hands with a member of another cluster.
func greetedByOthers(t *testing.T) error {
	n := ofCluster(t)
	err := n.judge(hello{From: someMeta(), To: n.ID()}).err()
	if errors.Is(err, ErrOtherCluster) {
		return nil
	}
	return errors.New("a member of another cluster is not refused")
}

// heardByOthers gossips with one.
func heardByOthers(t *testing.T) error {
	err := ofCluster(t).gossip.compatible(someMeta())
	if errors.Is(err, ErrOtherCluster) {
		return nil
	}
	return errors.New("a member of another cluster is not refused")
}
