package server_test

import (
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Each member knows the HTTP address of each other one, so that a client of HTTP learns them from any.
func TestMembersHaveHTTPAddresses(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		for _, n := range nodes {
			until(t, "the addresses are known", func() bool {
				resp, err := snowraftv1.NewClusterServiceClient(n.conn).ListMembers(t.Context(), &snowraftv1.ListMembersRequest{})
				if err != nil {
					t.Fatal(err)
				}
				known := make(map[string]string)
				for _, m := range resp.GetMembers() {
					known[m.GetName()] = m.GetHttpAddress()
				}
				for _, other := range nodes {
					if known[other.cfg.Name] != other.server.HTTPAddr() {
						return false
					}
				}
				return true
			})
		}
	})
}
