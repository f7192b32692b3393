package api

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// sequences is the SequenceService of a member.
type sequences struct {
	Numbers
	*Services
}

func (q sequences) CreateSequence(ctx context.Context, req *snowraftv1.CreateSequenceRequest) (*snowraftv1.CreateSequenceResponse, error) {
	spec, err := newSequenceSpec(req.GetSequence())
	if err != nil {
		return nil, err
	}
	created, err := q.create(ctx, req, spec)
	if err != nil {
		return nil, err
	}
	return &snowraftv1.CreateSequenceResponse{
		Sequence: q.sequence(created.Sequence), UnreachedMembers: q.spread(ctx, created.Index), Existed: created.Existed(),
	}, nil
}

func (q sequences) create(ctx context.Context, req *snowraftv1.CreateSequenceRequest, spec *commandv1.SequenceSpec) (member.Changed, error) {
	switch {
	case !req.GetOnDemand():
		if err := q.needsStart(req.GetSequence()); err != nil {
			return member.Changed{}, err
		}
		return q.Member.CreateSequence(ctx, spec, member.Force{Numbers: req.GetForce(), Format: req.GetForceFormat()})
	case !proto.Equal(req, OnDemand(spec.GetName())):
		return member.Changed{}, wire.Invalid("on_demand: cannot be combined with force or with fields of the sequence other than name")
	default:
		return q.Member.CreateOnDemand(ctx, spec)
	}
}

// needsStart refuses a new sequence without an explicit start in a restored cluster. The old cluster may have created a sequence
// of that name after the backup, and only the operator knows its last number.
func (q sequences) needsStart(s *snowraftv1.Sequence) error {
	if restored := q.Member.State().Restored(); s.Start != nil || restored == nil || restored.GetNamesClosed() {
		return nil
	}
	if _, exists := q.Member.State().Sequence(s.GetName()); exists {
		return nil
	}
	return wire.Invalid(fmt.Sprintf("start: must be given in a restored cluster, because the old one may have created sequence %q after the backup; "+
		"set it beyond the last number, or to 1 if there was no such sequence", s.GetName()))
}

// GetSequence answers as the leader, or for a local request from the replica. A forwarded request always comes to the leader.
func (q sequences) GetSequence(ctx context.Context, req *snowraftv1.GetSequenceRequest) (*snowraftv1.GetSequenceResponse, error) {
	switch {
	case trust.RelayOf(ctx) != "":
		return q.found(ctx, req, q.Member.SequenceAtLeader)
	case req.GetLocal():
		return q.found(ctx, req, q.Member.Sequence)
	}
	return lead(ctx, q.Services, snowraftv1.SequenceService_GetSequence_FullMethodName, req,
		func(ctx context.Context, req *snowraftv1.GetSequenceRequest) (*snowraftv1.GetSequenceResponse, error) {
			return q.found(ctx, req, q.Member.SequenceAtLeader)
		})
}

// sequence returns a sequence with what this member knows of its numbers.
func (s *Services) sequence(found fsm.Sequence) *snowraftv1.Sequence {
	return sequenceMessage(s.Member.Standing(found))
}

func (q sequences) found(
	ctx context.Context, req *snowraftv1.GetSequenceRequest, find func(ctx context.Context, name string) (fsm.Sequence, error),
) (*snowraftv1.GetSequenceResponse, error) {
	found, err := find(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.GetSequenceResponse{Sequence: q.sequence(found)}, nil
}

func (q sequences) ListSequences(ctx context.Context, req *snowraftv1.ListSequencesRequest) (*snowraftv1.ListSequencesResponse, error) {
	if resp, ok := askLeader[*snowraftv1.ListSequencesResponse](ctx, q.Services, snowraftv1.SequenceService_ListSequences_FullMethodName, req); ok {
		return resp, nil
	}
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	var found []fsm.Sequence
	q.Member.State().View(func(s *fsm.State) { found = s.Sequences(req.GetPageToken(), req.GetPrefix(), size+1) })
	resp := &snowraftv1.ListSequencesResponse{}
	resp.Sequences, resp.NextPageToken = page(found, size, sequenceName, q.sequence)
	return resp, nil
}

// DecodeText implements snowraftv1.SequenceServiceServer.
func (q sequences) DecodeText(ctx context.Context, req *snowraftv1.DecodeTextRequest) (*snowraftv1.DecodeTextResponse, error) {
	read, err := q.Member.DecodeText(ctx, req.GetSequence(), req.GetText())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.DecodeTextResponse{
		Sequence: req.GetSequence(), Text: req.GetText(), Number: read.Number, Period: read.Period.String(), Format: read.Format,
		State: grantStates[read.Granting], Deleted: read.Deleted,
	}, nil
}

var grantStates = map[fsm.Granting]snowraftv1.GrantState{
	fsm.GrantingUnknown: snowraftv1.GrantState_GRANT_STATE_UNKNOWN,
	fsm.Granted:         snowraftv1.GrantState_GRANT_STATE_GRANTED,
	fsm.NotGranted:      snowraftv1.GrantState_GRANT_STATE_NOT_GRANTED,
}

func sequenceName(s fsm.Sequence) string { return s.Spec.GetName() }

func (q sequences) UpdateSequence(ctx context.Context, req *snowraftv1.UpdateSequenceRequest) (*snowraftv1.UpdateSequenceResponse, error) {
	fields, err := updateFields(req)
	if err != nil {
		return nil, err
	}
	updated, err := q.Member.UpdateSequence(ctx, req.GetSequence().GetName(), member.Update{
		Edit:     func(spec *commandv1.SequenceSpec) error { return updateSpec(spec, req.GetSequence(), fields) },
		Force:    member.Force{Numbers: req.GetForce(), Format: req.GetForceFormat()},
		Expected: req.ExpectedGeneration,
	})
	if err != nil {
		return nil, err
	}
	return &snowraftv1.UpdateSequenceResponse{
		Sequence: q.sequence(updated.Sequence), UnreachedMembers: q.spread(ctx, updated.Index),
	}, nil
}

func (q sequences) DeleteSequence(ctx context.Context, req *snowraftv1.DeleteSequenceRequest) (*snowraftv1.DeleteSequenceResponse, error) {
	deleted, err := q.Member.DeleteSequence(ctx, req.GetName(), req.ExpectedGeneration)
	if err != nil {
		return nil, err
	}
	return &snowraftv1.DeleteSequenceResponse{UnreachedMembers: q.spread(ctx, deleted.Index)}, nil
}

func (q sequences) SetNext(ctx context.Context, req *snowraftv1.SetNextRequest) (*snowraftv1.SetNextResponse, error) {
	set, err := q.Member.UpdateSequence(ctx, req.GetSequence(), member.Update{
		Next: new(req.GetNext()), Force: member.Force{Numbers: req.GetForce()}, Expected: req.ExpectedGeneration,
	})
	if err != nil {
		return nil, err
	}
	return &snowraftv1.SetNextResponse{
		Sequence: q.sequence(set.Sequence), UnreachedMembers: q.spread(ctx, set.Index),
	}, nil
}

func (q sequences) AllocateBlock(ctx context.Context, req *snowraftv1.AllocateBlockRequest) (*snowraftv1.AllocateBlockResponse, error) {
	if err := kernel.CheckRequestID(req.GetRequestId()); err != nil {
		return nil, err
	}
	block, err := q.allocate(ctx, req)
	if err != nil {
		return nil, err
	}
	return &snowraftv1.AllocateBlockResponse{Block: rpc.Block(block)}, nil
}

// BeginSequence answers once this leader has applied the command; a member that forwards the call waits for the index.
func (q sequences) BeginSequence(ctx context.Context, req *snowraftv1.BeginSequenceRequest) (*snowraftv1.BeginSequenceResponse, error) {
	begun, err := q.Member.BeginSequence(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	if !begun.Existed() {
		q.Kernel.AuditCreation(ctx, req.GetName(), begun.Index, nil)
	}
	return &snowraftv1.BeginSequenceResponse{Sequence: q.sequence(begun.Sequence), Existed: begun.Existed()}, nil
}

// allocate grants a block at the leader. A sequence that does not exist begins first, if a template matches.
func (q sequences) allocate(ctx context.Context, req *snowraftv1.AllocateBlockRequest) (allocator.Block, error) {
	block, err := q.grant(ctx, req)
	if _, unknown := errors.AsType[*member.UnknownSequenceError](err); !unknown || !q.Member.Begins(req.GetSequence()) {
		return block, err
	}
	if _, err := q.BeginSequence(ctx, &snowraftv1.BeginSequenceRequest{Name: req.GetSequence()}); err != nil {
		return block, err
	}
	return q.grant(ctx, req)
}

func (q sequences) grant(ctx context.Context, req *snowraftv1.AllocateBlockRequest) (allocator.Block, error) {
	if len(req.GetReturnKey()) == 0 {
		return q.Member.AllocateBlockOnce(ctx, req.GetSequence(), req.GetCount(), req.GetRequestId())
	}
	if req.GetRequestId() != "" {
		return allocator.Block{}, wire.Invalid("return_key: cannot be combined with request_id, because such a block cannot be returned")
	}
	key, err := returnKeyOf(req.GetReturnKey())
	if err != nil {
		return allocator.Block{}, err
	}
	return q.Member.AllocateBlock(ctx, req.GetSequence(), req.GetCount(), key)
}

func returnKeyOf(b []byte) (key allocator.ReturnKey, err error) {
	if len(b) != len(key) {
		return key, wire.Invalid(fmt.Sprintf("return_key of %d bytes: expected %d random bytes", len(b), len(key)))
	}
	copy(key[:], b)
	return key, nil
}

func (q sequences) ReturnBlock(ctx context.Context, req *snowraftv1.ReturnBlockRequest) (*snowraftv1.ReturnBlockResponse, error) {
	key, err := returnKeyOf(req.GetReturnKey())
	if err != nil {
		return nil, err
	}
	if err := q.Member.ReturnBlock(ctx, req.GetSequence(), req.GetToken(), req.GetUnused(), key); err != nil {
		return nil, err
	}
	return &snowraftv1.ReturnBlockResponse{}, nil
}
