package server_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/cluster/transport"
)

// A probe finds a member without the secret of its cluster, and changes nothing there.
func TestProbeFindsOpenAndSecuredMembers(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]*node{"open": startCluster(t, 1)[0], "secured": startSecured(t, 1).nodes[0]} {
		ctx, limit := t.Context(), 4*time.Second
		at := n.server.RaftAddr()
		before := len(n.server.Member().Node().Members())
		if got := transport.CheckPresence(ctx, at, n.server.MemberID(), limit); got != transport.Present {
			t.Errorf("%s: Probe() of the member = %d, want Present", name, got)
		}
		if got := transport.CheckPresence(ctx, at, uuid.NewString(), limit); got != transport.Other {
			t.Errorf("%s: Probe() of another member = %d, want Other", name, got)
		}
		if got := transport.CheckPresence(ctx, n.server.HTTPAddr(), n.server.MemberID(), limit); got != transport.Unclear && name == "open" {
			t.Errorf("%s: Probe() of another port = %d, want Unclear", name, got)
		}
		if after := len(n.server.Member().Node().Members()); after != before {
			t.Errorf("%s: %d members before, %d after", name, before, after)
		}
		id := n.server.MemberID()
		n.stop()
		if got := transport.CheckPresence(ctx, at, id, limit); got != transport.Absent {
			t.Errorf("%s: Probe() of a stopped member = %d, want Absent", name, got)
		}
	}
}
