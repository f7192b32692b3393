package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/lines"
	"github.com/snowraft/snowraft/internal/position"
)

// claimsEvery is the interval at which a leader requests the watermarks of the voters.
const claimsEvery = time.Second

// Mark returns the mark of this node, which has opened.
func (n *Node) Mark() transport.Mark {
	return transport.Mark{Position: n.watermark.Mark(), Lost: n.lostAtStart}
}

// judgements counts what a node judged as the leader.
type judgements struct {
	judged  atomic.Uint64
	suspect atomic.Pointer[string] // see Suspicion
	logged  lines.Once             // reported set-backs
}

// judgeVoters judges the watermarks of this leader and of the other voters at intervals, until ctx ends.
func (n *Node) judgeVoters(ctx context.Context) {
	if n.cfg.History == nil {
		return
	}
	tick := time.NewTicker(claimsEvery)
	defer tick.Stop()
	for {
		if !n.cfg.History.Sealed() {
			n.judgeMarks(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (n *Node) judgeMarks(ctx context.Context) {
	var all sync.WaitGroup
	judge := func(id raft.ServerID, mark transport.Mark) {
		if mark.Lost > 0 {
			n.noteLostBy(id, mark.Lost)
		}
		if err := n.Claim(ctx, mark.Position, n.label(id)); err != nil && ctx.Err() == nil {
			n.logger.Warn("claim of a voter not judged; retrying", "voter", n.label(id), "error", err)
		}
	}
	all.Go(func() { judge(raft.ServerID(n.ID()), transport.Mark{Position: n.watermark.Mark()}) }) // noteLost has said the rest
	others, _ := n.otherVoters()
	for _, id := range others {
		all.Go(func() {
			asking, cancel := context.WithTimeout(ctx, claimsEvery)
			defer cancel()
			if mark, err := n.askMark(asking, id); err == nil {
				judge(id, mark)
			}
		})
	}
	all.Wait()
}

func (n *Node) askMark(ctx context.Context, id raft.ServerID) (transport.Mark, error) {
	address, err := n.ServerAddr(id)
	if err != nil || n.asker == nil {
		return transport.Mark{}, err
	}
	return n.asker.AskMark(ctx, id, address)
}

// noteLostBy says once that the log of a voter lacks entries that the voter knew to be committed, or had acknowledged.
func (n *Node) noteLostBy(id raft.ServerID, lost uint64) {
	n.noteSetBack(fmt.Sprintf("the disk of member %s was set back: its log lacks the last %d entries that it held", n.label(id), lost))
}

// Claim judges a position that from, which must be authenticated, knows to be committed. If the history of this leader
// contradicts it, disks were set back, and Claim seals the history.
//
// The judgement is sound, because this node has applied all entries of earlier terms since it leads, and verifies after the
// claim arrived that there was no later leader: a leader whose disks are sound holds every entry that was committed before.
//
// Errors: ErrNotLeader if this node does not lead or cannot verify that; those of a proposal.
func (n *Node) Claim(ctx context.Context, p position.Position, from string) error {
	term, own := n.LeadingTerm(), n.Position()
	if term == 0 {
		return ErrNotLeader
	}
	if p.Index == 0 || p.Cluster != own.Cluster || p.Life != own.Life {
		return nil
	}
	n.claims.judged.Add(1)
	setBack, why := n.cfg.History.Judge(p)
	if !setBack {
		return nil
	}
	if err := n.Verify(ctx, term); err != nil {
		return err
	}
	if !n.authenticated() {
		n.noteSuspicion(from, why)
		return nil
	}
	n.noteSetBack(fmt.Sprintf("disks of a majority were set back: %s contradicts %s; sealing the cluster", from, why))
	return n.cfg.History.Seal(ctx, p, from, why)
}

// noteSuspicion says once that a voter of an open cluster contradicts the history. Every stranger could claim that.
func (n *Node) noteSuspicion(from, why string) {
	what := fmt.Sprintf("%s contradicts the history: %s", from, why)
	n.claims.suspect.Store(&what)
	n.noteSetBack(what + "; " + adviceSeal)
}

// Suspicion returns why the leader of an open cluster found that members may have been set back; empty without a reason.
func (n *Node) Suspicion() string {
	if s := n.claims.suspect.Load(); s != nil {
		return *s
	}
	return ""
}

// ClaimsJudged returns the number of claims that this node judged as the leader since it started.
func (n *Node) ClaimsJudged() uint64 { return n.claims.judged.Load() }
