package cluster

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// The metadata of a node that opened fits into a gossip message later. A leader does not stall, and a quorum is that of a node
// without a cluster.
func TestMetaHasRoomToGrow(t *testing.T) {
	small := clusterkit.NewMeta()
	small.Cluster, small.Quorum, small.Keys = "", "", strings.Repeat("0", 16)
	grown := small
	grown.Keys = strings.Repeat(","+small.Keys, peer.MaxKeys)[1:]
	grown.Hears, grown.Halted = true, true
	waits, follows, leads := grown, grown, grown
	waits.Quorum, waits.Stalled = setDigest(nil), true
	follows.Cluster, follows.Stalled = uuid.NewString(), true
	leads.Cluster, leads.Silent = uuid.NewString(), strings.Repeat(","+shortID(small.ID), maxSilent)[1:]
	for name, m := range map[string]peer.Meta{"waits": waits, "follows": follows, "leads": leads} {
		if grew := len(m.Encode()) - len(small.Encode()); grew > peer.RoomForMeta {
			t.Errorf("%s: the metadata grows by %d bytes, want at most %d", name, grew, peer.RoomForMeta)
		}
	}
}
