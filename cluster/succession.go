package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/broadcast"
)

// When a process stops, its connections close and its host refuses new ones. So the followers of a leader need no timeout to
// learn that its process stopped. A follower calls an election when
//
//  1. all connections from the leader's process to this follower have closed, and none was opened again,
//  2. the address at which this process answered earlier in the same term refuses connections for longer than a leader
//     needs to open connections again, or another process of the same node answers there, and
//  3. a majority of the voters, this one included, confirm 1 and 2 for the same process in the same term.
//
// Silence is not evidence: a leader that is paused, or cut off silently, is replaced after Raft's timeouts.
//
// A voter supports at most one candidate in a term. So at most one candidate of each leader's term gets a majority, and it
// calls one election. The next such election needs a leader of a later term that was followed for a heartbeat timeout.

// watched is the leader whose loss a follower would notice.
type watched struct {
	transport.Origin
	term    uint64
	address string    // address at which the process answered in this term; empty before that
	since   time.Time // start of following it in this term
	missed  uint64    // mark of the time at which its last link closed, see links.miss
}

// succession holds the findings of this node about the leader, and the candidate that this node supports.
type succession struct {
	mu       sync.Mutex
	lost     watched          // last leader that was found to be gone
	changed  broadcast.Signal // sent when lost changes
	term     uint64           // term of the lost leader for which this node last supported a candidate
	promised string           // ID of that candidate; empty after withdraw
}

func (s *succession) lose(w watched) {
	s.mu.Lock()
	s.lost = w
	s.mu.Unlock()
	s.changed.Send()
}

func (s *succession) last() watched {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// promise records that this node supports a candidate. It returns false, and changes nothing, if this node supports another
// candidate in this term or has supported one in a later term.
func (s *succession) promise(term uint64, candidate string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if term < s.term || term == s.term && s.promised != "" && s.promised != candidate {
		return false
	}
	s.term, s.promised = term, candidate
	return true
}

// withdraw takes back this node's support for itself, because it has not stood for election.
func (s *succession) withdraw(term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.term == term {
		s.promised = ""
	}
}

// patience returns the time without contact from the leader after which refusals count. A live leader opens new connections
// within a fifth of the heartbeat timeout, because it sends heartbeats at least as often.
func (t Timing) patience() time.Duration { return 3 * t.Heartbeat / 10 }

// turn returns the time between the candidacies of two followers.
func (t Timing) turn() time.Duration { return t.Heartbeat / 10 }

// watchLeader notices the end of the leader's process.
func (n *Node) watchLeader() {
	if n.witnesses == nil {
		return
	}
	var w watched
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		changed, moved := n.LeaderChanged(), n.links.Changed.Next()
		w = n.follows(w)
		switch {
		case w.Process == "":
		case w.address == "":
			n.reach(&w)
		case !n.links.Has(w.Origin):
			n.succeed(w)
		}
		select {
		case <-n.ctx.Done():
			return
		case <-changed:
		case <-moved:
		case <-tick.C:
		}
	}
}

// follows returns the leader that this node follows now, zero if there is none. It keeps the fields of before if the leader
// and the term are unchanged.
func (n *Node) follows(before watched) watched {
	term := n.Term()
	_, leader := n.raft.LeaderWithID()
	if n.raft.State() != raft.Follower || leader == "" || n.Term() != term {
		return watched{}
	}
	if before.Node != string(leader) || before.term != term {
		before = watched{Origin: transport.Origin{Node: string(leader)}, term: term, since: time.Now()}
	}
	if before.Process == "" {
		before.Process = n.links.NewestProcess(before.Node)
	}
	return before
}

// reach finds the address at which a process answers. Only the refusals of an address at which the process answered before
// count.
func (n *Node) reach(w *watched) {
	addresses, certain := n.where(w.Node)
	for _, address := range addresses[:certain] {
		if _, alive, _ := n.knock(w.Origin, address, n.cfg.Timing.Heartbeat); alive {
			w.address = address
			return
		}
	}
	w.Process = "" // the newest link may belong to another process
}

// bereft reports whether this node still follows w, and w's process has had no connection to this node since it was missed.
// Evidence from before a new connection is void.
func (n *Node) bereft(w watched) bool {
	return n.follows(w) == w && n.links.StillMissed(w.Origin, w.missed)
}

// succeed stands for election if the leader's process has stopped and a majority of the voters confirms it. Otherwise it
// returns when the leader is back, or after the heartbeat timeout, when Raft elects another leader.
func (n *Node) succeed(w watched) {
	began, timing := time.Now(), n.cfg.Timing
	w.missed = n.links.MarkMissed(w.Origin)
	turn, ok := n.rank(w.Node)
	if !ok || began.Sub(w.since) < timing.Heartbeat {
		return
	}
	ctx, cancel := context.WithTimeout(n.ctx, timing.Heartbeat)
	defer cancel()
	found := n.mourn(ctx, w, began)
	if found == noEvidence {
		return
	}
	n.succession.lose(w)
	for pause := time.Duration(turn) * timing.turn(); n.rest(ctx, pause) && n.bereft(w); pause = timing.turn() + pause/2 {
		if !n.succession.promise(w.term, n.ID()) {
			continue // the other candidate stands for election; if it does not, Raft's timeouts apply
		}
		agreed, why := n.askLoss(ctx, w)
		if why == "" && n.stand(w, found, agreed, began) {
			return
		}
		n.succession.withdraw(w.term)
		n.logger.Debug("election not called", "leader_id", w.Node, "term", w.term, "reason", why)
	}
}

// rank returns the place of this node among the voters without the leader; false if this node does not vote.
func (n *Node) rank(leader string) (rank int, votes bool) {
	var ids []string
	for _, s := range n.servers() {
		if s.Suffrage == raft.Voter && string(s.ID) != leader {
			ids = append(ids, string(s.ID))
		}
	}
	slices.Sort(ids)
	return slices.BinarySearch(ids, n.ID())
}

// knockPause is the time between two attempts to reach the leader.
const knockPause = 10 * time.Millisecond

// mourn waits for enough evidence that a process is gone, and returns it. It returns noEvidence if the process is alive, the
// leader is back, or ctx ends.
func (n *Node) mourn(ctx context.Context, w watched, began time.Time) evidence {
	for n.bereft(w) {
		heard := n.raft.LastContact()
		if heard.Before(began) {
			heard = began
		}
		found, alive, err := n.knock(w.Origin, w.address, n.cfg.Timing.patience())
		switch {
		case alive:
			return noEvidence
		case found == processChanged, found == portRefuses && time.Since(heard) >= n.cfg.Timing.patience():
			return found
		case err != nil:
			n.logger.Debug("lost leader neither answers nor refuses", "leader_id", w.Node, "error", err)
		}
		if !n.rest(ctx, knockPause) {
			break
		}
	}
	return noEvidence
}

// rest waits for d; it returns false if ctx ends before.
func (n *Node) rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// lastEntry returns the term and index of the last entry of this node's log.
func (n *Node) lastEntry() (term, index uint64) {
	index = n.raft.LastIndex()
	entry, _ := n.bounds().EntryAt(index)
	return entry.Term, index
}

// askLoss queries the other voters. It returns the voters that agree if they suffice for a majority; otherwise why is the
// reason that they do not.
func (n *Node) askLoss(ctx context.Context, w watched) (agreed []string, why string) {
	others, need := n.otherVoters()
	others = slices.DeleteFunc(others, func(id raft.ServerID) bool { return string(id) == w.Node })
	if need > len(others) {
		return nil, "the other voters make no majority without the leader"
	}
	term, index := n.lastEntry()
	question := transport.Loss{Leader: w.Node, Process: w.Process, Term: w.term, LastTerm: term, LastIndex: index}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timing.Heartbeat/2)
	defer cancel()
	type answer struct {
		from  raft.ServerID
		reply transport.LossReply
		err   error
	}
	answers := make(chan answer, len(others))
	for _, id := range others {
		go func() {
			address, err := n.ServerAddr(id)
			a := answer{from: id, err: err}
			if err == nil {
				a.reply, a.err = n.witnesses.AskLoss(ctx, id, address, question)
			}
			answers <- a
		}()
	}
	var denials []string
	for range others {
		switch a := <-answers; {
		case a.err != nil:
			denials = append(denials, n.label(a.from)+": "+a.err.Error())
		case !a.reply.Agrees:
			denials = append(denials, n.label(a.from)+": "+a.reply.Why)
		default:
			if agreed = append(agreed, n.label(a.from)); len(agreed) == need {
				return agreed, ""
			}
		}
	}
	return nil, strings.Join(denials, "; ")
}

// Witness answers the question of a voter that has lost the leader. It waits until this node has lost the leader too, at most
// for a tenth of the heartbeat timeout. In each term, this node agrees with one candidate only.
func (n *Node) Witness(ctx context.Context, candidate string, question transport.Loss) transport.LossReply {
	deny := func(why string) transport.LossReply { return transport.LossReply{Why: why} }
	if _, voter := n.standing(candidate); !voter {
		return deny("the candidate has no vote")
	}
	if _, voter := n.standing(n.ID()); !voter {
		return deny("not a voter")
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timing.turn())
	defer cancel()
	leader := transport.Origin{Node: question.Leader, Process: question.Process}
	for {
		changed := n.succession.changed.Next()
		if n.links.Has(leader) {
			return deny("the leader is connected")
		}
		w := n.succession.last()
		if w.Origin == leader && w.term == question.Term && n.bereft(w) {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return deny("the leader's end was not noticed")
		}
	}
	if term, index := n.lastEntry(); term > question.LastTerm || term == question.LastTerm && index > question.LastIndex {
		return deny("the candidate's log is shorter")
	}
	if !n.succession.promise(question.Term, candidate) {
		return deny("another candidate is preferred")
	}
	return transport.LossReply{Agrees: true}
}

// stand calls an election, unless this node is no longer bereft of w. It reports whether raft took the request.
func (n *Node) stand(w watched, found evidence, agreed []string, began time.Time) bool {
	if !n.bereft(w) {
		return false
	}
	n.elections.expect(w.term+1, ElectionRefused)
	n.logger.Info("leader's process exited; calling an election", "leader", n.label(raft.ServerID(w.Node)), "leader_id", w.Node, "term", w.term,
		"reason", string(found), "agreed", strings.Join(agreed, ", "), "after", time.Since(began))
	return n.guarded.StandForElection(n.ctx)
}

// evidence is the reason to count a process as gone.
type evidence string

const (
	noEvidence     evidence = ""
	portRefuses    evidence = "the leader's connections closed, and its address refuses new ones"
	processChanged evidence = "the leader's connections closed, and another process answers at its address"
)

// knock checks whether a process is at its address. It returns the evidence if the process is gone, alive if it answers, and
// err if neither is certain.
func (n *Node) knock(leader transport.Origin, address string, timeout time.Duration) (found evidence, alive bool, err error) {
	ctx, cancel := context.WithTimeout(n.ctx, timeout)
	defer cancel()
	process, err := n.witnesses.ProcessAt(ctx, raft.ServerID(leader.Node), address)
	switch {
	case err == nil && process == leader.Process:
		return noEvidence, true, nil
	case err == nil:
		return processChanged, false, nil
	case errors.Is(err, syscall.ECONNREFUSED):
		return portRefuses, false, nil
	default:
		return noEvidence, false, fmt.Errorf("neither refused nor answered: %w", err)
	}
}
