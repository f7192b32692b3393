package gossip

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/cluster/peer"
)

// NodeMeta implements memberlist.Delegate.
func (g *View) NodeMeta(limit int) []byte {
	raw := g.self().Encode()
	if len(raw) > limit {
		return nil // Open checked the length
	}
	return raw
}

// GetBroadcasts implements memberlist.Delegate.
func (g *View) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState implements memberlist.Delegate.
func (g *View) LocalState(bool) []byte { return nil }

// MergeRemoteState implements memberlist.Delegate.
func (g *View) MergeRemoteState([]byte, bool) {}

// NotifyAlive implements memberlist.AliveDelegate. It refuses foreign members, and names beyond the bounds.
func (g *View) NotifyAlive(n *memberlist.Node) error {
	m, err := g.checkNode(n)
	if err != nil {
		return err
	}
	if n.Name != m.GossipName() {
		return fmt.Errorf("node %s is called %s", m.GossipName(), n.Name)
	}
	member, _ := g.standing(m.ID)
	g.mu.Lock()
	defer g.mu.Unlock()
	if member {
		return g.members.admit(n.Name, g.mono())
	}
	return g.nonmembers.admit(n.Name, g.mono())
}

// NotifyMerge implements memberlist.MergeDelegate: a single foreign node among nodes vetoes a join.
func (g *View) NotifyMerge(nodes []*memberlist.Node) (refused error) {
	for _, n := range nodes {
		if _, err := g.checkNode(n); err != nil {
			g.recordVeto(n, err)
			refused = cmp.Or(refused, err)
		}
	}
	return refused
}

// recordVeto stores the reason for which a node is refused, for the contact in progress. A reason about the contacted node takes
// precedence over reasons about other nodes.
func (g *View) recordVeto(n *memberlist.Node, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	other, ok := errors.AsType[*peer.OtherClusterError](err)
	if ok {
		other.Contacted = slices.Contains(g.contacting, n.Address())
	}
	if g.veto == nil || ok && other.Contacted {
		g.veto = err
	}
}

// NotifyJoin implements memberlist.EventDelegate.
func (g *View) NotifyJoin(n *memberlist.Node) {
	g.mu.Lock()
	g.members.joined(n.Name)
	g.nonmembers.joined(n.Name)
	g.mu.Unlock()
	g.NotifyUpdate(n)
}

// NotifyUpdate implements memberlist.EventDelegate.
func (g *View) NotifyUpdate(n *memberlist.Node) {
	m, err := g.checkNode(n)
	if err != nil {
		return
	}
	g.mu.Lock()
	g.recorded[n.Name] = m
	g.mu.Unlock()
	g.RecordClaim(m, true)
}

// NotifyLeave implements memberlist.EventDelegate.
func (g *View) NotifyLeave(n *memberlist.Node) {
	g.mu.Lock()
	g.members.left(n.Name, g.mono())
	g.nonmembers.left(n.Name, g.mono())
	delete(g.recorded, n.Name)
	g.mu.Unlock()
	m, err := peer.DecodeMeta(n.Meta)
	if err != nil {
		return
	}
	member, _ := g.standing(m.ID)
	g.mu.Lock()
	p, ok := g.peers[m.ID]
	ok = ok && p.Claim.Process == m.Process
	switch {
	case ok && member:
		if p.Confirmed.Process != m.Process && g.heardAlive(p.Confirmed) {
			p.Claim = p.Confirmed // the process that left was forged
		} else {
			g.setAlive(&p, false)
		}
		g.peers[m.ID] = p
	case ok:
		delete(g.peers, m.ID) // never became a member, or was removed
	}
	g.mu.Unlock()
	if ok {
		g.watch.ForgetPeer(m.ID)
	}
	g.SignalChange()
}
