package gossip

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

// probeCounters counts the failed probes of other nodes, by node ID. It holds no more nodes than gossip does.
type probeCounters struct {
	mu     sync.Mutex
	failed map[string]ProbeFailures
}

func (p *probeCounters) add(id string, more ProbeFailures) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = make(map[string]ProbeFailures)
	}
	now := p.failed[id]
	p.failed[id] = ProbeFailures{UDP: now.UDP + more.UDP, TCP: now.TCP + more.TCP}
}

// forgetExcept forgets the nodes for which member is false.
func (p *probeCounters) forgetExcept(member func(id string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.failed, func(id string, _ ProbeFailures) bool { return !member(id) })
}

// ProbeFailures returns the failed probes of the nodes for which member is true; none for a node without a failure.
func (g *View) ProbeFailures(member func(id string) bool) map[string]ProbeFailures {
	g.probes.mu.Lock()
	defer g.probes.mu.Unlock()
	failed := make(map[string]ProbeFailures)
	for id, f := range g.probes.failed {
		if member(id) {
			failed[id] = f
		}
	}
	return failed
}

// noteFailedDial counts a failed connection to the gossip port of a node. It ignores addresses that belong to no member.
func (g *View) noteFailedDial(to memberlist.Address) {
	for _, p := range g.Peers() {
		if p.Claim.Gossip != to.Addr && p.Confirmed.Gossip != to.Addr {
			continue
		}
		if member, _ := g.standing(p.Claim.ID); member {
			g.probes.add(p.Claim.ID, ProbeFailures{TCP: 1})
		}
		return
	}
}
