package gossip

import (
	"log/slog"
	"testing"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// A member learns of its copy, and ignores its predecessor.
func TestMemberHearsOfItsCopy(t *testing.T) {
	t.Parallel()
	log, own := new(clusterkit.Log), clusterkit.NewMeta()
	logger := slog.New(slog.NewTextHandler(log, nil))
	cfg := Config{Logger: logger, Watch: clock.NewWatch(clock.System(), nil, clock.Limits{})}
	g := New(&cfg, func() peer.Meta { return own }, func(string) (member, voter bool) { return true, true }, NewMisunderstood(logger))
	before := own
	before.Starts, before.Process = before.Starts-1, peer.NewProcess()
	for range 3 {
		g.RecordClaim(before, true)
		g.RecordClaim(own, true)
	}
	if n := log.Lines("another process"); n != 0 {
		t.Errorf("%d lines about the predecessor", n)
	}
	for range 3 {
		g.RecordClaim(clusterkit.Restarted(own), true)
	}
	copied := clusterkit.Restarted(own)
	for range 3 {
		g.RecordClaim(copied, true)
	}
	if n := log.Lines("another process"); n != 4 {
		t.Errorf("%d lines about four copies", n)
	}
}
