package server_test

import (
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// A member that may not have learned of a token yet answers with a retryable error.
func TestTokenBeyondReplicaIsRetryable(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		lead := s.nodes[0]
		follower := join(t, "n", s.nodes, func(cfg *server.Config) { cfg.Keys, cfg.Nonvoter = s.keys, true }) // a nonvoter never leads
		follower.untilReady()
		ask := func(n *node, id uint64) error {
			text := trust.Token{ID: id, Secret: trust.NewTokenSecret()}.Text()
			_, err := n.ids.GenerateIds(as(t.Context(), text), &snowraftv1.GenerateIdsRequest{})
			return err
		}
		const never = 1 << 40
		last := lead.server.Member().Node().LastIndex()
		wantReason(t, "a follower, an ID that it may have yet to reach", ask(follower, last+50_000), rpc.NoLeader)
		wantReason(t, "the leader, an ID beyond its log", ask(lead, last+50_000), rpc.Unauthenticated)
		wantReason(t, "a follower, an ID that it has passed", ask(follower, 1), rpc.Unauthenticated)
		until(t, "a follower in touch refuses an ID that no member has reached", func() bool { return reason(ask(follower, never)) == rpc.Unauthenticated })

		// Without quorum, no member knows.
		lead.crash()
		until(t, "the follower is out of touch", func() bool { return !follower.server.Member().Node().InTouch() })
		wantReason(t, "a follower that is cut off", ask(follower, never), rpc.NoLeader)
	})
}
