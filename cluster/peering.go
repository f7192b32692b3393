package cluster

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/raft"
)

// judge decides over a peer that dialed our Raft port.
func (n *Node) judge(h hello) handshakeReply {
	raw := h.From.encode()
	if _, err := decodeMeta(raw); err != nil {
		return handshakeReply{handshakeError, err.Error()}
	}
	if h.To != n.id.Node() {
		return handshakeReply{otherNode, fmt.Sprintf("this is member %s, not %s", n.id.Node(), h.To)}
	}
	if h.From.Cluster == "" {
		return handshakeReply{otherCluster, "the caller is of no cluster yet"}
	}
	ours, err := n.id.Adopt(h.From.Cluster)
	if err != nil {
		return handshakeReply{handshakeError, err.Error()}
	}
	if !ours {
		return handshakeReply{otherCluster, fmt.Sprintf("this member is of cluster %s, not %s", n.id.Cluster(), h.From.Cluster)}
	}
	if n.ended(h.From.ID) {
		return handshakeReply{memberRemoved, fmt.Sprintf("member %s was removed", h.From.ID)}
	}
	n.gossip.learn(h.From, false)
	return handshakeReply{}
}

// onRefused is called for peers that refuse our Raft connections.
func (n *Node) onRefused(err error) {
	if errors.Is(err, ErrRemoved) {
		n.Fail(ErrRemoved)
	}
}

// raftAddress is a node's address as raft keeps it: "ID@host:port". Raft refuses
// two servers of one address, but a node that lost its data comes back as a
// new one at the address of the old, which may not be removed yet; and whoever
// dials can say whom it wants.
func raftAddress(id, hostPort string) raft.ServerAddress {
	return raft.ServerAddress(id + "@" + hostPort)
}

// HostPort is the part of raft's address of a node that can be dialed.
func HostPort(address raft.ServerAddress) string {
	_, hostPort, ok := strings.Cut(string(address), "@")
	if !ok {
		return string(address)
	}
	return hostPort
}

// ServerAddr implements raft.ServerAddressProvider: nodes are followed by
// their ID, so that one may come back at another address.
func (n *Node) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	if string(id) == n.ID() {
		return raftAddress(string(id), n.cfg.RaftAddress), nil
	}
	if p, ok := n.gossip.peer(string(id)); ok {
		return raftAddress(string(id), p.meta.Raft), nil
	}
	<-n.opened
	if s, ok := n.server(string(id)); ok {
		return s.Address, nil
	}
	return "", fmt.Errorf("the address of member %s is not known", id)
}

// servers are the members of the latest Raft configuration.
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

// standing reports whether a node is in the Raft configuration, and whether it votes; neither until raft runs.
func (n *Node) standing(id string) (member, voter bool) {
	select {
	case <-n.opened:
		s, ok := n.server(id)
		return ok, ok && s.Suffrage == raft.Voter
	default:
		return false, false
	}
}
