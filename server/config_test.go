package server_test

import (
	"slices"
	"testing"

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
		got := configure(t, leader(t, except(nodes, down)), snowraftv1.AutoCreate_AUTO_CREATE_STRICT)
		if !slices.Equal(got, []string{down.cfg.Name}) {
			t.Errorf("unreached members: %q, want %s", got, down.cfg.Name)
		}
	})
}

// configure sets the kind of sequence that an INCR creates, and returns the members that were not reached.
func configure(t *testing.T, n *node, create snowraftv1.AutoCreate) (unreached []string) {
	t.Helper()
	resp, err := n.cluster.UpdateConfig(t.Context(), &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{RedisCreate: &create}})
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetUnreachedMembers()
}
