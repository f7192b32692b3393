package api

import (
	"context"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/trust"
)

// IDs is the issuing part of the IdService, on members and gateways.
type IDs struct {
	snowraftv1.UnimplementedIdServiceServer
	Kernel *kernel.Kernel
}

// GenerateIds implements snowraftv1.IdServiceServer.
func (i IDs) GenerateIds(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	return i.Kernel.Generate(ctx, trust.AdmissionOf(ctx), req)
}

// GenerateUuids issues IDs and writes them as UUIDs.
func (i IDs) GenerateUuids(ctx context.Context, req *snowraftv1.GenerateUuidsRequest) (*snowraftv1.GenerateUuidsResponse, error) {
	return i.Kernel.GenerateUUIDs(ctx, trust.AdmissionOf(ctx), req)
}

// Numbers is the issuing part of the SequenceService, on members and gateways.
type Numbers struct {
	snowraftv1.UnimplementedSequenceServiceServer
	Kernel *kernel.Kernel
}

// NextNumbers issues numbers.
func (q Numbers) NextNumbers(ctx context.Context, req *snowraftv1.NextNumbersRequest) (*snowraftv1.NextNumbersResponse, error) {
	return q.Kernel.NextNumbers(ctx, trust.AdmissionOf(ctx), req)
}

// GetLast returns the last issued number.
func (q Numbers) GetLast(ctx context.Context, req *snowraftv1.GetLastRequest) (*snowraftv1.GetLastResponse, error) {
	return q.Kernel.GetLast(ctx, trust.AdmissionOf(ctx), req)
}
