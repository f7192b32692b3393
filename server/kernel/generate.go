package kernel

import (
	"context"
	"fmt"

	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// Generate serves a request for IDs.
func (i *Issuer) Generate(ctx context.Context, a trust.Admission,
	req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	t := NewTaking()
	defer t.Free()
	if resp, err := i.TryGenerate(&a, t, req); resp != nil || err != nil {
		return resp, err
	}
	return i.GenerateRest(ctx, &a, t, req)
}

// TryGenerate is Generate without a wait. If the answer and the error are nil, call GenerateRest with the same arguments.
func (i *Issuer) TryGenerate(a *trust.Admission, t *Taking, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	count := max(req.GetCount(), 1)
	if req.GetPacked() && count > limits.Packed && count <= limits.Count {
		return nil, wire.Invalid(fmt.Sprintf("count %d: expected at most %d packed IDs; set packed to false for ranges, or request fewer IDs", count, limits.Packed))
	}
	after, err := wire.Bits("after", req.GetAfter())
	if err != nil {
		return nil, err
	}
	if done, err := i.TryTake(a, t, req.GetLayout(), count, after); !done || err != nil {
		return nil, err
	}
	return wire.IDsResponse(t.IDs, count, req.GetPacked()), nil
}

// GenerateRest waits for the IDs that TryGenerate did not take.
func (i *Issuer) GenerateRest(ctx context.Context, a *trust.Admission, t *Taking,
	req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	count := max(req.GetCount(), 1)
	if err := i.TakeRest(ctx, a, t, req.GetLayout(), count, uint64(req.GetAfter())); err != nil { //nolint:gosec // checked by TryGenerate
		return nil, err
	}
	return wire.IDsResponse(t.IDs, count, req.GetPacked()), nil
}
