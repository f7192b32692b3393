package cluster

import (
	"maps"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// unansweredAfter is the time after which a question without an answer counts as a probe that failed, once the next question
// is asked. Questions that follow sooner, as after a change of the leader, say nothing.
const unansweredAfter = 500 * time.Millisecond

// ProbeFailures are the probes of one member that failed.
type ProbeFailures struct {
	UDP uint64 // questions for the clock that were not answered within about a second
	TCP uint64 // connections to the gossip port that could not be opened
}

// probes counts the probes of other nodes that failed, by node ID. It holds no more nodes than gossip does.
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

// ProbeFailures counts the probes of the other members that failed since this node started, by member ID; all that did not
// fail are in it too. Gossip probes no member that it has lost, but keeps trying to connect to it.
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

// undialed notes that the gossip port of a node could not be connected to. Addresses of no member count for nothing.
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
