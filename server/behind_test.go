package server_test

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// A token that a member may not have learned of yet is no reason for its client to give up.
func TestTokenBeyondTheReplica(t *testing.T) {
	t.Parallel()
	s := startSecured(t, 3)
	lead := s.leader()
	follower := s.nodes[0]
	if follower == lead {
		follower = s.nodes[1]
	}
	last := lead.server.Member().Node().LastIndex()
	ask := func(n *node, id uint64) (time.Duration, error) {
		began := time.Now()
		text := trust.Token{ID: id, Secret: trust.NewTokenSecret()}.Text()
		_, err := n.ids.GenerateIds(as(t.Context(), text), &snowraftv1.GenerateIdsRequest{})
		return time.Since(began), err
	}
	_, err := ask(follower, last+50_000)
	wantReason(t, "a follower, an ID that it may have yet to reach", err, rpc.NoLeader)
	took, err := ask(lead, last+50_000)
	wantReason(t, "the leader, an ID beyond its log", err, rpc.Unauthenticated)
	if took >= time.Second {
		t.Errorf("the leader took %v to refuse what it knows not to exist", took)
	}
	_, err = ask(follower, 1)
	wantReason(t, "a follower, an ID that it has passed", err, rpc.Unauthenticated)

	// Without a majority, nobody knows.
	for _, n := range s.nodes {
		if n != follower {
			n.crash()
		}
	}
	until(t, "the follower is out of touch", func() bool { return !follower.server.Member().Node().InTouch() })
	_, err = ask(follower, 1<<40)
	wantReason(t, "a follower that is cut off", err, rpc.NoLeader)
}
