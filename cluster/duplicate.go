package cluster

import (
	"fmt"

	"github.com/snowraft/snowraft/cluster/peer"
)

// A copied data directory makes two processes of one member. Their numbers of starts look like those of a member that was
// restarted. So a node that meets a new process of a member checks whether the earlier process is still alive. An answer
// proves that it is: after a restart, the earlier process has stopped before a node can meet its successor. The node refuses
// the later process before any Raft message is exchanged, because two voters of one identity could vote twice.
//
// A process that does not answer, for example behind a partition, counts as stopped. When a node hears it again, it is the
// later process.

// earlier returns the process of m's node that was met last, and the addresses at which it may be. It returns no address if
// no process was met or that process is m.
func (g *gossip) earlier(m peer.Meta) (peer.Meta, []string) {
	p, _ := g.peer(m.ID)
	if p.met.ID == "" || p.met.Process == m.Process {
		return peer.Meta{}, nil
	}
	addresses := []string{p.met.Raft}
	if p.at != "" && p.at != p.met.Raft {
		addresses = append(addresses, p.at)
	}
	return p.met, addresses
}

// onDuplicate logs once per process m that two processes of one member are alive.
func (n *Node) onDuplicate(m, earlier peer.Meta) {
	if n.gossip.first(m.GossipName()) {
		n.logger.Error("second process of a member rejected, because its data directory was copied; stop the second process and delete the copy",
			"name", m.Name, "id", m.ID, "first", earlier.Raft, "second", m.Raft)
	}
}

// failDuplicate halts this node because a member refused it as a duplicate.
func (n *Node) failDuplicate(err error) {
	n.Fail(fmt.Errorf("%w; the data directory %s of member %s was copied, or is the copy: two processes must not run with one identity. "+
		"Delete the copy; a new member starts with an empty directory", err, n.cfg.DataDir, n.ID()))
}

// heardOfSelf handles a claim of gossip about another process with this node's identity. A process of an earlier start was
// the predecessor of this process.
func (g *gossip) heardOfSelf(m peer.Meta) {
	if own := g.self(); m.Process != own.Process && m.Starts >= own.Starts && g.first(m.GossipName()) {
		g.logger.Error("another process has the identity of this member, because the data directory was copied; stop the process that runs with the copy and delete the copy",
			"id", m.ID, "address", m.Raft)
	}
}

// first reports whether it is called with this name for the first time. It returns false after too many names.
func (g *gossip) first(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.introduced[name] || len(g.introduced) >= maxPeers {
		return false
	}
	g.introduced[name] = true
	return true
}
