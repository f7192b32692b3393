package cluster

import (
	"errors"
	"testing"

	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

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
	m := clusterkit.NewMeta()
	if err := ofCluster(t).gossip.NotifyAlive(&memberlist.Node{Name: m.GossipName(), Meta: m.Encode()}); !errors.Is(err, peer.ErrOtherCluster) {
		t.Errorf("NotifyAlive() = %v, want %v", err, peer.ErrOtherCluster)
	}
}
