package gossip

import (
	"maps"
	"net"
	"slices"

	"github.com/snowraft/snowraft/cluster/peer"
)

// maxHints is the number of claimed addresses that are remembered of a node.
const maxHints = 4

// Peer is the last report about a node. It stays after the node went away.
type Peer struct {
	Claim peer.Meta // claim of gossip, or of a caller without a checked certificate
	Alive bool
	// LostAt is the time since which the node is not alive, in Unix ms; 0 if alive.
	LostAt    int64
	Confirmed peer.Meta // metadata that the node itself sent in a handshake; zero before the first handshake
	DialedAt  string    // address of the last successful handshake
	Hints     []string  // claimed addresses, the latest one last
}

// Known returns the metadata that the node itself sent, or a claim if there is none yet.
func (p Peer) Known() peer.Meta {
	if p.Confirmed.ID != "" {
		return p.Confirmed
	}
	return p.Claim
}

// addHint returns hints with another address, which replaces the oldest hint if there are too many.
func addHint(hints []string, address string) []string {
	others := slices.DeleteFunc(slices.Clone(hints), func(h string) bool { return h == address })
	if len(others) == maxHints {
		others = others[1:]
	}
	return append(others, address)
}

// RecordClaim records a claim about a node, from gossip or a handshake.
func (g *View) RecordClaim(m peer.Meta, alive bool) {
	if m.ID == g.self().ID {
		g.checkOwnIdentity(m)
		return
	}
	member, _ := g.standing(m.ID)
	g.mu.Lock()
	defer g.mu.Unlock()
	p, known := g.peers[m.ID]
	if !known && !member && len(g.peers) >= maxPeers {
		return
	}
	p.Hints = addHint(p.Hints, m.Raft)
	if m.Starts >= p.Claim.Starts { // otherwise the claim is about an earlier start
		g.setAlive(&p, alive || (p.Alive && m.Process == p.Claim.Process))
		p.Claim = m
	}
	g.peers[m.ID] = p
	g.SignalChange()
	signalOnce(g.claims)
}

// RecordConfirmed records the metadata that a node itself sent. at is the address at which this node dialed it. If at is empty, the node
// dialed this node and has a certificate.
func (g *View) RecordConfirmed(m peer.Meta, at string) {
	if m.ID == g.self().ID {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	p, known := g.peers[m.ID]
	if !known {
		p.LostAt = g.Began // until gossip reaches it
	}
	if at == "" && m.Starts < p.Confirmed.Starts {
		return // a delayed message of an earlier start
	}
	p.Confirmed = m
	p.Hints = addHint(p.Hints, m.Raft)
	if at != "" {
		p.DialedAt = at
	}
	if at != "" || m.Starts >= p.Claim.Starts {
		if m.Process != p.Claim.Process {
			g.setAlive(&p, g.heardAlive(m))
		}
		p.Claim = m
	}
	g.peers[m.ID] = p
	g.SignalChange()
}

// setAlive records whether a peer is alive, and the time since which it is not.
func (g *View) setAlive(p *Peer, alive bool) {
	switch {
	case alive:
		p.LostAt = 0
	case p.Alive || p.LostAt == 0:
		p.LostAt = g.watch.Now().Wall
	}
	p.Alive = alive
}

// heardAlive reports whether memberlist counts a process as alive. Requires g.mu held.
func (g *View) heardAlive(m peer.Meta) bool {
	name := m.GossipName()
	return g.members.names[name].alive || g.nonmembers.names[name].alive
}

// RecheckClaims signals that there are claims to check, if there are any.
func (g *View) RecheckClaims() {
	if len(g.UnconfirmedClaims()) > 0 {
		signalOnce(g.claims)
	}
}

// UnconfirmedClaims lists the claims about live members that differ from the members' own metadata. Memberlist's records are claims too:
// memberlist reports a record only when it changes, and a handshake may bring metadata that never reaches memberlist.
func (g *View) UnconfirmedClaims() []peer.Meta {
	records := g.records()
	var claims []peer.Meta
	for _, p := range g.Peers() {
		if member, _ := g.standing(p.Claim.ID); !member || !p.Alive {
			continue
		}
		if record, ok := records[p.Confirmed.Process]; !sameNode(p.Confirmed, p.Claim) {
			claims = append(claims, p.Claim)
		} else if ok && !sameNode(p.Confirmed, record) {
			claims = append(claims, record)
		}
	}
	return claims
}

// sameNode reports whether two metadata are equal, except for what only nodes without a cluster use.
func sameNode(a, b peer.Meta) bool {
	a.Expect, a.Quorum, b.Expect, b.Quorum = 0, "", 0, ""
	return a == b
}

// records returns the metadata of other members that memberlist has, keyed by process.
func (g *View) records() map[string]peer.Meta {
	g.mu.Lock()
	all := maps.Clone(g.recorded)
	g.mu.Unlock()
	records, self := make(map[string]peer.Meta), g.self().ID
	for _, m := range all {
		if member, _ := g.standing(m.ID); member && m.ID != self {
			records[m.Process] = m
		}
	}
	return records
}

// Peer returns the last report about a node.
func (g *View) Peer(id string) (Peer, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, ok := g.peers[id]
	return p, ok
}

// NameOf returns the name of another node; empty if the name is not known.
func (g *View) NameOf(id string) string {
	p, _ := g.Peer(id)
	return p.Known().Name
}

// Peers returns the remembered nodes, sorted by ID.
func (g *View) Peers() []Peer {
	g.mu.Lock()
	defer g.mu.Unlock()
	var peers []Peer
	for _, id := range slices.Sorted(maps.Keys(g.peers)) {
		peers = append(peers, g.peers[id])
	}
	return peers
}

// ForgetGone drops the nodes that are neither alive nor members, such as a member that was dead when it was removed, and the counters of
// nodes that are no members. Otherwise rejoin would contact them for as long as this process runs.
func (g *View) ForgetGone() {
	member := func(id string) bool {
		member, _ := g.standing(id)
		return member
	}
	g.probes.forgetExcept(member)
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.peers, func(id string, p Peer) bool { return !p.Alive && !member(id) })
}

// EarlierProcess returns the process of m's node that was met last, and the addresses at which it may be. It returns no address if
// no process was met or that process is m.
func (g *View) EarlierProcess(m peer.Meta) (peer.Meta, []string) {
	p, _ := g.Peer(m.ID)
	if p.Confirmed.ID == "" || p.Confirmed.Process == m.Process {
		return peer.Meta{}, nil
	}
	addresses := []string{p.Confirmed.Raft}
	if p.DialedAt != "" && p.DialedAt != p.Confirmed.Raft {
		addresses = append(addresses, p.DialedAt)
	}
	return p.Confirmed, addresses
}

// checkOwnIdentity handles a claim of gossip about another process with this node's identity. A process of an earlier start was
// the predecessor of this process.
func (g *View) checkOwnIdentity(m peer.Meta) {
	if own := g.self(); m.Process != own.Process && m.Starts >= own.Starts && g.logged.Allow(m.GossipName()) {
		g.logger.Error("another process has the identity of this member, because the data directory was copied; stop the process that runs with the copy and delete the copy",
			"id", m.ID, "address", m.Raft)
	}
}

// Spellings returns an address as it was given and, if its host name can be resolved, with the IP address.
func Spellings(address string) []string {
	if a, err := net.ResolveTCPAddr("tcp", address); err == nil {
		return []string{address, a.String()}
	}
	return []string{address}
}
