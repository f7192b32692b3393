package api

import (
	"context"
	"fmt"

	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/issue"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// IDs is the issuing part of the IdService, on members and gateways.
type IDs struct {
	snowraftv1.UnimplementedIdServiceServer
	Issuer *issue.Issuer
}

// GenerateIds implements snowraftv1.IdServiceServer.
func (i IDs) GenerateIds(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	count := max(req.GetCount(), 1)
	if req.GetPacked() && count > limits.Packed && count <= limits.Count {
		return nil, wire.Invalid(fmt.Sprintf("count %d: expected at most %d packed IDs; set packed to false for ranges, or request fewer IDs", count, limits.Packed))
	}
	after, err := bitsOf("after", req.GetAfter())
	if err != nil {
		return nil, err
	}
	taken := issue.Borrow()
	defer issue.Return(taken)
	if *taken, err = i.Issuer.Take(ctx, trust.AdmissionOf(ctx), *taken, req.GetLayout(), count, after); err != nil {
		return nil, err
	}
	return wire.IDsResponse(*taken, count, req.GetPacked()), nil
}

// GenerateUuids issues IDs and writes them as UUIDs.
func (i IDs) GenerateUuids(ctx context.Context, req *snowraftv1.GenerateUuidsRequest) (*snowraftv1.GenerateUuidsResponse, error) {
	uuids, err := i.Issuer.UUIDs(ctx, trust.AdmissionOf(ctx), req.GetLayout(), max(req.GetCount(), 1))
	if err != nil {
		return nil, err
	}
	return &snowraftv1.GenerateUuidsResponse{Uuids: uuids}, nil
}

// Numbers is the issuing part of the SequenceService, on members and gateways.
type Numbers struct {
	snowraftv1.UnimplementedSequenceServiceServer
	Issuer *issue.Issuer
}

// NextNumbers issues numbers.
func (q Numbers) NextNumbers(ctx context.Context, req *snowraftv1.NextNumbersRequest) (*snowraftv1.NextNumbersResponse, error) {
	n, err := q.Issuer.Next(ctx, trust.AdmissionOf(ctx), req.GetSequence(), uint64(req.GetCount()), req.GetRequestId())
	if err != nil {
		return nil, err
	}
	return wire.NumbersResponse(req.GetSequence(), n, true), nil
}

// GetLast returns the last issued number.
func (q Numbers) GetLast(ctx context.Context, req *snowraftv1.GetLastRequest) (*snowraftv1.GetLastResponse, error) {
	last, ok, err := q.Issuer.Last(ctx, trust.AdmissionOf(ctx), req.GetSequence())
	return wire.LastResponse(last, ok), err
}
