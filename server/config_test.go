package server_test

import (
	"slices"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// When a change of the configuration returns, all live members have applied it.
func TestUpdateConfigWaitsForMembers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		by := except(nodes, leader(t, nodes))[0]
		for i := range int64(20) {
			want := 60_000 + i
			resp, err := by.cluster.UpdateConfig(t.Context(), &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{MaxWindowMs: &want}})
			if err != nil || len(resp.GetUnreachedMembers()) > 0 {
				t.Fatalf("UpdateConfig() = %v, %v", resp, err)
			}
			for _, n := range nodes {
				got, err := n.cluster.GetConfig(t.Context(), &snowraftv1.GetConfigRequest{})
				if err != nil || got.GetConfig().GetMaxWindowMs() != want || got.GetConfig().GetGeneration() != resp.GetConfig().GetGeneration() {
					t.Fatalf("%s after the change to %v: %v, %v", n.cfg.Name, resp.GetConfig(), got, err)
				}
			}
		}
		down := except(nodes, leader(t, nodes))[0]
		down.stop()
		configureWithout(t, leader(t, except(nodes, down)), down, snowraftv1.AutoCreate_AUTO_CREATE_STRICT)
	})
}

// configureWithout is configure, and wants exactly one member not to be reached. It repeats the change if others are slow.
func configureWithout(t *testing.T, n, unreached *node, create snowraftv1.AutoCreate) {
	t.Helper()
	until(t, "all other members are reached", func() bool {
		got := configure(t, n, create)
		if !slices.Contains(got, unreached.cfg.Name) {
			t.Errorf("unreached members: %q, want %s", got, unreached.cfg.Name)
		}
		return len(got) <= 1
	})
}

// configure sets the kind of sequence that an INCR creates, and returns the members that were not reached.
func configure(t *testing.T, n *node, create snowraftv1.AutoCreate) (unreached []string) {
	t.Helper()
	var resp *snowraftv1.UpdateConfigResponse
	var err error
	until(t, "there is a leader for the configuration", func() bool {
		resp, err = n.cluster.UpdateConfig(t.Context(), &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{RedisCreate: &create}})
		return !leaderChanged(err)
	})
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetUnreachedMembers()
}

// leaderChanged reports whether a call failed because the leader changed, which happens on a busy machine.
func leaderChanged(err error) bool {
	return slices.Contains([]string{rpc.NoLeader, rpc.NotLeader, rpc.CommitUnknown}, reason(err))
}
