package cluster

import (
	"maps"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// unansweredAfter is the greatest age that a question needs to count as a failed probe when the next question is sent and no
// answer has arrived. A question that was followed sooner, as after a change of the leader, does not count.
const unansweredAfter = 500 * time.Millisecond

// ProbeFailures holds the numbers of failed probes of one member.
type ProbeFailures struct {
	UDP uint64 // questions for the clock that were not answered within about a second
	TCP uint64 // connections to the gossip port that could not be opened
}

// probes counts the failed probes of other nodes, by node ID. It holds no more nodes than gossip does.
type probes struct {
	mu     sync.Mutex
	failed map[string]ProbeFailures
}

func (p *probes) note(id string, more ProbeFailures) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = make(map[string]ProbeFailures)
	}
	now := p.failed[id]
	p.failed[id] = ProbeFailures{UDP: now.UDP + more.UDP, TCP: now.TCP + more.TCP}
}

// keep forgets the nodes for which member is false.
func (p *probes) keep(member func(id string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.failed, func(id string, _ ProbeFailures) bool { return !member(id) })
}

// ProbeFailures returns the numbers of failed probes of the other members since this node started, by member ID. Members
// without a failure are included. Gossip does not probe a member that it has lost, but keeps trying to connect to it.
func (n *Node) ProbeFailures() map[string]ProbeFailures {
	all := make(map[string]ProbeFailures)
	for _, s := range n.servers() {
		if id := string(s.ID); id != n.ID() {
			all[id] = ProbeFailures{}
		}
	}
	n.gossip.probes.mu.Lock()
	defer n.gossip.probes.mu.Unlock()
	for id, failed := range n.gossip.probes.failed {
		if _, member := all[id]; member {
			all[id] = failed
		}
	}
	return all
}

// undialed counts a failed connection to the gossip port of a node. It ignores addresses that belong to no member.
func (g *gossip) undialed(to memberlist.Address) {
	for _, p := range g.all() {
		if p.meta.Gossip != to.Addr && p.met.Gossip != to.Addr {
			continue
		}
		if member, _ := g.standing(p.meta.ID); member {
			g.probes.note(p.meta.ID, ProbeFailures{TCP: 1})
		}
		return
	}
}
