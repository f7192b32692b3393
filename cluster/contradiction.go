package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/events"
)

// A leader holds every committed entry, so a leader never sends a message that would replace one, unless disks of a majority
// were set back to older copies. The node that receives such a message becomes a witness until it is restarted: it accepts no
// message of a leader, does not vote, and does not stand for election. So its log stays unchanged, and a majority needs other
// voters. A leader judges the claim of a witness that refuses it. If it loses its leadership before the history is sealed, and no
// leader follows, it becomes a witness too: no majority can judge which branch was set back.

// contradiction is the message that made this node a witness.
type contradiction struct {
	once  sync.Once
	found chan struct{} // closed once err is set
	err   error
	// opposed is the last refusal of a voter since this node was elected; nil if there was none.
	opposed atomic.Pointer[error]
}

// SetBack returns a channel that is closed once a leader contradicted this node; Contradiction then returns how.
func (n *Node) SetBack() <-chan struct{} { return n.contradiction.found }

// Contradiction returns how a leader contradicted what this node knows to be committed; nil if none did.
func (n *Node) Contradiction() error {
	select {
	case <-n.contradiction.found:
		return n.contradiction.err
	default:
		return nil
	}
}

// onRefusedMessage makes this node a witness if the message that it refused contradicts committed entries. In an open cluster,
// every stranger can send such a message, so there it is only refused.
func (n *Node) onRefusedMessage(err error) {
	switch {
	case errors.Is(err, transport.ErrOpposed):
		n.contradiction.opposed.Store(&err)
		<-n.opened
		if n.raft.State() != raft.Leader { // lead may have ended
			n.becomeWitnessIfLeaderless()
		}
		return
	case !errors.Is(err, transport.ErrContradicts):
		return
	}
	n.becomeWitness(err)
}

// aloneFor is the time after the end of a leadership in which another leader can judge the claims of voters.
const aloneFor = 3 * time.Second

// becomeWitnessIfLeaderless makes this node a witness if a voter opposed its leadership, which a majority had accepted and which has ended, and
// if no leader is known after aloneFor. Another leader judges the claim of that voter, and needs the vote of this node.
func (n *Node) becomeWitnessIfLeaderless() {
	opposed := n.contradiction.opposed.Load()
	if opposed == nil {
		return
	}
	n.wg.Go(func() {
		wait := time.NewTimer(aloneFor)
		defer wait.Stop()
		select {
		case <-n.ctx.Done():
			return
		case <-wait.C:
		}
		if _, known := n.Leader(); known {
			n.contradiction.opposed.CompareAndSwap(opposed, nil)
			return
		}
		n.becomeWitnessIfOpposed()
	})
}

// becomeWitnessIfOpposed makes this node a witness if a voter opposed its leadership, which has ended, and no majority sealed the history.
func (n *Node) becomeWitnessIfOpposed() {
	if err := n.contradiction.opposed.Swap(nil); err != nil && (n.cfg.History == nil || !n.cfg.History.Sealed()) {
		n.becomeWitness(*err)
	}
}

// becomeWitness makes this node a witness.
func (n *Node) becomeWitness(err error) {
	if !n.authenticated() {
		n.noteSetBack("a message that contradicts committed entries was refused; " + adviceSeal)
		return
	}
	n.contradiction.once.Do(func() {
		n.noteSetBack(fmt.Sprintf("disks were set back to older copies: %v; issuing nothing, and keeping the log as evidence", err))
		n.contradiction.err = err
		close(n.contradiction.found)
		n.leader.Send()
	})
}

// adviceSeal is the advice to the operator of an open cluster.
const adviceSeal = `if disks were set back to older copies, run "snowraft cluster seal"`

// authenticated reports whether messages come only from members. Others prove nothing.
func (n *Node) authenticated() bool { return n.cfg.Keys != nil || n.cfg.Transport != nil }

// noteSetBack says once what was set back.
func (n *Node) noteSetBack(what string) {
	if !n.claims.logged.Allow(what) {
		return
	}
	n.logger.Error("set back", "reason", what)
	n.cfg.Events.Note(events.Storage, slog.LevelError, what)
}
