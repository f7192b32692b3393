package cluster

import (
	"time"

	"github.com/hashicorp/raft"
)

const (
	// stalledFor is the time without a message that Raft accepted from a leader after which a voter counts as stalled.
	stalledFor = 2 * time.Second
	// stalledKnown is the time with a leader after which claims of other voters to be stalled count. Such a claim may be from
	// the time before that leader, and the voter's next announcement needs a moment.
	stalledKnown = stalledFor + 2*time.Second
)

// stalls reports whether this voter does not replicate: it neither leads nor takes entries from a leader. The leader may be
// unreachable, or this node refuses its entries, or the disk does not write them.
func (n *Node) stalls() bool {
	_, voter := n.IsMember()
	return voter && n.raft.State() != raft.Leader && time.Since(n.raft.LastContact()) > stalledFor
}

// announceStall announces when this voter stalls, and when it replicates again.
func (n *Node) announceStall() {
	if now := n.stalls(); n.stalled.Swap(now) != now {
		n.gossip.announce()
	}
}

// unansweredBy reports whether a voter failed to answer while no leader is known, so that no quorum has it. Gossip may still take a
// voter for alive whose address another process has, or whose Raft port is unreachable.
func (n *Node) unansweredBy(id string) bool {
	reason, _ := n.peerContacts.last(id)
	return n.leaderless.Load() != 0 && reason != ""
}

// ledForSome reports whether this node has known a leader for stalledKnown.
func (n *Node) ledForSome() bool {
	since := n.ledFrom.Load()
	return since != 0 && n.gossip.mono()-time.Duration(since) >= stalledKnown
}
