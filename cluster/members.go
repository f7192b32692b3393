package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
)

// Member is one node of the Raft configuration, with the facts that this node knows about it.
type Member struct {
	ID      string // UUID
	Name    string // empty when not known
	Address string // address of its Raft port
	Gossip  string // address of its gossip port; empty when not known
	API     string // address of its gRPC port; empty when not known
	HTTP    string // address of its HTTP port; empty when not known
	Voter   bool
	Leader  bool // view of this node
	// Alive reports whether gossip reaches the member; always true for this node.
	Alive bool
	// NotAliveSince is the time since which gossip does not reach the member, in Unix ms; never before the start of this
	// node. 0 if Alive.
	NotAliveSince int64
	// ClockOffset is the time by which the member's clock is ahead of this node's; 0 when not measured.
	ClockOffset time.Duration
	Version     string // version of its program; empty when not known
	// Secrets are the fingerprints of the cluster secrets that the member knows, in the order of its file; none in an open
	// cluster.
	Secrets []string
	// Commands is the newest command version that the member supports; 0 when not known.
	Commands uint32
	// Starts is the number of the member's starts with its data directory; 0 when not known.
	Starts uint64
	// Halted reports whether the member's process announced that it halted.
	Halted bool
	// Stalled reports whether the member is a voter that does not replicate, although this node knows a leader.
	Stalled bool
	// Host grows when the member opens a Raft connection to this node from another host than before; 0 while there is none.
	Host uint64
}

// Members returns the nodes of the Raft configuration, sorted by name and ID.
func (n *Node) Members() []Member {
	own := n.meta()
	_, leader := n.raft.LeaderWithID()
	var members []Member
	for _, s := range n.servers() {
		members = append(members, n.describe(s, own, leader))
	}
	slices.SortFunc(members, func(a, b Member) int {
		return slices.Compare([]string{a.Name, a.ID}, []string{b.Name, b.ID})
	})
	return members
}

// label returns the display name of a node; see [Member.label].
func (n *Node) label(id raft.ServerID) string {
	s, ok := n.server(string(id))
	if !ok {
		p, _ := n.gossip.Peer(string(id))
		return cmp.Or(p.Known().Name, string(id))
	}
	return n.describe(s, n.meta(), "").label()
}

// nameOf returns the name of a node; empty if the name is not known. It waits neither for raft nor for the disk.
func (n *Node) nameOf(id string) string {
	if id == n.ID() {
		return n.cfg.Name
	}
	return n.gossip.NameOf(id)
}

// describe returns the known facts about a server.
func (n *Node) describe(s raft.Server, own peer.Meta, leader raft.ServerID) Member {
	m := Member{
		ID: string(s.ID), Address: peer.HostPort(s.Address),
		Voter: s.Suffrage == raft.Voter, Leader: s.ID == leader,
	}
	if m.ID == own.ID {
		m.Address = own.Raft
		m.Name, m.Gossip, m.API, m.Version, m.Commands, m.Starts, m.Alive = own.Name, own.Gossip, own.API, own.Version, own.Commands, own.Starts, true
		m.HTTP = own.HTTPAddress()
		m.Secrets, m.Halted, m.Stalled = own.Fingerprints(), own.Halted, m.Voter && n.Contradiction() != nil
		return m
	}
	m.NotAliveSince, m.Host = n.gossip.Began, n.links.HostOf(m.ID)
	if p, ok := n.gossip.Peer(m.ID); ok {
		known := p.Known()
		m.Address = known.Raft // the member may have moved
		m.Name, m.Gossip, m.API, m.HTTP, m.Version = known.Name, known.Gossip, known.API, known.HTTPAddress(), known.Version
		m.Alive, m.NotAliveSince = p.Alive, p.LostAt
		m.Secrets, m.Starts, m.Halted = p.Claim.Fingerprints(), p.Claim.Starts, p.Claim.Halted
		m.Stalled = m.Voter && m.Alive && (p.Claim.Stalled && n.ledForSome() || n.unansweredBy(m.ID) || n.silentToLeader(m.ID, leader))
		if p.Confirmed.ID != "" || n.greeter == nil { // claims do not count: a version that is not supported would halt the member
			m.Commands = min(known.Commands, p.Claim.Commands) // another process may have an older program
		}
		if offset, measured := n.cfg.Watch.PeerOffset(m.ID); measured {
			m.ClockOffset = offset
		}
	}
	return m
}

// Member finds a member by ID or name. Names are not unique, and the name of a member that was not seen since this node
// started is not known.
//
// Errors: ErrUnknownMember; ErrAmbiguousMember if several members have the name; ErrNamesUnknown if a member whose name is
// not known may be meant, even if another member is known to have the name.
func (n *Node) Member(idOrName string) (Member, error) { return find(n.Members(), idOrName) }

// find returns the member among members with an ID or name. Its errors are those of [Node.Member].
func find(members []Member, idOrName string) (Member, error) {
	var named, nameless []Member
	for _, m := range members {
		switch {
		case m.ID == idOrName:
			return m, nil
		case m.Name == idOrName:
			named = append(named, m)
		case m.Name == "":
			nameless = append(nameless, m)
		}
	}
	switch {
	case len(named) > 1:
		return Member{}, fmt.Errorf("%w: %q is the name of %s; use the ID", ErrAmbiguousMember, idOrName, ids(named))
	case len(nameless) > 0: // the member that is known to have the name may not be the one meant
		return Member{}, fmt.Errorf("%w: %q may be the name of any of %s; try again when all members are alive, or use the ID",
			ErrNamesUnknown, idOrName, ids(append(named, nameless...)))
	case len(named) == 0:
		return Member{}, fmt.Errorf(`%w: %q; see "snowraft member list"`, ErrUnknownMember, idOrName)
	}
	return named[0], nil
}

func ids(members []Member) string {
	var ids []string
	for _, m := range members {
		ids = append(ids, m.ID)
	}
	return strings.Join(ids, ", ")
}

// IsMember reports whether this node is in its own Raft configuration, and whether it votes.
func (n *Node) IsMember() (member, voter bool) { return n.standing(n.ID()) }

func contains(servers []raft.Server, id string) bool {
	return slices.ContainsFunc(servers, func(s raft.Server) bool { return string(s.ID) == id })
}

// Commands returns the newest command version that this node supports.
func (n *Node) Commands() uint32 { return n.cfg.Commands }

// Quorum is the state of the voters as one node sees it.
type Quorum struct {
	Voters int // voters of the Raft configuration
	Alive  int // voters that serve, see [Member.Serves]
}

// Quorum returns the state of the voters; zero before this node knows a Raft configuration.
func (n *Node) Quorum() Quorum { return QuorumOf(n.Members()) }

// QuorumOf counts the voters among members.
func QuorumOf(members []Member) (q Quorum) {
	for _, m := range members {
		if !m.Voter {
			continue
		}
		q.Voters++
		if m.Serves() {
			q.Alive++
		}
	}
	return q
}

// Serves reports whether the member can take its part in a quorum: gossip reaches it, it has not halted, and it replicates.
func (m Member) Serves() bool { return m.Alive && !m.Halted && !m.Stalled }

// Needed returns the number of voters that make a majority.
func (q Quorum) Needed() int { return q.Voters/2 + 1 }

// MayFail returns the number of live voters that may fail without a loss of quorum; 0 also if quorum is already lost.
func (q Quorum) MayFail() int { return max(q.Alive-q.Needed(), 0) }
