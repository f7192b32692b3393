package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/gossip"
	"github.com/snowraft/snowraft/cluster/peer"
)

// Contact makes this node's gossip contact another node, which the leader then adds if it is new. Once the other node is a
// member, Contact returns it with the index of the log entry that added it. The index is 0 if the node was a member before,
// or if a snapshot has replaced the entry.
//
// Errors: ErrOwnAddress, ErrMemberUnreachable, ErrOtherCluster, ErrTooOld, ErrNameTaken.
func (n *Node) Contact(ctx context.Context, gossipAddress string) (Member, uint64, error) {
	addresses := gossip.Spellings(gossipAddress)
	if err := n.checkOther(addresses); err != nil {
		return Member{}, 0, err
	}
	last, before := n.raft.LastIndex(), n.servers()
	if err := n.gossip.Join(gossipAddress); err != nil {
		switch {
		case errors.Is(err, peer.ErrUnreachable):
			err = fmt.Errorf("%w; check that this is the gossip address of the member, and that the member runs", err)
		case peer.Misunderstanding(err) != nil:
			err = fmt.Errorf("%w: %w", peer.ErrUnreachable, err)
		}
		return Member{}, 0, fmt.Errorf("%s: %w", gossipAddress, err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, p := range n.gossip.Peers() {
			if p.Alive && slices.Contains(addresses, p.Claim.Gossip) {
				if m, err := n.Member(p.Claim.ID); err == nil {
					if contains(before, m.ID) {
						return m, 0, nil
					}
					return m, n.addedAt(m.ID, last), nil
				}
				if used, ok := n.isTooOld(p.Claim); ok {
					return Member{}, 0, fmt.Errorf("%w: %q, with ID %s, knows commands up to fsm_version %d, and the cluster uses those of fsm_version %d; start the newer program there",
						ErrTooOld, p.Claim.Name, p.Claim.ID, p.Claim.Commands, used)
				}
				if taken, ok := n.nameTaken(p.Claim); ok {
					return Member{}, 0, fmt.Errorf("%w: %q, with ID %s, has the name of member %s at %s; remove that member first, or start the new one with --force-name or with another --name",
						ErrNameTaken, p.Claim.Name, p.Claim.ID, taken.ID, taken.Address)
				}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return Member{}, 0, fmt.Errorf("%s contacted, but not a member yet: %w", gossipAddress, ctx.Err())
		}
	}
}

// addedAt returns the index of the first log entry behind index after whose configuration has a server; 0 if there is none.
func (n *Node) addedAt(id string, after uint64) uint64 {
	for index, last := after+1, n.raft.LastIndex(); index <= last; index++ {
		var entry raft.Log
		if err := n.store.Logs.GetLog(index, &entry); err != nil {
			return 0 // a snapshot replaced it
		}
		if entry.Type == raft.LogConfiguration && contains(raft.DecodeConfiguration(entry.Data).Servers, id) {
			return index
		}
	}
	return 0
}

// checkOther returns ErrOwnAddress if one of the spellings of a gossip address is this node's own.
func (n *Node) checkOther(addresses []string) error {
	own := n.meta()
	if !slices.ContainsFunc(gossip.Spellings(own.Gossip), func(a string) bool { return slices.Contains(addresses, a) }) {
		return nil
	}
	if member, _ := n.IsMember(); !member {
		return fmt.Errorf("%s: %w %q, which has not joined the cluster; send the request to a member of the cluster", addresses[0], ErrOwnAddress, own.Name)
	}
	return fmt.Errorf("%s: %w %q, already in the cluster; give the gossip address of the member to add", addresses[0], ErrOwnAddress, own.Name)
}
