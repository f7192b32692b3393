package gossip

import (
	"bytes"
	"log/slog"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/cluster/logging"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// gossiperNode is a node of which only the gossip is there.
type gossiperNode struct {
	cfg    Config
	own    peer.Meta
	gossip *View
}

func (n *gossiperNode) ID() string { return n.own.ID }

func (n *gossiperNode) meta() peer.Meta {
	n.own.Gossip = net.JoinHostPort(n.cfg.Host, strconv.Itoa(n.cfg.Port))
	return n.own
}

// gossiper returns a node whose gossip is not open.
func gossiper(number int) *gossiperNode {
	n := &gossiperNode{own: clusterkit.NewMeta(), cfg: Config{Watch: clock.NewWatch(clock.System(), nil, clock.Limits{}), Logger: slog.New(slog.DiscardHandler)}}
	n.own.ID = clusterkit.NodeID(number)
	n.own.Cluster = ""
	n.gossip = New(&n.cfg, n.meta, func(string) (bool, bool) { return true, true }, NewMisunderstood(n.cfg.Logger))
	return n
}

// gossiping returns a node that gossips, whose clock is ahead by a given time. It probes no other node.
func gossiping(t *testing.T, number int, ahead time.Duration, standing func(string) (member, voter bool)) *gossiperNode {
	t.Helper()
	transport, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{BindAddrs: []string{"127.0.0.1"}, Logger: logging.Standard(slog.New(slog.DiscardHandler), "gossip", nil)})
	if err != nil {
		t.Fatal(err)
	}
	n := gossiper(number)
	n.cfg.Transport, n.cfg.Host, n.cfg.Port, n.cfg.Probe = transport, "127.0.0.1", transport.GetAutoBindPort(), time.Hour
	system := clock.System()
	n.cfg.Watch = clock.NewWatch(func() clock.Reading {
		r := system()
		r.Wall += ahead.Milliseconds()
		return r
	}, nil, clock.Limits{MaxOffset: time.Second})
	n.gossip = New(&n.cfg, n.meta, standing, NewMisunderstood(slog.New(slog.DiscardHandler)))
	if err := n.gossip.Open(&n.cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.gossip.list.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func TestAskClocks(t *testing.T) {
	t.Parallel()
	member := func(id string) (bool, bool) { return id != clusterkit.NodeID(3), id != clusterkit.NodeID(3) }
	a, b, stranger := gossiping(t, 1, 0, member), gossiping(t, 2, time.Hour, member), gossiping(t, 3, 2*time.Hour, member)
	for _, n := range []*gossiperNode{b, stranger} {
		clusterkit.Eventually(t, "a contacts another node", func() bool { return a.gossip.Join(n.meta().Gossip) == nil })
	}
	if a.cfg.Watch.Settled() {
		t.Fatal("settled before the first question")
	}
	clusterkit.Eventually(t, "a member answers", func() bool {
		a.gossip.RequestClocks()
		return a.cfg.Watch.Settled()
	})
	if d, ok := a.cfg.Watch.PeerOffset(b.ID()); !ok || (d-time.Hour).Abs() > time.Minute {
		t.Errorf("the clock of b is ahead by %v, %t", d, ok)
	}
	if d, ok := a.cfg.Watch.PeerOffset(stranger.ID()); ok {
		t.Errorf("the clock of a node that is not a member counts: %v", d)
	}
}

// TestForeignClockMessages checks that a node ignores clocks that it did not request.
func TestForeignClockMessages(t *testing.T) {
	t.Parallel()
	n := gossiper(1)
	empty := append([]byte{clockAnswer}, make([]byte, 16)...)
	answer, another := append(bytes.Clone(empty), clusterkit.NodeID(2)...), append(bytes.Clone(empty), clusterkit.NodeID(3)...)
	for _, message := range [][]byte{
		nil, {clockQuestion}, {clockAnswer}, append([]byte{clockQuestion}, make([]byte, 8)...),
		append([]byte{clockQuestion}, "12345678nobody"...), empty, answer, append(bytes.Clone(answer), 0), []byte("something else"),
	} {
		n.gossip.NotifyMsg(message)
	}
	if n.cfg.Watch.Settled() {
		t.Error("a clock was taken without a question")
	}
	n.gossip.asked = map[uint64]clockAsked{0: {id: clusterkit.NodeID(2)}}
	for _, message := range [][]byte{empty, another, append(bytes.Clone(answer), 0)} {
		n.gossip.NotifyMsg(message)
	}
	if n.cfg.Watch.Settled() {
		t.Error("a clock was taken from another node than the intended one")
	}
	n.gossip.NotifyMsg(answer)
	n.gossip.NotifyMsg(answer)
	if !n.cfg.Watch.Settled() || len(n.gossip.asked) > 0 {
		t.Error("the answer to a question was not taken, or was taken twice")
	}
}

func TestNonvoterClockIsShownOnly(t *testing.T) {
	t.Parallel()
	for _, votes := range []bool{false, true} {
		a, b := gossiper(1), gossiper(2)
		a.gossip.standing = func(string) (member, voter bool) { return true, votes }
		a.gossip.asked = map[uint64]clockAsked{0: {id: b.ID()}}
		a.gossip.NotifyMsg(append(append([]byte{clockAnswer}, make([]byte, 16)...), b.ID()...))
		if a.cfg.Watch.Settled() != votes {
			t.Errorf("Settled() = %t after the answer of a member that votes: %t", !votes, votes)
		}
		if _, ok := a.cfg.Watch.PeerOffset(b.ID()); !ok {
			t.Error("the offset of the member's clock is not known")
		}
	}
}
