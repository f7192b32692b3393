package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/events"
)

// confirmWithin bounds the confirmation that this node leads, below the timeout of an exchange of lives.
const confirmWithin = 2 * time.Second

// observeLives dials the nodes of other lives, and records once each younger cluster that runs.
func (n *Node) observeLives() {
	if n.livesDialer == nil {
		return
	}
	last := ""
	n.lives.Run(n.ctx, n.livesDialer, func() {
		younger, before := n.lives.Younger(), last
		if last = younger.Cluster; last == "" || last == before {
			return
		}
		n.logger.Warn("cluster that was restored from a backup of this one runs; stop one of the two", "peer", younger.Member)
		n.cfg.Events.Note(events.Process, slog.LevelWarn, "a cluster that was restored from a backup of this one runs: "+younger.Member+"; stop one of the two")
	})
}

// shareLives announces whether this node hears another life, if that differs from its last announcement. It also records the
// announcements of the other members.
func (n *Node) shareLives(announced bool) (hears bool) {
	if hears = n.lives.Hears(); hears != announced {
		n.gossip.Announce()
	}
	var members []peer.Meta
	for _, p := range n.gossip.Peers() {
		if member, _ := n.standing(p.Claim.ID); member && p.Alive {
			members = append(members, p.Confirmed)
		}
	}
	n.lives.Report(members)
	return hears
}

// OldLife returns the older cluster, or the sibling, that this node or a member of its cluster heard in the last 30 s. This
// cluster must issue nothing meanwhile.
func (n *Node) OldLife() lives.Life { return n.lives.Old() }

// YoungerLife returns a cluster that was restored from a backup of this one, if this node heard it in the last 30 s.
func (n *Node) YoungerLife() lives.Life { return n.lives.Younger() }

// life returns this node's message for a node in another cluster that sent a nonce. It takes up to confirmWithin.
func (n *Node) life(ctx context.Context, other string, nonce string) lives.Message {
	known := n.lives.Known()
	own := lives.Message{Cluster: n.id.Cluster(), Ancestors: known.Ancestors, Answers: nonce}
	if _, open := n.termIfOpen(); !open {
		return own
	}
	for _, s := range n.servers() {
		if address := n.saidAddress(s.ID); address != "" && len(own.Members) < lives.MaxMembers {
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
	if p, _ := n.gossip.Peer(string(id)); p.Confirmed.Raft != "" {
		return string(peer.RaftAddress(string(id), p.Confirmed.Raft))
	}
	address, err := n.ServerAddr(id)
	if err != nil {
		return ""
	}
	return string(address)
}

// stillLeads reports whether this node leads, which a majority confirms after the call began.
func (n *Node) stillLeads(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, confirmWithin)
	defer cancel()
	return n.Verify(ctx, n.LeadingTerm()) == nil
}

// answerLife returns the acceptor's answer to a greeting for an exchange of lives.
func (n *Node) answerLife(h transport.Greeting) transport.Reply {
	if n.id.Cluster() == "" || h.From.Cluster == "" || uuid.Validate(h.Nonce) != nil {
		return transport.Reply{Refused: transport.Malformed, Detail: "an exchange of lives needs two clusters and a nonce"}
	}
	own := n.life(n.ctx, h.From.Cluster, h.Nonce)
	own.Asks = lives.NewNonce()
	return transport.Reply{From: n.meta(), Life: &own}
}

// MeetLife exchanges lives with another node of this process, as in a simulation.
func (n *Node) MeetLife(ctx context.Context, to *Node) (lives.Relation, error) {
	asks, asked := lives.NewNonce(), lives.NewNonce()
	theirs := to.life(ctx, n.ClusterID(), asks)
	to.learnLife(n.meta(), n.life(ctx, theirs.Cluster, asked))
	return n.learnLife(to.meta(), theirs), theirs.Check(asks)
}

// learnLife takes note of the life of the node that said it, and returns its relation to this cluster.
func (n *Node) learnLife(from peer.Meta, theirs lives.Message) lives.Relation {
	relation := n.lives.Learn(from, theirs)
	if theirs.Ends && (relation == lives.Younger || relation == lives.Sibling) && n.cfg.Keys != nil {
		n.haltSuperseded(theirs.Cluster)
	}
	return relation
}

// haltSuperseded halts this node for good, because an operator of another life ended its cluster.
func (n *Node) haltSuperseded(by string) {
	s := storage.Superseded{By: by, At: time.UnixMilli(n.cfg.Watch.Now().Wall).UTC()}
	n.Fail(errors.Join(supersededError(&s), n.id.Supersede(s)))
}

func supersededError(s *storage.Superseded) error {
	return fmt.Errorf("%w: by cluster %s at %s; its applications use that cluster now. Keep the data directory, or read it with \"snowraft backup --data-dir\"; "+
		"a new member starts with an empty directory", ErrSuperseded, s.By, s.At.Format(time.DateTime))
}
