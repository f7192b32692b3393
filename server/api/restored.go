package api

import (
	"context"

	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
)

// AcknowledgeRestore implements snowraftv1.OperationsServiceServer.
func (o *operations) AcknowledgeRestore(ctx context.Context, _ *snowraftv1.AcknowledgeRestoreRequest) (*snowraftv1.AcknowledgeRestoreResponse, error) {
	_, index, err := o.Member.AcknowledgeRestore(ctx)
	if err != nil {
		return nil, err
	}
	return &snowraftv1.AcknowledgeRestoreResponse{Restoration: o.restoration(), UnreachedMembers: o.spread(ctx, index)}, nil
}

// Supersede implements snowraftv1.OperationsServiceServer.
func (o *operations) Supersede(ctx context.Context, req *snowraftv1.SupersedeRequest) (*snowraftv1.SupersedeResponse, error) {
	index, err := o.Member.Supersede(ctx, req.GetClusterId())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.SupersedeResponse{Restoration: o.restoration(), UnreachedMembers: o.spread(ctx, index)}, nil
}

// restoration returns the restoration of the cluster from this member's replica; nil if the cluster was not restored.
func (s *Services) restoration() (m *snowraftv1.Restoration) {
	old := s.Member.OldLife()
	s.Member.State().View(func(state *fsm.State) {
		restored := state.Restored()
		if restored == nil {
			return
		}
		m = &snowraftv1.Restoration{
			Ancestors: restored.GetAncestors(), Index: restored.GetIndex(), RestoredAtMs: restored.GetRestoredAtMs(),
			FloorAtMs: restored.GetFloorAtMs(), IssuesAtMs: state.IssuesFrom(), NamesClosed: restored.GetNamesClosed(),
			FrozenSequences: uint64(state.FrozenCount()), SuspendedTemplates: uint64(state.SuspendedTemplates()), ClosedPasts: uint64(state.ClosedPasts()), //nolint:gosec // counts
			OldClusterAlive: old.Member, OldClusterId: old.Cluster, OldClusterIsSibling: old.Relation == lives.Sibling,
			Superseded: restored.GetSuperseded(),
		}
	})
	return m
}

// MoveSequence implements snowraftv1.SequenceServiceServer.
func (q sequences) MoveSequence(ctx context.Context, req *snowraftv1.MoveSequenceRequest) (*snowraftv1.MoveSequenceResponse, error) {
	moved, err := q.Member.MoveSequence(ctx, req.GetSequence(), req.ExpectedGeneration)
	if err != nil {
		return nil, err
	}
	return &snowraftv1.MoveSequenceResponse{Sequence: q.sequence(moved.Sequence), UnreachedMembers: q.spread(ctx, moved.Index)}, nil
}

// ResumeSequence implements snowraftv1.SequenceServiceServer.
func (q sequences) ResumeSequence(ctx context.Context, req *snowraftv1.ResumeSequenceRequest) (*snowraftv1.ResumeSequenceResponse, error) {
	if req.GetFormatsKept() && len(req.GetFormats()) > 0 {
		return nil, wire.Invalid("formats_kept: cannot be combined with formats")
	}
	resumed, err := q.Member.ResumeSequence(ctx, req.GetSequence(), member.Resumption{
		After: req.After, Margin: req.GetMargin(), Period: req.GetPeriod(), Expected: req.ExpectedGeneration,
		Formats: req.GetFormats(), FormatsKept: req.GetFormatsKept(), ForceFormat: req.GetForceFormat(),
	})
	if err != nil {
		return nil, err
	}
	return &snowraftv1.ResumeSequenceResponse{
		Sequence: q.sequence(resumed.Sequence), UnreachedMembers: q.spread(ctx, resumed.Index),
	}, nil
}

// ListFrozenSequences implements snowraftv1.SequenceServiceServer.
func (q sequences) ListFrozenSequences(ctx context.Context, req *snowraftv1.ListFrozenSequencesRequest) (*snowraftv1.ListFrozenSequencesResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	found, err := q.Member.FrozenAtLeader(ctx, req.GetPageToken(), size+1)
	if err != nil {
		return nil, err
	}
	resp := &snowraftv1.ListFrozenSequencesResponse{}
	resp.Sequences, resp.NextPageToken = page(found, size, sequenceName, q.sequence)
	return resp, nil
}
