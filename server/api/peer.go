package api

import (
	"context"
	"sync/atomic"

	"github.com/snowraft/snowraft/internal/position"
	peerv1 "github.com/snowraft/snowraft/proto/peer/v1"
	"github.com/snowraft/snowraft/server/wire"
)

// maxAwaiting is the maximum number of waiting AwaitIndex calls. Any client that reaches the member can send an index that the
// log never reaches.
const maxAwaiting = 1000

// peerService is the PeerService of a member. Other members call it.
type peerService struct {
	peerv1.UnimplementedPeerServiceServer
	*Services

	awaiting atomic.Int64 // waiting AwaitIndex calls
}

// ReadIndex implements peerv1.PeerServiceServer.
func (p *peerService) ReadIndex(ctx context.Context, _ *peerv1.ReadIndexRequest) (*peerv1.ReadIndexResponse, error) {
	index, err := p.Member.ReadIndex(ctx)
	return &peerv1.ReadIndexResponse{Index: index}, err
}

// Claim judges what a client proved to another member.
func (p *peerService) Claim(ctx context.Context, req *peerv1.ClaimRequest) (*peerv1.ClaimResponse, error) {
	at, err := position.Parse(req.GetPosition())
	if err != nil {
		return nil, wire.Invalid(err.Error())
	}
	return &peerv1.ClaimResponse{}, p.Member.Claim(ctx, at, req.GetWitness())
}

// AwaitIndex answers when this member has applied the log up to an index.
func (p *peerService) AwaitIndex(ctx context.Context, req *peerv1.AwaitIndexRequest) (*peerv1.AwaitIndexResponse, error) {
	if state := p.Member.State(); state.Applied() < req.GetIndex() {
		defer p.awaiting.Add(-1)
		if p.awaiting.Add(1) > maxAwaiting {
			return nil, wire.Overloaded(maxAwaiting, "AwaitIndex")
		}
		if err := state.AwaitApplied(ctx, req.GetIndex()); err != nil {
			return nil, err
		}
	}
	return &peerv1.AwaitIndexResponse{}, nil
}
