package server_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/cluster"
)

// A probe finds a member without the secret of its cluster, and changes nothing there.
func TestProbeFindsOpenAndSecuredMembers(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]*node{"open": startCluster(t, 1)[0], "secured": startSecured(t, 1).nodes[0]} {
		ctx, limit := t.Context(), 4*time.Second
		at := n.server.RaftAddr()
		before := len(n.server.Member().Node().Members())
		if got := cluster.Probe(ctx, at, n.server.MemberID(), limit); got != cluster.Present {
			t.Errorf("%s: Probe() of the member = %d, want Present", name, got)
		}
		if got := cluster.Probe(ctx, at, uuid.NewString(), limit); got != cluster.Other {
			t.Errorf("%s: Probe() of another member = %d, want Other", name, got)
		}
		if got := cluster.Probe(ctx, n.server.HTTPAddr(), n.server.MemberID(), limit); got != cluster.Unclear && name == "open" {
			t.Errorf("%s: Probe() of another port = %d, want Unclear", name, got)
		}
		if after := len(n.server.Member().Node().Members()); after != before {
			t.Errorf("%s: %d members before, %d after", name, before, after)
		}
		id := n.server.MemberID()
		n.stop()
		if got := cluster.Probe(ctx, at, id, limit); got != cluster.Absent {
			t.Errorf("%s: Probe() of a stopped member = %d, want Absent", name, got)
		}
	}
}
