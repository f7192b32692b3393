package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/internal/names"
)

// A cluster that was restored from a backup is a later life of the cluster of that backup. Lives have different cluster IDs, and
// each knows the IDs of all lives before it. Two lives that run at the same time could issue the same, so the later one stops.

// Lives is the knowledge in the state about other lives of the cluster. Its zero value means that the cluster was not restored.
type Lives struct {
	Ancestors  []string    // IDs of all clusters before this one, oldest first
	Superseded []string    // IDs of the clusters that an operator stopped for good in favor of this cluster
	OldMembers []OldMember // members of the last cluster before this one, at the time of the backup
	FencedMs   int64       // until this time, in Unix ms, the old members are looked for often
}

// OldMember is a member of the cluster before this one.
type OldMember struct{ ID, Name, RaftAddress string }

// Relation is the place of another cluster in the ancestry of this one.
type Relation int

const (
	// Unrelated clusters have no ancestor in common.
	Unrelated Relation = iota
	// Same is this cluster itself.
	Same
	// Older is an ancestor of this cluster.
	Older
	// Younger is a cluster of which this one is an ancestor.
	Younger
	// Sibling clusters have an ancestor in common, and neither is an ancestor of the other.
	Sibling
)

// relationOf returns the relation of the other life to one's own. Each has its ID and its ancestors.
func relationOf(own, other life) Relation {
	switch {
	case other.Cluster == own.Cluster:
		return Same
	case slices.Contains(own.Ancestors, other.Cluster):
		return Older
	case slices.Contains(other.Ancestors, own.Cluster):
		return Younger
	case slices.ContainsFunc(own.Ancestors, func(id string) bool { return slices.Contains(other.Ancestors, id) }):
		return Sibling
	}
	return Unrelated
}

const (
	// maxLife bounds the message about a life: 1,024 ancestors and the addresses of 16 members fit.
	maxLife = 1<<16 - 1
	// maxAncestry and maxLifeMembers bound its lists.
	maxAncestry    = 1024
	maxLifeMembers = 16
	// lifeConfirm bounds the confirmation that this node leads, below the timeout of an exchange.
	lifeConfirm = 2 * time.Second
)

// life is a node's message about its cluster in an exchange.
type life struct {
	Cluster   string   `json:"c"`
	Ancestors []string `json:"a,omitempty"`
	// Answers is the nonce of the other side. Asks is the own nonce; only the acceptor sends it here.
	Answers string `json:"n"`
	Asks    string `json:"q,omitempty"`
	// Ends reports that an operator of this cluster ended the other's, and that a majority confirmed, after the other's nonce
	// arrived, that this node leads. Another member names the leader instead, in raft's form.
	Ends   bool   `json:"e,omitempty"`
	Leader string `json:"l,omitempty"`
	// Members are addresses of members, in raft's form.
	Members []string `json:"m,omitempty"`
}

// check returns an error unless the message answers a nonce and can be believed to be a member's.
func (l life) check(nonce string) error {
	if l.Answers != nonce {
		return errors.New("lives: answer to another question")
	}
	if len(l.Ancestors) > maxAncestry || len(l.Members) > maxLifeMembers {
		return fmt.Errorf("lives: %d ancestors and %d members", len(l.Ancestors), len(l.Members))
	}
	for _, id := range append([]string{l.Cluster}, l.Ancestors...) {
		if uuid.Validate(id) != nil {
			return fmt.Errorf("lives: bad cluster ID %q", id)
		}
	}
	for _, address := range append([]string{l.Leader}, l.Members...) {
		if err := names.CheckText("lives: address", address); err != nil || len(address) > peer.MaxMeta {
			return errors.Join(errors.New("lives: bad address"), err)
		}
	}
	return nil
}

// newNonce returns a question for an exchange of lives.
func newNonce() string { return uuid.NewString() }

// life returns this node's message for a node in another cluster that sent a nonce. It takes up to lifeConfirm.
func (n *Node) life(ctx context.Context, other string, nonce string) life {
	known := n.lives()
	own := life{Cluster: n.id.Cluster(), Ancestors: known.Ancestors, Answers: nonce}
	if _, open := n.termIfOpen(); !open {
		return own
	}
	for _, s := range n.servers() {
		if address := n.saidAddress(s.ID); address != "" && len(own.Members) < maxLifeMembers {
			own.Members = append(own.Members, address)
		}
	}
	if !slices.Contains(known.Superseded, other) {
		return own
	}
	if own.Ends = n.stillLeads(ctx); !own.Ends {
		_, id := n.raft.LeaderWithID()
		own.Leader = n.saidAddress(id)
	}
	return own
}

// saidAddress returns the address that a member announced itself, in raft's form, or else that of ServerAddr; empty if there is
// none. The Raft configuration may have an address of before a move, and has none of the member that was restored first.
func (n *Node) saidAddress(id raft.ServerID) string {
	if p, _ := n.gossip.peer(string(id)); p.met.Raft != "" {
		return string(peer.RaftAddress(string(id), p.met.Raft))
	}
	address, err := n.ServerAddr(id)
	if err != nil {
		return ""
	}
	return string(address)
}

// stillLeads reports whether this node leads, which a majority confirms after the call began.
func (n *Node) stillLeads(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lifeConfirm)
	defer cancel()
	return n.Verify(ctx, n.LeadingTerm()) == nil
}

// lives returns what the state knows about other lives of the cluster.
func (n *Node) lives() Lives {
	if n.cfg.Lives == nil {
		return Lives{}
	}
	return n.cfg.Lives()
}

// LifeMeeter exchanges lives with nodes. A simulated Transport may implement it.
type LifeMeeter interface {
	// MeetLife exchanges lives with the member at a Raft address, or with the member of that ID if the cluster has no secret. It
	// returns the relation of the other cluster, or ErrOtherCluster if an older program refuses this node as one of another
	// cluster.
	MeetLife(ctx context.Context, id, address string) (Relation, error)
}

// MeetLife exchanges lives with another node of this process, as in a simulation.
func (n *Node) MeetLife(ctx context.Context, to *Node) (Relation, error) {
	asks, asked := newNonce(), newNonce()
	theirs := to.life(ctx, n.ClusterID(), asks)
	to.learnLife(n.meta(), n.life(ctx, theirs.Cluster, asked))
	return n.learnLife(to.meta(), theirs), theirs.check(asks)
}

// learnLife takes note of the life of the node that said it, and returns its relation to this cluster.
func (n *Node) learnLife(from peer.Meta, theirs life) Relation {
	own := life{Cluster: n.id.Cluster(), Ancestors: n.lives().Ancestors}
	relation := relationOf(own, theirs)
	if relation == Unrelated || relation == Same {
		return relation
	}
	n.gossip.hearLife(HeardLife{Relation: relation, Cluster: theirs.Cluster, Member: describeLife(from.Name, from.Raft, theirs.Cluster)})
	n.gossip.claimNode(from)
	for _, address := range append([]string{theirs.Leader}, theirs.Members...) {
		if id := peer.NodeID(address); id != "" {
			n.gossip.claimLife(claim{id: id, address: peer.HostPort(raft.ServerAddress(address))})
		}
	}
	if theirs.Ends && (relation == Younger || relation == Sibling) && n.cfg.Keys != nil {
		n.superseded(theirs.Cluster)
	}
	return relation
}

func describeLife(name, address, cluster string) string {
	return fmt.Sprintf("%s at %s of cluster %s", name, address, cluster)
}

// superseded halts this node for good, because an operator of another life ended its cluster.
func (n *Node) superseded(by string) {
	s := storage.Superseded{By: by, At: time.UnixMilli(n.cfg.Watch.Now().Wall).UTC()}
	n.Fail(errors.Join(supersededError(&s), n.id.Supersede(s)))
}

func supersededError(s *storage.Superseded) error {
	return fmt.Errorf("%w: by cluster %s at %s; its applications use that cluster now. Keep the data directory, or read it with \"snowraft backup --data-dir\"; "+
		"a new member starts with an empty directory", ErrSuperseded, s.By, s.At.Format(time.DateTime))
}
