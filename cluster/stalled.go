package cluster

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// stalledFor is the time without a message that Raft accepted from a leader after which a voter counts as stalled.
	stalledFor = 2 * time.Second
	// stalledKnown is the time with a leader after which claims of other voters to be stalled count. Such a claim may be from
	// the time before that leader, and the voter's next announcement needs a moment.
	stalledKnown = stalledFor + 2*time.Second
	// stallRounds is the number of announcements of a change. Each one reaches a member directly or through another member with
	// a chance of well over one half, also while dead members take their share of the messages.
	stallRounds = 10
)

// stalls reports whether this voter does not replicate: it neither leads nor takes entries from a leader. The leader may be
// unreachable, or this node refuses its entries, or the disk does not write them.
func (n *Node) stalls() bool {
	_, voter := n.IsMember()
	return voter && n.raft.State() != raft.Leader && time.Since(n.raft.LastContact()) > stalledFor
}

// announceStall announces when this voter stalls, and when it replicates again; while it leads, also which voters are silent. It
// announces each change in several rounds, because gossip is probabilistic. Call it only from runUpkeep.
func (n *Node) announceStall() {
	stalled, silent := n.stalls(), n.silentVoters()
	was, _ := n.silent.Swap(silent).(string)
	if n.stalled.Swap(stalled) != stalled || was != silent {
		n.unannounced = stallRounds
	}
	if n.unannounced > 0 {
		n.unannounced--
		n.gossip.Announce()
	}
}

// maxSilent is the greatest number of voters in meta.Silent: a leader of seven voters hears four, itself included.
const maxSilent = 3

// silentVoters returns meta.Silent.
func (n *Node) silentVoters() string {
	var silent []string
	others, _ := n.otherVoters()
	for _, id := range others {
		if n.silentToLeader(string(id), raft.ServerID(n.ID())) {
			silent = append(silent, shortID(string(id)))
		}
	}
	slices.Sort(silent)
	return strings.Join(silent[:min(len(silent), maxSilent)], ",")
}

// shortID returns the beginning of a node's ID, which is short enough for the metadata of others.
func shortID(id string) string { return id[:min(len(id), 4)] }

// silentToLeader reports whether a voter acknowledges no entries to the leader, in this node's view of the leader. So the members
// also notice in time that a voter was replaced by a node that answers at its addresses, which gossip notices later.
func (n *Node) silentToLeader(id string, leader raft.ServerID) bool {
	if string(leader) == n.ID() {
		term := n.LeadingTerm()
		return term != 0 && n.replicated.IsSilent(raft.ServerID(id), term, n.mono())
	}
	p, _ := n.gossip.Peer(string(leader))
	if p.Claim.Silent == "" || id == string(leader) || !slices.Contains(strings.Split(p.Claim.Silent, ","), shortID(id)) {
		return false
	}
	others, _ := n.otherVoters()
	twin := func(o raft.ServerID) bool {
		return string(o) != id && string(o) != string(leader) && shortID(string(o)) == shortID(id)
	}
	return !slices.ContainsFunc(others, twin) // otherwise it is unknown which one is silent
}

// unansweredBy reports whether a voter failed to answer while no leader is known, so that no quorum has it. Gossip may still take a
// voter for alive whose address another process has, or whose Raft port is unreachable.
func (n *Node) unansweredBy(id string) bool {
	reason, _ := n.peerContacts.lastFailure(id)
	return n.leaderless.Load() != 0 && reason != ""
}

// ledForSome reports whether this node has known a leader for stalledKnown.
func (n *Node) ledForSome() bool {
	since := n.ledFrom.Load()
	return since != 0 && n.mono()-time.Duration(since) >= stalledKnown
}
