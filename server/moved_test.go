package server_test

import (
	"strings"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The status of a member whose host has other addresses says so.
func TestStatusOfMovedMember(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		for _, address := range []string{"", "192.0.2.7"} {
			if address != "" {
				n.server.Move(address)
			}
			status, err := n.cluster.GetStatus(t.Context(), &snowraftv1.GetStatusRequest{})
			if problem := status.GetAddressProblem(); err != nil || (problem == "") != (address == "") || !strings.HasSuffix(problem, address) {
				t.Errorf("at %q: %q, %v", address, problem, err)
			}
		}
	})
}
