package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snowraft/snowraft/cluster/storage"
)

// clusterSearch is the search of a node for a cluster.
type clusterSearch struct {
	expect  int      // number of new members that start a cluster together; 0: this node only joins
	seen    []string // new members that this node sees, itself included if it may start a cluster
	differs []string // new members with another --bootstrap-expect
	earlier string   // a node that knows an earlier cluster; empty if there is none
	through string   // a member of a cluster that this node sees; empty if there is none
	failed  []string // seeds that were not reached, with the reasons
	seeds   int
	address string // gossip address of this node
	aside   storage.Aside
}

// searchState returns the state of the search. Call it only while the node has not joined a cluster.
func (n *Node) searchState() clusterSearch {
	own := n.meta()
	s := clusterSearch{expect: own.Expect, seeds: len(n.cfg.Join), address: own.Gossip, aside: n.aside}
	if own.Expect > 0 {
		s.seen = append(s.seen, own.Name)
	}
	for _, p := range n.gossip.Peers() {
		m := p.Known()
		switch {
		case !p.Alive:
		case m.Cluster != "":
			s.through = m.Name
		case m.Quorum == knowsEarlier:
			s.earlier = m.Name
		case own.Expect == 0 || m.Expect == own.Expect:
			s.seen = append(s.seen, m.Name)
		default:
			s.differs = append(s.differs, fmt.Sprintf("%s has --bootstrap-expect %d", m.Name, m.Expect))
		}
	}
	contacted := n.gossipTargets() // a node that is seen is not contacted again, so its last outcome is old
	for _, seed := range n.cfg.Join {
		if reason, _ := n.seedContacts.lastFailure(seed); reason != "" && slices.Contains(contacted, seed) {
			s.failed = append(s.failed, seed+": "+reason)
		}
	}
	return s
}

func (s clusterSearch) String() string {
	var parts []string
	same := s.sameName()
	switch missing := s.expect - len(s.seen); {
	case s.through != "":
		parts = append(parts, s.through+" reached; waiting until the leader adds this member")
	case s.expect > 0 && s.aside.Dir != "":
		parts = append(parts, fmt.Sprintf("%s holds a member of cluster %s, and a new cluster would repeat its IDs and numbers: "+
			"move that directory back, or restore from it; to found another cluster, move it elsewhere", s.aside.Dir, s.aside.Cluster))
	case s.expect > 0 && s.earlier != "":
		parts = append(parts, fmt.Sprintf("the host of %s has the data directory of an earlier cluster, and a new one would repeat its IDs and numbers: "+
			"follow the status of %s", s.earlier, s.earlier))
	case s.expect > 0 && missing > 0:
		parts = append(parts, fmt.Sprintf("%d of %d members seen: %s; waiting for %d more", len(s.seen), s.expect, enumerate(s.seen), missing))
	case s.expect > 0 && same != "":
		parts = append(parts, fmt.Sprintf("%d of %d members seen: %s", len(s.seen), s.expect, enumerate(s.seen)))
	case s.expect > 0:
		parts = append(parts, fmt.Sprintf("%d of %d members seen: %s; starting the cluster", len(s.seen), s.expect, enumerate(s.seen)))
	case s.seeds == 0:
		parts = append(parts, fmt.Sprintf(`waiting for "snowraft member add %s"`, s.address))
	case len(s.seen) > 0:
		parts = append(parts, "members reached: "+enumerate(s.seen)+"; none is part of a cluster")
	default:
		parts = append(parts, "no member reached")
	}
	if same != "" {
		parts = append(parts, fmt.Sprintf("several have the name %q: start each with its own --name", same))
	}
	return strings.Join(append(append(parts, s.differs...), s.failed...), "; ")
}

// sameName returns a name that keeps the members from starting a cluster because several of them have it; empty if there is none.
func (s clusterSearch) sameName() string {
	if s.expect > 0 {
		for i, name := range s.seen {
			if name != "" && slices.Contains(s.seen[:i], name) {
				return name
			}
		}
	}
	return ""
}
