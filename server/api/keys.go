package api

import (
	"context"
	"errors"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/trust"
)

// Exists reports whether a sequence exists, for protocols whose keys are sequences. If this member does not know the
// sequence, it queries the leader, and waits up to [route.Wait] for one.
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

var createRule = rpc.RuleOf(snowraftv1.SequenceService_CreateSequence_FullMethodName)

// OnDemand returns the request by which an INCR creates a sequence.
func OnDemand(sequence string) *snowraftv1.CreateSequenceRequest {
	return &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: sequence}, OnDemand: true}
}

// Create creates a sequence on demand, and returns after this member has applied the command. The result is false if the
// configuration does not let INCR create sequences. The log decides that, because this member's replica may be behind. If the
// setting is off, Create proposes nothing, so that unknown keys do not fill the log.
func (s *Services) Create(ctx context.Context, sequence string) (created bool, err error) {
	if off, err := s.creationOff(ctx); off || err != nil {
		return false, err
	}
	req := OnDemand(sequence)
	a, err := trust.PrincipalOf(ctx).Admit(kernel.Needed(createRule, req))
	if err != nil {
		return false, err
	}
	resp, err := lead(trust.WithAdmission(ctx, a), s, createRule.Method, req, sequences{Services: s}.CreateSequence)
	if errors.Is(err, &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_REDIS_CREATE_OFF}) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// The generation is the log index of the command. This member may not have applied it yet.
	err = s.Member.State().AwaitApplied(ctx, resp.GetSequence().GetGeneration())
	return err == nil, err
}

var beginRule = rpc.RuleOf(snowraftv1.SequenceService_BeginSequence_FullMethodName)

// Begin creates a sequence by its first use on behalf of the caller of ctx, and returns after this member has applied the command. If
// no template of this member's replica matches the name, it does nothing and returns false.
func (s *Services) Begin(ctx context.Context, sequence string) (begun bool, err error) {
	if !s.Member.Begins(sequence) {
		return false, nil
	}
	req := &snowraftv1.BeginSequenceRequest{Name: sequence}
	a, err := trust.PrincipalOf(ctx).Admit(kernel.Needed(beginRule, req))
	if err != nil {
		return false, err
	}
	resp, err := lead(trust.WithAdmission(ctx, a), s, beginRule.Method, req, sequences{Numbers: Numbers{Kernel: s.Kernel}, Services: s}.BeginSequence)
	if err != nil {
		return false, err
	}
	err = s.Member.State().AwaitApplied(ctx, resp.GetSequence().GetGeneration())
	return err == nil, err
}

// creationOff reports whether the configuration does not let INCR create sequences. A replica with the setting off may be
// behind, so creationOff requests the leader's configuration then. That request is the member's own: callers of INCR need no
// right to read the configuration.
func (s *Services) creationOff(ctx context.Context) (bool, error) {
	off := func(create commandv1.AutoCreate) bool { return create == commandv1.AutoCreate_AUTO_CREATE_OFF }
	if !off(s.Member.State().ConfigValue().GetRedisCreate()) {
		return false, nil
	}
	config, err := s.ConfigAtLeader(trust.WithPrincipal(ctx, nil))
	return off(commandv1.AutoCreate(config.GetRedisCreate())), err
}
