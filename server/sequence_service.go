package server

import (
	"context"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

type sequenceService struct {
	snowraftv1.UnimplementedSequenceServiceServer
	s *Server
}

func (q *sequenceService) CreateSequence(ctx context.Context, req *snowraftv1.CreateSequenceRequest) (*snowraftv1.CreateSequenceResponse, error) {
	spec, err := newSequenceSpec(req.GetSequence())
	if err != nil {
		return nil, err
	}
	created, err := q.s.member.CreateSequence(ctx, spec, req.GetForce())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.CreateSequenceResponse{
		Sequence: sequenceMessage(created.Sequence), UnreachedMembers: q.s.spread(ctx, created.Index),
	}, nil
}

// GetSequence answers a member that has no such sequence as the leader.
func (q *sequenceService) GetSequence(ctx context.Context, req *snowraftv1.GetSequenceRequest) (*snowraftv1.GetSequenceResponse, error) {
	look := q.s.member.Sequence
	if forwarded(ctx) {
		look = q.s.member.SequenceAtLeader
	}
	found, err := look(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.GetSequenceResponse{Sequence: sequenceMessage(found)}, nil
}

func (q *sequenceService) ListSequences(_ context.Context, req *snowraftv1.ListSequencesRequest) (*snowraftv1.ListSequencesResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	var found []fsm.Sequence
	q.s.member.State().View(func(s *fsm.State) { found = s.Sequences(req.GetPageToken(), req.GetPrefix(), size+1) })
	resp := &snowraftv1.ListSequencesResponse{}
	for i, f := range found {
		if i == size {
			resp.NextPageToken = found[i-1].Spec.GetName()
			break
		}
		resp.Sequences = append(resp.Sequences, sequenceMessage(f))
	}
	return resp, nil
}

func (q *sequenceService) UpdateSequence(ctx context.Context, req *snowraftv1.UpdateSequenceRequest) (*snowraftv1.UpdateSequenceResponse, error) {
	fields, err := updateFields(req)
	if err != nil {
		return nil, err
	}
	updated, err := q.s.member.UpdateSequence(ctx, req.GetSequence().GetName(), func(spec *commandv1.SequenceSpec) error {
		return updateSpec(spec, req.GetSequence(), fields)
	}, nil, req.GetForce())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.UpdateSequenceResponse{
		Sequence: sequenceMessage(updated.Sequence), UnreachedMembers: q.s.spread(ctx, updated.Index),
	}, nil
}

func (q *sequenceService) DeleteSequence(ctx context.Context, req *snowraftv1.DeleteSequenceRequest) (*snowraftv1.DeleteSequenceResponse, error) {
	deleted, err := q.s.member.DeleteSequence(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.DeleteSequenceResponse{UnreachedMembers: q.s.spread(ctx, deleted.Index)}, nil
}

func (q *sequenceService) SetNext(ctx context.Context, req *snowraftv1.SetNextRequest) (*snowraftv1.SetNextResponse, error) {
	next := req.GetNext()
	set, err := q.s.member.UpdateSequence(ctx, req.GetSequence(), func(*commandv1.SequenceSpec) error { return nil }, &next, req.GetForce())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.SetNextResponse{
		Sequence: sequenceMessage(set.Sequence), UnreachedMembers: q.s.spread(ctx, set.Index),
	}, nil
}

func (q *sequenceService) Next(ctx context.Context, req *snowraftv1.NextRequest) (*snowraftv1.NextResponse, error) {
	if !forwarded(ctx) {
		n, err := q.s.next(ctx, req.GetSequence(), uint64(req.GetCount()), req.GetRequestId())
		if err != nil {
			return nil, err
		}
		return nextResponse(req.GetSequence(), n, true), nil
	}
	if err := checkNext(uint64(req.GetCount()), req.GetRequestId()); err != nil {
		return nil, err
	}
	n, err := q.s.member.NextAtLeader(ctx, req.GetSequence(), uint64(req.GetCount()), req.GetRequestId())
	if err != nil {
		return nil, err
	}
	return nextResponse(req.GetSequence(), n, false), nil
}

func (q *sequenceService) GetLast(ctx context.Context, req *snowraftv1.GetLastRequest) (*snowraftv1.GetLastResponse, error) {
	look := q.s.last
	if forwarded(ctx) {
		look = q.s.member.LastAtLeader
	}
	last, ok, err := look(ctx, req.GetSequence())
	if err != nil || !ok {
		return &snowraftv1.GetLastResponse{}, err
	}
	return &snowraftv1.GetLastResponse{Last: &last}, nil
}

func (q *sequenceService) AllocateBlock(ctx context.Context, req *snowraftv1.AllocateBlockRequest) (*snowraftv1.AllocateBlockResponse, error) {
	if err := checkRequestID(req.GetRequestId()); err != nil {
		return nil, err
	}
	block, err := q.s.member.AllocateBlockOnce(ctx, req.GetSequence(), req.GetCount(), req.GetRequestId())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.AllocateBlockResponse{Block: rpc.Block(block)}, nil
}

func (q *sequenceService) ReturnBlock(ctx context.Context, req *snowraftv1.ReturnBlockRequest) (*snowraftv1.ReturnBlockResponse, error) {
	if err := q.s.member.ReturnBlock(ctx, req.GetSequence(), req.GetToken(), req.GetUnused()); err != nil {
		return nil, err
	}
	return &snowraftv1.ReturnBlockResponse{}, nil
}
