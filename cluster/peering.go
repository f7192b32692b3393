package cluster

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// judge decides over a peer that dialed our Raft port.
func (n *Node) judge(h hello) verdict {
	raw := h.From.encode()
	if _, err := decodeMeta(raw); err != nil {
		return verdict{handshakeError, err.Error()}
	}
	if h.To != n.id.node() {
		return verdict{otherNode, fmt.Sprintf("this is member %s, not %s", n.id.node(), h.To)}
	}
	if h.From.Cluster == "" {
		return verdict{otherCluster, "the caller is of no cluster yet"}
	}
	ours, err := n.id.adopt(h.From.Cluster)
	if err != nil {
		return verdict{handshakeError, err.Error()}
	}
	if !ours {
		return verdict{otherCluster, fmt.Sprintf("this member is of cluster %s, not %s", n.id.cluster(), h.From.Cluster)}
	}
	if n.cfg.Removed.IsRemoved(h.From.ID) {
		return verdict{memberRemoved, fmt.Sprintf("member %s was removed", h.From.ID)}
	}
	n.gossip.learn(h.From, false)
	return verdict{}
}

// onRefused hears of peers that refuse our Raft connections.
func (n *Node) onRefused(err error) {
	if errors.Is(err, ErrRemoved) {
		n.Fail(ErrRemoved)
	}
}

// ServerAddr implements raft.ServerAddressProvider: nodes are followed by
// their ID, so that one may come back at another address.
func (n *Node) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	if string(id) == n.ID() {
		return raft.ServerAddress(string(id) + "@" + n.cfg.RaftAddress), nil
	}
	if p, ok := n.gossip.peer(string(id)); ok {
		return raft.ServerAddress(string(id) + "@" + p.meta.Raft), nil
	}
	<-n.opened
	for _, s := range n.configuration().Servers {
		if s.ID == id {
			return raft.ServerAddress(string(id) + "@" + string(s.Address)), nil
		}
	}
	return "", fmt.Errorf("the address of member %s is not known", id)
}

func (n *Node) configuration() raft.Configuration {
	f := n.raft.GetConfiguration()
	if f.Error() != nil {
		return raft.Configuration{}
	}
	return f.Configuration()
}
