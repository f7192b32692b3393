package cluster

import (
	"strconv"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// mostBehind is how many log entries a nonvoter that is fit may lack.
	mostBehind = 250
	// mostSilent is the time within which a nonvoter that is fit has heard from the leader.
	mostSilent = 5 * time.Second
)

// promotable returns a nonvoter that has been fit to vote for Timing.Stabilization. It goes by what
// the members told in their last gossip acknowledgement.
func (n *Node) promotable(servers []raft.Server, now time.Time) (found raft.Server, ok bool) {
	since := make(map[raft.ServerID]time.Time)
	for _, s := range servers {
		p, known := n.gossip.peer(string(s.ID))
		if s.Suffrage == raft.Voter || !known || !p.fit() {
			continue
		}
		at, was := n.fitSince[s.ID]
		if !was {
			at = now
		}
		since[s.ID] = at
		if !ok && now.Sub(at) >= n.cfg.Timing.Stabilization {
			found, ok = s, true
		}
	}
	n.fitSince = since
	return found, ok
}

// fit reports whether a nonvoter may become a voter, and its log was nearly that of this node when it
// said so. The log of now would be that of seconds later: a busy leader has moved on by far more.
func (p peerInfo) fit() bool {
	return p.alive && !p.meta.Nonvoter && p.own.lastIndex > 0 && p.stats.lastContact <= mostSilent &&
		p.stats.lastTerm == p.own.lastTerm && p.stats.lastIndex+mostBehind >= p.own.lastIndex
}

// stats is what this node tells of its log.
func (n *Node) stats() peerStats {
	if n.raft == nil {
		return peerStats{lastContact: time.Hour}
	}
	s := peerStats{lastIndex: n.raft.LastIndex(), lastTerm: n.lastLogTerm()}
	if n.raft.State() != raft.Leader {
		s.lastContact = time.Hour
		if at := n.raft.LastContact(); !at.IsZero() {
			s.lastContact = time.Since(at)
		}
	}
	return s
}

func (n *Node) lastLogTerm() uint64 {
	term, err := strconv.ParseUint(n.raft.Stats()["last_log_term"], 10, 64)
	if err != nil {
		return 0
	}
	return term
}
