package cluster

import (
	"log/slog"
	"testing"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/clock"
)

// A member learns of its copy, and ignores its predecessor.
func TestMemberHearsOfItsCopy(t *testing.T) {
	t.Parallel()
	log, own := new(logged), someMeta()
	logger := slog.New(slog.NewTextHandler(log, nil))
	cfg := Config{Logger: logger, Watch: clock.NewWatch(clock.System(), nil, clock.Limits{}), Timing: Timing{}.withDefaults()}
	g := newGossip(&cfg, func() peer.Meta { return own }, func(string) (member, voter bool) { return true, true }, newForeign(logger))
	before := own
	before.Starts, before.Process = before.Starts-1, peer.NewProcess()
	for range 3 {
		g.learn(before, true)
		g.learn(own, true)
	}
	if n := log.lines("another process"); n != 0 {
		t.Errorf("%d lines about the predecessor", n)
	}
	for range 3 {
		g.learn(startedAgain(own), true)
	}
	copied := startedAgain(own)
	for range 3 {
		g.learn(copied, true)
	}
	if n := log.lines("another process"); n != 4 {
		t.Errorf("%d lines about four copies", n)
	}
	n, refused := &Node{logger: logger, gossip: g}, startedAgain(own)
	for range 3 {
		n.onDuplicate(refused, own)
	}
	if n := log.lines("second process of a member rejected"); n != 1 {
		t.Errorf("%d lines about a copy that was refused", n)
	}
}
