package server_test

import (
	"strings"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// Two of three members start with empty data directories. The third one counts them as failed, although gossip reaches their
// addresses, and the overview names the lost directories.
func TestOverviewNamesEmptiedMembers(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"open": false, "secured": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				var nodes []*node
				var one snowraftv1.ViewServiceClient
				if secure {
					s := startSecured(t, 3)
					nodes, one = s.nodes, snowraftv1.NewViewServiceClient(s.admin(s.nodes[0]))
				} else {
					nodes = startCluster(t, 3)
					one = snowraftv1.NewViewServiceClient(nodes[0].conn)
				}
				for _, n := range nodes[1:] {
					n.cfg.APIAddr, n.cfg.HTTPAddr, n.cfg.RaftAddr, n.cfg.GossipAddr = n.server.APIAddr(), n.server.HTTPAddr(), n.server.RaftAddr(), n.server.GossipAddr()
				}
				for _, n := range nodes[1:] {
					n.crash()
				}
				for _, n := range nodes[1:] {
					newNode(t, n.cfg.Name, func(c *server.Config) {
						dir := c.DataDir
						*c = n.cfg
						c.DataDir, c.Join = dir, []string{nodes[0].server.GossipAddr()}
					}).start()
				}
				until(t, "the voters count as failed", func() bool { return nodes[0].server.Member().Node().Quorum().Alive == 1 })
				until(t, "the overview names the directories", func() bool {
					resp, err := one.GetOverview(t.Context(), &snowraftv1.GetOverviewRequest{})
					if err != nil {
						t.Fatal(err)
					}
					v := resp.GetOverview().GetVerdict()
					return strings.Contains(v.GetSentence(), "with the data directories that they had") && v.GetFindings()[0].GetRunbook() == "lost-majority"
				})
			})
		})
	}
}
