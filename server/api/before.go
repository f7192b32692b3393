package api

import (
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/fsm"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Before returns what a request is about to change, as this member's replica has it; nil if there is nothing yet, or if the
// request changes nothing that has a state.
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
	case *snowraftv1.UpdateConfigRequest:
		return ConfigMessage(s.Member.State().ConfigValue())
	case *snowraftv1.RemoveMemberRequest:
		return s.memberBefore(req.GetMember())
	}
	return nil
}

func (s *Services) sequenceBefore(name string) (m proto.Message) {
	s.Member.State().View(func(state *fsm.State) {
		if found, ok := state.Sequence(name); ok {
			m = sequenceMessage(found)
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
