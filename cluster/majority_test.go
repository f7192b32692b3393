package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
)

// TestVerificationNeedsAMajorityOfVoters tries each cluster of up to five voters and three nonvoters, with each set of servers
// that answer that there is no later term. A leader must be confirmed if and only if the set, with the leader, has a majority
// of the voters.
func TestVerificationNeedsAMajorityOfVoters(t *testing.T) {
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
					_, err = new(hedges).confirm(t.Context(), 5, others, need, func(_ context.Context, id raft.ServerID) (uint64, error) {
						var i int
						fmt.Sscan(string(id), &i)
						if answering>>i&1 == 0 {
							return 0, errors.ErrUnsupported
						}
						return 5, nil
					})
				})
				of := bits.OnesCount(uint(answering|1) & (1<<voters - 1))
				if (err == nil) != (of > voters/2) {
					t.Errorf("of %d voters and %d nonvoters, with the answers %b, a leader is confirmed: %t", voters, all-voters, answering|1, err == nil)
				}
			}
		}
	}
}

// A removal is refused if the remaining voters have no live majority; nonvoters do not count.
func TestRemovalCountsVotersOnly(t *testing.T) {
	members := []Member{
		{ID: "a", Voter: true, Alive: true}, {ID: "b", Voter: true, Alive: true}, {ID: "c", Voter: true},
		{ID: "d", Alive: true}, {ID: "e", Alive: true},
	}
	if live, voters := without(members, "b"); live != 1 || voters != 2 {
		t.Errorf("%d of %d voters would be alive, want 1 of 2", live, voters)
	}
}

func TestGossipRefusesOtherClusters(t *testing.T) {
	m := someMeta()
	if err := ofCluster(t).gossip.NotifyAlive(&memberlist.Node{Name: m.GossipName(), Meta: m.Encode()}); !errors.Is(err, peer.ErrOtherCluster) {
		t.Errorf("NotifyAlive() = %v, want %v", err, peer.ErrOtherCluster)
	}
}
