package leadership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/transport"
)

// askLoss queries the other voters. It returns the voters that agree if they suffice for a majority; otherwise why is the
// reason that they do not.
func (s *Succession) askLoss(ctx context.Context, w watched) (agreed []string, why string) {
	others, need := s.OtherVoters()
	others = slices.DeleteFunc(others, func(id raft.ServerID) bool { return string(id) == w.Node })
	if need > len(others) {
		return nil, "the other voters make no majority without the leader"
	}
	term, index := s.LastEntry()
	question := transport.Loss{Leader: w.Node, Process: w.Process, Term: w.term, LastTerm: term, LastIndex: index}
	ctx, cancel := context.WithTimeout(ctx, s.heartbeat/2)
	defer cancel()
	type answer struct {
		from  raft.ServerID
		reply transport.LossReply
		err   error
	}
	answers := make(chan answer, len(others))
	for _, id := range others {
		go func() {
			address, err := s.ServerAddr(id)
			a := answer{from: id, err: err}
			if err == nil {
				a.reply, a.err = s.checker.AskLoss(ctx, id, address, question)
			}
			answers <- a
		}()
	}
	var denials []string
	for range others {
		switch a := <-answers; {
		case a.err != nil:
			denials = append(denials, s.Label(a.from)+": "+a.err.Error())
		case !a.reply.Agrees:
			denials = append(denials, s.Label(a.from)+": "+a.reply.Why)
		default:
			if agreed = append(agreed, s.Label(a.from)); len(agreed) == need {
				return agreed, ""
			}
		}
	}
	return nil, strings.Join(denials, "; ")
}

// AnswerLoss answers the question of a voter that has lost the leader. It waits until this node has lost the leader too, at most
// for a tenth of the heartbeat timeout. In each term, this node agrees with one candidate only.
func (s *Succession) AnswerLoss(ctx context.Context, candidate string, question transport.Loss) transport.LossReply {
	deny := func(why string) transport.LossReply { return transport.LossReply{Why: why} }
	voters := s.Voters()
	if !slices.Contains(voters, candidate) {
		return deny("the candidate has no vote")
	}
	if !slices.Contains(voters, s.ID()) {
		return deny("not a voter")
	}
	ctx, cancel := context.WithTimeout(ctx, s.candidacyInterval())
	defer cancel()
	leader := transport.Origin{Node: question.Leader, Process: question.Process}
	for {
		changed := s.changed.Next()
		if s.links.Has(leader) {
			return deny("the leader is connected")
		}
		w := s.lastLoss()
		if w.Origin == leader && w.term == question.Term && s.stillLost(w) {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return deny("the leader's end was not noticed")
		}
	}
	if term, index := s.LastEntry(); term > question.LastTerm || term == question.LastTerm && index > question.LastIndex {
		return deny("the candidate's log is shorter")
	}
	if !s.promise(question.Term, candidate) {
		return deny("another candidate is preferred")
	}
	return transport.LossReply{Agrees: true}
}

// evidence is the reason to count a process as gone.
type evidence string

const (
	noEvidence     evidence = ""
	portRefuses    evidence = "the leader's connections closed, and its address refuses new ones"
	processChanged evidence = "the leader's connections closed, and another process answers at its address"
)

// checkProcess checks whether a process is at its address. It returns the evidence if the process is gone, alive if it answers, and
// err if neither is certain.
func (s *Succession) checkProcess(ctx context.Context, leader transport.Origin, address string, timeout time.Duration) (found evidence, alive bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	process, err := s.checker.ProcessAt(ctx, raft.ServerID(leader.Node), address)
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
