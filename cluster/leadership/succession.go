package leadership

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
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

// Voter is the part of a node that its succession uses. The node may be any follower.
type Voter interface {
	ID() string
	LeaderChanged() <-chan struct{}
	// Following returns the leader that this node follows in the present term; ok is false if it follows none.
	Following() (leader string, term uint64, ok bool)
	// LastContact returns the time of the last message of the leader.
	LastContact() time.Time
	// LastEntry returns the term and index of the last entry of the log.
	LastEntry() (term, index uint64)
	// Voters returns the IDs of the voters, sorted.
	Voters() []string
	// OtherVoters returns the voters other than this node, and how many of them make a majority together with it.
	OtherVoters() (others []raft.ServerID, need int)
	// ConfirmedAddresses returns the addresses at which a node may be, without claimed ones.
	ConfirmedAddresses(id string) []string
	ServerAddr(id raft.ServerID) (raft.ServerAddress, error)
	// Label returns the display name of a node.
	Label(id raft.ServerID) string
	// StandForElection makes raft call an election in the next term, and reports whether it took the request.
	StandForElection(ctx context.Context, term uint64) bool
}

// PeerChecker checks whether processes are alive. A simulated Transport may implement it.
type PeerChecker interface {
	// ProcessAt shakes hands at the address of a node and returns the process that answers. It fails with
	// syscall.ECONNREFUSED only if the host refused the connection.
	ProcessAt(ctx context.Context, id raft.ServerID, address string) (process string, err error)
	// AskLoss sends a question to a node and returns its answer.
	AskLoss(ctx context.Context, id raft.ServerID, address raft.ServerAddress, question transport.Loss) (transport.LossReply, error)
}

// Succession notices the end of the leader's process, calls an election, and answers the questions of other voters.
type Succession struct {
	Voter
	checker   PeerChecker
	links     *transport.Links
	heartbeat time.Duration // heartbeat timeout
	logger    *slog.Logger

	mu       sync.Mutex
	lost     watched          // last leader that was found to be gone
	changed  broadcast.Signal // sent when lost changes
	term     uint64           // term of the lost leader for which this node last supported a candidate
	promised string           // ID of that candidate; empty after withdraw
}

// NewSuccession returns the succession of a node, for a heartbeat timeout.
func NewSuccession(v Voter, checker PeerChecker, links *transport.Links, heartbeat time.Duration, logger *slog.Logger) *Succession {
	return &Succession{Voter: v, checker: checker, links: links, heartbeat: heartbeat, logger: logger}
}

func (s *Succession) recordLoss(w watched) {
	s.mu.Lock()
	s.lost = w
	s.mu.Unlock()
	s.changed.Send()
}

func (s *Succession) lastLoss() watched {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// promise records that this node supports a candidate. It returns false, and changes nothing, if this node supports another
// candidate in this term or has supported one in a later term.
func (s *Succession) promise(term uint64, candidate string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if term < s.term || term == s.term && s.promised != "" && s.promised != candidate {
		return false
	}
	s.term, s.promised = term, candidate
	return true
}

// withdraw takes back this node's support for itself, because it has not stood for election.
func (s *Succession) withdraw(term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.term == term {
		s.promised = ""
	}
}

// refusalsCountAfter returns the time without contact from the leader after which refusals count. A live leader opens new
// connections within a fifth of the heartbeat timeout, because it sends heartbeats at least as often.
func (s *Succession) refusalsCountAfter() time.Duration { return 3 * s.heartbeat / 10 }

// candidacyInterval returns the time between the candidacies of two followers.
func (s *Succession) candidacyInterval() time.Duration { return s.heartbeat / 10 }

// Run notices the end of the leader's process, until ctx ends.
func (s *Succession) Run(ctx context.Context) {
	var w watched
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		changed, moved := s.LeaderChanged(), s.links.Changed.Next()
		w = s.currentLeader(w)
		switch {
		case w.Process == "":
		case w.address == "":
			s.findAddress(ctx, &w)
		case !s.links.Has(w.Origin):
			s.replaceLeader(ctx, w)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-moved:
		case <-tick.C:
		}
	}
}

// currentLeader returns the leader that this node follows now, zero if there is none. It keeps the fields of before if the leader
// and the term are unchanged.
func (s *Succession) currentLeader(before watched) watched {
	leader, term, ok := s.Following()
	if !ok {
		return watched{}
	}
	if before.Node != leader || before.term != term {
		before = watched{Origin: transport.Origin{Node: leader}, term: term, since: time.Now()}
	}
	if before.Process == "" {
		before.Process = s.links.NewestProcess(before.Node)
	}
	return before
}

// findAddress finds the address at which a process answers. Only the refusals of an address at which the process answered before
// count.
func (s *Succession) findAddress(ctx context.Context, w *watched) {
	for _, address := range s.ConfirmedAddresses(w.Node) {
		if _, alive, _ := s.checkProcess(ctx, w.Origin, address, s.heartbeat); alive {
			w.address = address
			return
		}
	}
	w.Process = "" // the newest link may belong to another process
}

// stillLost reports whether this node still follows w, and w's process has had no connection to this node since it was missed.
// Evidence from before a new connection is void.
func (s *Succession) stillLost(w watched) bool {
	return s.currentLeader(w) == w && s.links.StillMissed(w.Origin, w.missed)
}

// replaceLeader stands for election if the leader's process has stopped and a majority of the voters confirms it. Otherwise it
// returns when the leader is back, or after the heartbeat timeout, when Raft elects another leader.
func (s *Succession) replaceLeader(ctx context.Context, w watched) {
	began := time.Now()
	w.missed = s.links.MarkMissed(w.Origin)
	order, ok := s.candidacyOrder(w.Node)
	if !ok || began.Sub(w.since) < s.heartbeat {
		return
	}
	running := ctx
	ctx, cancel := context.WithTimeout(running, s.heartbeat)
	defer cancel()
	found := s.gatherEvidence(ctx, w, began)
	if found == noEvidence {
		return
	}
	s.recordLoss(w)
	for wait := time.Duration(order) * s.candidacyInterval(); pause(ctx, wait) && s.stillLost(w); wait = s.candidacyInterval() + wait/2 {
		if !s.promise(w.term, s.ID()) {
			continue // the other candidate stands for election; if it does not, Raft's timeouts apply
		}
		agreed, why := s.askLoss(ctx, w)
		if why == "" && s.stand(running, w, found, agreed, began) {
			return
		}
		s.withdraw(w.term)
		s.logger.Debug("election not called", "leader_id", w.Node, "term", w.term, "reason", why)
	}
}

// candidacyOrder returns the place of this node among the voters without the leader; false if this node does not vote.
func (s *Succession) candidacyOrder(leader string) (order int, votes bool) {
	others := slices.DeleteFunc(s.Voters(), func(id string) bool { return id == leader })
	return slices.BinarySearch(others, s.ID())
}

// checkPause is the time between two checks of the leader.
const checkPause = 10 * time.Millisecond

// gatherEvidence waits for enough evidence that a process is gone, and returns it. It returns noEvidence if the process is alive, the
// leader is back, or ctx ends.
func (s *Succession) gatherEvidence(ctx context.Context, w watched, began time.Time) evidence {
	for s.stillLost(w) {
		heard := s.LastContact()
		if heard.Before(began) {
			heard = began
		}
		found, alive, err := s.checkProcess(ctx, w.Origin, w.address, s.refusalsCountAfter())
		switch {
		case alive:
			return noEvidence
		case found == processChanged, found == portRefuses && time.Since(heard) >= s.refusalsCountAfter():
			return found
		case err != nil:
			s.logger.Debug("lost leader neither answers nor refuses", "leader_id", w.Node, "error", err)
		}
		if !pause(ctx, checkPause) {
			break
		}
	}
	return noEvidence
}

// pause waits for d; it returns false if ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stand calls an election, unless this node is no longer without w. It reports whether raft took the request.
func (s *Succession) stand(ctx context.Context, w watched, found evidence, agreed []string, began time.Time) bool {
	if !s.stillLost(w) {
		return false
	}
	s.logger.Info("leader's process exited; calling an election", "leader", s.Label(raft.ServerID(w.Node)), "leader_id", w.Node, "term", w.term,
		"reason", string(found), "agreed", strings.Join(agreed, ", "), "after", time.Since(began))
	return s.StandForElection(ctx, w.term+1)
}
