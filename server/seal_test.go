package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// An operator seals an open cluster through a follower: every member stops, and shows why.
func TestSealCluster(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		for _, n := range nodes {
			n.mustGenerate(10)
		}
		follower := nodes[0]
		if follower.server.Member().Node().IsLeader() {
			follower = nodes[1]
		}
		follower.untilNewest()
		operations := snowraftv1.NewOperationsServiceClient(follower.conn)
		first, err := operations.SealCluster(t.Context(), &snowraftv1.SealClusterRequest{})
		if err != nil || len(first.GetUnreachedMembers()) > 0 {
			t.Fatalf("SealCluster() = %v, %v", first, err)
		}
		again, err := operations.SealCluster(t.Context(), &snowraftv1.SealClusterRequest{})
		if err != nil || again.GetSealed().GetIndex() != first.GetSealed().GetIndex() || first.GetSealed().GetSealedAtMs() == 0 {
			t.Errorf("sealed twice: %v, %v, want %v", again, err, first)
		}
		for _, n := range nodes {
			until(t, n.cfg.Name+" is not ready", func() bool {
				code, _ := ask(t, browser(t), http.MethodGet, "http://"+n.server.HTTPAddr()+"/readyz", "")
				return code == http.StatusServiceUnavailable
			})
			if _, body := ask(t, browser(t), http.MethodGet, "http://"+n.server.HTTPAddr()+"/readyz", ""); !strings.Contains(body, `set back in time and is sealed; restore it with "snowraft restore": an operator sealed it`) {
				t.Errorf("/readyz of %s: %s", n.cfg.Name, body)
			}
			if _, err := n.generate(1, 0); reason(err) != rpc.SetBack {
				t.Errorf("GenerateIds() at %s = %v, want %s", n.cfg.Name, err, rpc.SetBack)
			}
			if s := n.status(); s.GetReason() != rpc.SetBack || s.GetSealed().GetReason() == "" {
				t.Errorf("status of %s: %v", n.cfg.Name, s)
			}
			if got := n.scrape().value(t, "snowraft_set_back"); got != 1 {
				t.Errorf("snowraft_set_back of %s is %v, want 1", n.cfg.Name, got)
			}
		}
	})
}
