package cluster

import (
	"time"

	"github.com/hashicorp/raft"
)

// fitness holds the time since which a nonvoter is fit to vote, and the number of its start.
type fitness struct {
	since  time.Time
	starts uint64
}

// promotable returns a nonvoter that has been fit to vote for Timing.PromoteAfter, without a restart.
func (n *Node) promotable(servers []raft.Server, now time.Time) (found raft.Server, ok bool) {
	fit := make(map[raft.ServerID]fitness)
	for _, s := range servers {
		if s.Suffrage == raft.Voter || !n.isFit(s.ID) {
			continue
		}
		p, _ := n.gossip.Peer(string(s.ID))
		f, was := n.fitSince[s.ID]
		if starts := p.Known().Starts; !was || f.starts != starts {
			f = fitness{now, starts}
		}
		fit[s.ID] = f
		if !ok && now.Sub(f.since) >= n.cfg.Timing.PromoteAfter {
			found, ok = s, true
		}
	}
	n.fitSince = fit
	return found, ok
}

// isFit reports whether a nonvoter may become a voter: it is alive, may vote, and this leader has seen it replicate.
func (n *Node) isFit(id raft.ServerID) bool {
	p, known := n.gossip.Peer(string(id))
	return known && p.Alive && !p.Claim.Nonvoter && !p.Confirmed.Nonvoter && n.replicated.IsUpToDate(id, n.leads.Load(), n.mono())
}
