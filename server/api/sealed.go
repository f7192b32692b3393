package api

import (
	"context"

	"github.com/snowraft/snowraft/internal/position"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// SealCluster implements snowraftv1.OperationsServiceServer.
func (o *operations) SealCluster(ctx context.Context, _ *snowraftv1.SealClusterRequest) (*snowraftv1.SealClusterResponse, error) {
	if err := o.Member.Seal(ctx, nil, "", "an operator sealed it"); err != nil {
		return nil, err
	}
	sealed := o.sealed()
	return &snowraftv1.SealClusterResponse{Sealed: sealed, UnreachedMembers: o.spread(ctx, sealed.GetIndex())}, nil
}

// sealed returns the record of the seal from this member's replica; nil if the cluster is not sealed.
func (s *Services) sealed() *snowraftv1.Sealed {
	sealed := s.Member.State().Sealed()
	if sealed == nil {
		return nil
	}
	evidence, _ := position.Parse(sealed.GetEvidence()) // empty if an operator sealed the cluster
	return &snowraftv1.Sealed{
		Reason: sealed.GetReason(), Witness: sealed.GetWitness(), Index: sealed.GetIndex(), SealedAtMs: sealed.GetSealedAtMs(),
		EvidenceIndex: evidence.Index,
	}
}
