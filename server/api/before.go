package api

import (
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/fsm"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Before returns the present state that a request is about to change, from this member's replica. It returns nil if there is
// no such state yet, or if the request changes no state.
func (s *Services) Before(req any) proto.Message {
	switch req := req.(type) {
	case *snowraftv1.CreateSequenceRequest:
		return s.sequenceBefore(req.GetSequence().GetName())
	case *snowraftv1.UpdateSequenceRequest:
		return s.sequenceBefore(req.GetSequence().GetName())
	case *snowraftv1.DeleteSequenceRequest:
		return s.sequenceBefore(req.GetName())
	case *snowraftv1.SetNextRequest:
		return s.sequenceBefore(req.GetSequence())
	case *snowraftv1.TakeNumbersRequest:
		return s.sequenceBefore(req.GetSequence())
	case *snowraftv1.ResolveNumbersRequest:
		return s.sequenceBefore(req.GetSequence())
	case *snowraftv1.ResumeSequenceRequest:
		return s.sequenceBefore(req.GetSequence())
	case *snowraftv1.CreateTemplateRequest:
		return s.templateBefore(req.GetTemplate().GetPattern())
	case *snowraftv1.UpdateTemplateRequest:
		return s.templateBefore(req.GetTemplate().GetPattern())
	case *snowraftv1.DeleteTemplateRequest:
		return s.templateBefore(req.GetPattern())
	case *snowraftv1.ApplyTemplateRequest:
		return s.templateBefore(req.GetPattern())
	case *snowraftv1.ResumeTemplateRequest:
		return s.templateBefore(req.GetPattern())
	case *snowraftv1.AcknowledgeRestoreRequest, *snowraftv1.SupersedeRequest:
		if m := s.restoration(); m != nil {
			return m
		}
	case *snowraftv1.SealClusterRequest:
		if m := s.sealed(); m != nil {
			return m
		}
	case *snowraftv1.FinalizeUpgradeRequest:
		return s.upgradeMessage(s.Member.Upgrade())
	case *snowraftv1.UpdateConfigRequest:
		return ConfigMessage(s.Member.State().ConfigValue())
	case *snowraftv1.ResetObservedClockRequest:
		return &snowraftv1.ResetObservedClockResponse{ObservedClockAtMs: s.Member.State().Observed().Load()}
	case *snowraftv1.TransferLeadershipRequest:
		if leader, ok := s.Member.Node().Leader(); ok {
			return &snowraftv1.TransferLeadershipResponse{LeaderId: leader.ID, LeaderName: leader.Name}
		}
	case *snowraftv1.LeaveRequest:
		return s.memberBefore(s.Member.Node().ID())
	case *snowraftv1.RemoveMemberRequest:
		return s.memberBefore(req.GetMember())
	case *snowraftv1.UpdateTokenRequest:
		return s.tokenBefore(req.GetToken())
	case *snowraftv1.DeleteTokenRequest:
		return s.tokenBefore(req.GetToken())
	}
	return nil
}

func (s *Services) tokenBefore(token string) (m proto.Message) {
	s.Member.State().View(func(state *fsm.State) {
		found, ok := state.TokenNamed(token)
		if id, err := strconv.ParseUint(token, 10, 64); err == nil {
			found, ok = state.Token(id)
		} else if token == fsm.AnonymousToken {
			found, ok = state.Token(0)
		}
		if ok {
			m = tokenMessage(found)
		}
	})
	return m
}

func (s *Services) sequenceBefore(name string) proto.Message {
	if found, ok := s.Member.State().Sequence(name); ok {
		return s.sequence(found)
	}
	return nil
}

func (s *Services) templateBefore(pattern string) (m proto.Message) {
	s.Member.State().View(func(state *fsm.State) {
		if found, ok := state.Template(pattern); ok {
			m = templateMessage(found)
		}
	})
	return m
}

func (s *Services) memberBefore(name string) proto.Message {
	for _, m := range s.Member.Node().Members() {
		if m.ID == name || m.Name == name {
			return memberMessage(m)
		}
	}
	return nil
}
