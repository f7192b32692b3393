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

// Creation returns the request to create a sequence that starts at 1, if the configuration has an INCR do that.
func Creation(sequence string, c *snowraftv1.Config) (req *snowraftv1.CreateSequenceRequest, ok bool) {
	mode, ok := map[snowraftv1.AutoCreate]snowraftv1.SequenceMode{
		snowraftv1.AutoCreate_AUTO_CREATE_STRICT:  snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT,
		snowraftv1.AutoCreate_AUTO_CREATE_RELAXED: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED,
	}[c.GetRedisCreate()]
	return &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: sequence, Mode: mode}}, ok
}

// Create creates a sequence that starts at 1, unless there is one of that name or the configuration has an INCR create
// none. This member's replica may be behind, so what it allows the leader must allow as well.
func (s *Services) Create(ctx context.Context, sequence string) (created bool, err error) {
	config := ConfigMessage(s.Member.State().ConfigValue())
	if _, ok := Creation(sequence, config); !ok {
		return false, nil
	}
	if config, err = s.ConfigAtLeader(ctx); err != nil {
		return false, err
	}
	req, ok := Creation(sequence, config)
	if !ok {
		return false, nil
	}
	err = s.create(ctx, req)
	return err == nil, err
}

// create creates a sequence, unless there is one of that name, and returns when this member knows it.
func (s *Services) create(ctx context.Context, req *snowraftv1.CreateSequenceRequest) error {
	sequence := req.GetSequence().GetName()
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
