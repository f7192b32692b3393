package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Exists reports whether there is a sequence of a name, for protocols whose keys are sequences.
func (s *Services) Exists(ctx context.Context, sequence string) (bool, error) {
	err := s.Router.Hold(ctx, func() error {
		_, err := s.Member.Sequence(ctx, sequence)
		return err
	})
	if _, unknown := errors.AsType[*member.UnknownSequenceError](err); unknown {
		return false, nil
	}
	return err == nil, err
}

// Creation is the request to create a sequence that starts at 1.
func Creation(sequence string, strict bool) *snowraftv1.CreateSequenceRequest {
	mode := snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED
	if strict {
		mode = snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT
	}
	return &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: sequence, Mode: mode}}
}

// Create creates a sequence that starts at 1, unless there is one of that name.
func (s *Services) Create(ctx context.Context, sequence string, strict bool) error {
	req := Creation(sequence, strict)
	reply, err := s.atLeader(ctx, snowraftv1.SequenceService_CreateSequence_FullMethodName, req, func(ctx context.Context, _ any) (any, error) {
		return sequences{Services: s}.CreateSequence(ctx, req)
	})
	if errors.Is(err, &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_SEQUENCE_EXISTS}) {
		// Another client created it meanwhile, in another way; this member may not know it yet.
		if _, ok := s.Member.State().Sequence(sequence); ok {
			return nil
		}
		return rpc.NewError(rpc.SequenceChanged, fmt.Sprintf("sequence %q is being created: try again", sequence))
	}
	if created, ok := reply.(*snowraftv1.CreateSequenceResponse); ok && err == nil {
		// The generation is its place in the log, which this member may not have got to yet.
		err = s.Member.State().AwaitApplied(ctx, created.GetSequence().GetGeneration())
	}
	return err
}
