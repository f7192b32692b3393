package cluster

import (
	"maps"
	"slices"

	"github.com/snowraft/snowraft/cluster/peer"
)

// maxHints is the number of claimed addresses that are remembered of a node.
const maxHints = 4

// peerInfo is the last report about a node. It stays after the node went away.
type peerInfo struct {
	meta  peer.Meta // claim of gossip, or of a caller without a checked certificate
	alive bool
	// lostAt is the time since which the node is not alive, in Unix ms; 0 if alive.
	lostAt int64
	met    peer.Meta // metadata that the node itself sent in a handshake; zero before the first handshake
	at     string    // address of the last successful handshake
	hints  []string  // claimed addresses, the latest one last
}

// known returns the metadata that the node itself sent, or a claim if there is none yet.
func (p peerInfo) known() peer.Meta {
	if p.met.ID != "" {
		return p.met
	}
	return p.meta
}

// hinted returns hints with another address, which replaces the oldest hint if there are too many.
func hinted(hints []string, address string) []string {
	others := slices.DeleteFunc(slices.Clone(hints), func(h string) bool { return h == address })
	if len(others) == maxHints {
		others = others[1:]
	}
	return append(others, address)
}

// learn records a claim about a node, from gossip or a handshake.
func (g *gossip) learn(m peer.Meta, alive bool) {
	if m.ID == g.self().ID {
		g.heardOfSelf(m)
		return
	}
	member, _ := g.standing(m.ID)
	g.mu.Lock()
	defer g.mu.Unlock()
	p, known := g.peers[m.ID]
	if !known && !member && len(g.peers) >= maxPeers {
		return
	}
	p.hints = hinted(p.hints, m.Raft)
	if m.Starts >= p.meta.Starts { // otherwise the claim is about an earlier start
		g.setAlive(&p, alive || (p.alive && m.Process == p.meta.Process))
		p.meta = m
	}
	g.peers[m.ID] = p
	g.signal()
	notify(g.claims)
}

// met records the metadata that a node itself sent. at is the address at which this node dialed it. If at is empty, the node
// dialed this node and has a certificate.
func (g *gossip) met(m peer.Meta, at string) {
	if m.ID == g.self().ID {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	p, known := g.peers[m.ID]
	if !known {
		p.lostAt = g.began // until gossip reaches it
	}
	if at == "" && m.Starts < p.met.Starts {
		return // a delayed message of an earlier start
	}
	p.met = m
	p.hints = hinted(p.hints, m.Raft)
	if at != "" {
		p.at = at
	}
	if at != "" || m.Starts >= p.meta.Starts {
		if m.Process != p.meta.Process {
			g.setAlive(&p, g.heardAlive(m))
		}
		p.meta = m
	}
	g.peers[m.ID] = p
	g.signal()
}

// setAlive records whether a peer is alive, and the time since which it is not.
func (g *gossip) setAlive(p *peerInfo, alive bool) {
	switch {
	case alive:
		p.lostAt = 0
	case p.alive || p.lostAt == 0:
		p.lostAt = g.watch.Now().Wall
	}
	p.alive = alive
}

// heardAlive reports whether memberlist counts a process as alive. Requires g.mu held.
func (g *gossip) heardAlive(m peer.Meta) bool {
	name := m.GossipName()
	return g.members.names[name].alive || g.strangers.names[name].alive
}

// unmet lists the claims about live members that differ from the members' own metadata. Memberlist's records are claims too:
// memberlist reports a record only when it changes, and a handshake may bring metadata that never reaches memberlist.
func (g *gossip) unmet() []peer.Meta { return g.unmetAmong(g.records()) }

func (g *gossip) unmetAmong(records map[string]peer.Meta) []peer.Meta {
	var claims []peer.Meta
	for _, p := range g.all() {
		if member, _ := g.standing(p.meta.ID); !member || !p.alive {
			continue
		}
		if record, ok := records[p.met.Process]; !sameNode(p.met, p.meta) {
			claims = append(claims, p.meta)
		} else if ok && !sameNode(p.met, record) {
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
func (g *gossip) records() map[string]peer.Meta {
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

// peer returns the last report about a node.
func (g *gossip) peer(id string) (peerInfo, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, ok := g.peers[id]
	return p, ok
}

// nameOf returns the name of another node; empty if the name is not known.
func (g *gossip) nameOf(id string) string {
	p, _ := g.peer(id)
	return p.known().Name
}

// all returns the remembered nodes, sorted by ID.
func (g *gossip) all() []peerInfo {
	g.mu.Lock()
	defer g.mu.Unlock()
	var peers []peerInfo
	for _, id := range slices.Sorted(maps.Keys(g.peers)) {
		peers = append(peers, g.peers[id])
	}
	return peers
}

// forget drops the nodes that are neither alive nor members, such as a member that was dead when it was removed. Otherwise
// rejoin would contact them for as long as this process runs.
func (g *gossip) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.peers, func(id string, p peerInfo) bool {
		member, _ := g.standing(id)
		return !p.alive && !member
	})
}
