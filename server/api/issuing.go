package api

import (
	"context"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// IDs is the issuing part of the IdService, on members and gateways.
type IDs struct {
	snowraftv1.UnimplementedIdServiceServer
	Issuer *kernel.Issuer
}

// GenerateIds implements snowraftv1.IdServiceServer.
func (i IDs) GenerateIds(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	return i.Issuer.Generate(ctx, trust.AdmissionOf(ctx), req)
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
	Issuer *kernel.Issuer
}

// NextNumbers issues numbers.
func (q Numbers) NextNumbers(ctx context.Context, req *snowraftv1.NextNumbersRequest) (*snowraftv1.NextNumbersResponse, error) {
	return q.Issuer.NextNumbers(ctx, trust.AdmissionOf(ctx), req)
}

// GetLast returns the last issued number.
func (q Numbers) GetLast(ctx context.Context, req *snowraftv1.GetLastRequest) (*snowraftv1.GetLastResponse, error) {
	last, ok, err := q.Issuer.Last(ctx, trust.AdmissionOf(ctx), req.GetSequence())
	return wire.LastResponse(last, ok), err
}
