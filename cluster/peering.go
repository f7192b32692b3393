package cluster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/transport"
)

// judgeGreeting decides whether to accept a peer that dialed this node's Raft port. verified is the ID in the peer's certificate; it
// is empty without a certificate, and the peer's metadata is then only a hint.
func (n *Node) judgeGreeting(h transport.Greeting, verified string) transport.Reply {
	raw := h.From.Encode()
	if _, err := peer.DecodeMeta(raw); err != nil {
		return transport.Reply{Refused: transport.Malformed, Detail: "bad metadata", Why: err.Error()}
	}
	if n.cfg.Keys != nil && h.From.ID != verified {
		return transport.Reply{Refused: transport.OtherNode, Detail: "the certificate is that of another member", Why: fmt.Sprintf("its certificate is that of %q", verified)}
	}
	if h.For == transport.ForLives {
		return n.answerLife(h)
	}
	n.lives.HearNode(h.From)
	if h.To != n.id.Node() {
		return transport.Reply{Refused: transport.OtherNode, Detail: "another member is at this address", Why: fmt.Sprintf("it wants member %q", h.To)}
	}
	if h.From.Cluster == "" {
		return transport.Reply{Refused: transport.OtherCluster, Detail: "the caller has joined no cluster yet"}
	}
	ours, err := n.id.Adopt(h.From.Cluster)
	if err != nil {
		return transport.Reply{Refused: transport.Malformed, Detail: "internal error", Why: err.Error()}
	}
	if !ours {
		return transport.Reply{Refused: transport.OtherCluster, Detail: "the member at this address has another cluster ID", Why: "its cluster is " + h.From.Cluster}
	}
	if n.removalEnded(h.From.ID) {
		return transport.Reply{Refused: transport.MemberRemoved, Detail: "the caller was removed"}
	}
	if verified != "" {
		n.gossip.RecordConfirmed(h.From, "")
	} else {
		n.gossip.RecordClaim(h.From, false)
	}
	return transport.Reply{From: n.meta()}
}

// onRefused halts this node if a peer refused its Raft connection because it was removed or is a duplicate.
func (n *Node) onRefused(err error) {
	switch {
	case errors.Is(err, peer.ErrRemoved):
		n.Fail(peer.ErrRemoved)
	case errors.Is(err, peer.ErrDuplicate):
		n.failDuplicate(err)
	}
}

// ServerAddr implements raft.ServerAddressProvider. It finds a node by its ID, so that a node may return at another address.
// It returns the first address of where; dialing also tries the further addresses.
func (n *Node) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	if string(id) == n.ID() {
		return peer.RaftAddress(string(id), n.cfg.RaftAddress), nil
	}
	if addresses, _ := n.addressesOf(string(id)); len(addresses) > 0 {
		return peer.RaftAddress(string(id), addresses[0]), nil
	}
	return "", fmt.Errorf("the address of member %s is not known", id)
}

// addressesOf lists the addresses at which a node may be: first the address of the last successful handshake, then the address in
// the Raft configuration, then hints, which others claimed. certain is the number of addresses before the hints.
func (n *Node) addressesOf(id string) (addresses []string, certain int) {
	p, _ := n.gossip.Peer(id)
	<-n.opened
	if p.DialedAt != "" {
		addresses = append(addresses, p.DialedAt)
	}
	if s, ok := n.server(id); ok && peer.HostPort(s.Address) != p.DialedAt {
		addresses = append(addresses, peer.HostPort(s.Address))
	}
	certain = len(addresses)
	for _, hint := range slices.Backward(p.Hints) {
		if !slices.Contains(addresses, hint) {
			addresses = append(addresses, hint)
		}
	}
	return addresses, certain
}

// servers returns the members of the latest Raft configuration.
func (n *Node) servers() []raft.Server {
	f := n.raft.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

func (n *Node) server(id string) (raft.Server, bool) {
	for _, s := range n.servers() {
		if string(s.ID) == id {
			return s, true
		}
	}
	return raft.Server{}, false
}

// standing reports whether a node is in the Raft configuration, and whether it votes. Both are false until raft runs.
func (n *Node) standing(id string) (member, voter bool) {
	select {
	case <-n.opened:
		s, ok := n.server(id)
		return ok, ok && s.Suffrage == raft.Voter
	default:
		return false, false
	}
}

// Linked counts a connection from another node in this operating-system process, until the returned function is called. A
// simulated Transport, which has no connections, calls it.
func (n *Node) Linked(from *Node) (closed func()) {
	return n.links.Add(transport.Origin{Node: from.ID(), Process: from.process}, "")
}

// replicates reports whether this node leads in that term and the member is in the Raft configuration.
func (n *Node) replicates(id raft.ServerID, term uint64) bool {
	member, _ := n.standing(string(id))
	return member && n.raft.State() == raft.Leader && n.Term() == term
}

// Handshake performs the handshake between two nodes of one process. A simulated Transport has no connections for a
// handshake, so it calls Handshake on the dialer before it carries the first message to another node.
func (n *Node) Handshake(to *Node) error {
	reply := to.judgeGreeting(transport.Greeting{From: n.meta(), To: to.ID()}, "")
	if err := reply.Err(); err != nil {
		n.onRefused(err)
		return err
	}
	n.gossip.RecordConfirmed(reply.From, reply.From.Raft)
	return nil
}

// A copied data directory makes two processes of one member. Their numbers of starts look like those of a member that was
// restarted. So a node that meets a new process of a member checks whether the earlier process is still alive. An answer
// proves that it is: after a restart, the earlier process has stopped before a node can meet its successor. The node refuses
// the later process before any Raft message is exchanged, because two voters of one identity could vote twice.
//
// A process that does not answer, for example behind a partition, counts as stopped. When a node hears it again, it is the
// later process.

// onDuplicate logs once per process m that two processes of one member are alive.
func (n *Node) onDuplicate(m, earlier peer.Meta) {
	if n.logged.Allow(m.GossipName()) {
		n.logger.Error("second process of a member rejected, because its data directory was copied; stop the second process and delete the copy",
			"name", m.Name, "id", m.ID, "first", earlier.Raft, "second", m.Raft)
	}
}

// failDuplicate halts this node because a member refused it as a duplicate.
func (n *Node) failDuplicate(err error) {
	n.Fail(fmt.Errorf("%w; the data directory %s of member %s was copied, or is the copy: two processes must not run with one identity. "+
		"Delete the copy; a new member starts with an empty directory", err, n.cfg.DataDir, n.ID()))
}
