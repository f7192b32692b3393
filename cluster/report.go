package cluster

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/snowraft/snowraft/internal/events"
)

const (
	// reportInterval is the interval at which report checks the cluster. It also checks at each change of the leader.
	reportInterval = time.Second
	// absentFor is the time for which no leader must be known before that is logged: an election takes less.
	absentFor = 3 * time.Second
	// absentPause is the time between two log lines about a missing leader. After latePause without a leader, the time
	// between two lines is latePause.
	absentPause = 10 * time.Second
	latePause   = time.Minute
	// settleFor bounds the time after the start of a node for which a lost quorum is not reported. Gossip needs a moment to
	// reach voters that are alive.
	settleFor = 3 * time.Second
)

// report logs the state of the cluster as this node sees it, and records events, whenever that state changes.
func (n *Node) report() {
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()
	r, c := reporter{logger: n.logger, events: n.cfg.Events}, chronicle{events: n.cfg.Events, self: n.ID()}
	first := settling{until: n.mono() + settleFor}
	for {
		changed := n.LeaderChanged()
		members := n.Members()
		s, now := n.sighting(members), n.mono()
		s.quorum = first.quorum(s.quorum, now)
		r.report(s, now)
		c.record(s, members)
		c.recordClock(n.cfg.Watch)
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		case <-changed:
		}
	}
}

// settling hides the state of the voters after the start of a node, until gossip has reached a majority or the time is over.
type settling struct {
	until time.Duration // on the monotonic clock
	over  bool
}

// quorum returns q, or zero while the node is settling.
func (s *settling) quorum(q Quorum, now time.Duration) Quorum {
	s.over = s.over || now >= s.until || q.Voters > 0 && q.Alive >= q.Needed()
	if !s.over {
		return Quorum{}
	}
	return q
}

// sighting is the state of the cluster as one node sees it.
type sighting struct {
	leader  Member // zero if none is known
	term    uint64
	quorum  Quorum
	seeking string // state of the search for a cluster; empty once this node has joined one
	outage  string // reason that this member of a cluster knows no leader; empty if it knows one
	twins   twins
}

func (n *Node) sighting(members []Member) (s sighting) {
	_, id := n.raft.LeaderWithID()
	known := id != ""
	n.noteLeader(known)
	s.leader, _ = n.Leader()
	s.term, s.quorum, s.twins = n.Term(), QuorumOf(members), twinsOf(members)
	switch {
	case n.id.Cluster() == "":
		s.seeking = n.searchState().String()
	case !known:
		s.outage = n.outage().String()
	}
	return s
}

// reporter logs the differences between two sightings.
type reporter struct {
	logger *slog.Logger
	events Events
	last   sighting
	// absentSince is the time since which no leader is known, on the monotonic clock; 0 if a leader is known.
	absentSince time.Duration
	absentNext  time.Duration // time of the next log line about the absence
	// notedAbsence reports whether the present absence was recorded as an event: one event per absence is enough.
	notedAbsence bool
}

func (r *reporter) report(s sighting, now time.Duration) {
	if s.leader.ID != "" && (s.leader.ID != r.last.leader.ID || s.term != r.last.term) {
		r.logger.Info("leader changed", "leader", s.leader.label(), "leader_id", s.leader.ID, "term", s.term)
		r.last.leader, r.last.term = s.leader, s.term
	}
	r.reportAbsence(s, now)
	if s.quorum.Voters == 0 {
		return
	}
	if s.quorum != r.last.quorum {
		r.reportQuorum(s.quorum)
		r.last.quorum = s.quorum
	}
	if s.twins != r.last.twins && s.twins.name != "" {
		r.logger.Warn("several members have the same name; restart one with another --name, or remove the member that was replaced",
			"name", s.twins.name, "peer_ids", s.twins.ids)
	}
	r.last.twins = s.twins
}

// reportAbsence logs at intervals that no leader is known, with the reason.
func (r *reporter) reportAbsence(s sighting, now time.Duration) {
	switch {
	case s.seeking == "" && s.outage == "":
		r.absentSince = 0
		return
	case r.absentSince == 0:
		r.absentSince, r.absentNext, r.notedAbsence = now, now+absentFor, false
		return
	case now < r.absentNext:
		return
	case s.seeking != "":
		r.logger.Info("cluster not joined; retrying", "reason", s.seeking)
	default:
		r.logger.Warn("leader unknown; waiting for an election", "reason", s.outage)
		if !r.notedAbsence {
			r.notedAbsence = true
			r.events.Note(events.Election, slog.LevelError, s.outage)
		}
	}
	r.absentNext = now + absentPause
	if s.outage != "" && now-r.absentSince >= latePause {
		r.absentNext = now + latePause
	}
}

// reportQuorum logs the state of the voters. The line is a warning if quorum is lost, or if a voter was lost and no further voter may
// fail.
func (r *reporter) reportQuorum(q Quorum) {
	about := []any{"voters", q.Voters, "alive", q.Alive, "tolerates", q.MayFail()}
	switch {
	case q.Alive < q.Needed():
		r.logger.Warn("voters lost; quorum needs more", append(about, "needed", q.Needed())...)
	case q.MayFail() == 0 && q.Alive < r.last.quorum.Alive:
		r.logger.Warn("voters changed; another failure loses quorum", about...)
	default:
		r.logger.Info("voters changed", about...)
	}
}

// label returns the display name of a member: its name, otherwise its address, otherwise its ID.
func (m Member) label() string { return cmp.Or(m.Name, m.Address, m.ID) }
