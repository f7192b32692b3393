package rpc

import (
	"context"
	"errors"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"

	"github.com/snowraft/snowraft/allocator"
)

// MemberGranter requests workers, windows and blocks from a member over gRPC. Its errors are of
// type [*Error] if they have a Cause that lanes know; other errors are those of gRPC, or describe a
// malformed answer. Its methods may be called from any goroutine.
type MemberGranter struct {
	Workers   snowraftv1.WorkerServiceClient
	Sequences snowraftv1.SequenceServiceClient
}

var (
	_ allocator.Granter      = MemberGranter{}
	_ allocator.BlockGranter = MemberGranter{}
)

// AcquireWorker implements allocator.Granter.
func (g MemberGranter) AcquireWorker(ctx context.Context, r allocator.AcquireRequest) (allocator.Grant, error) {
	req := &snowraftv1.AcquireWorkerRequest{
		Layout: r.Layout, Holder: r.Holder, Nonce: r.Nonce[:], ClockAtMs: r.NowMillis, WindowMs: r.Window.Milliseconds(), Below: r.Below,
	}
	if p := r.Process; p != (allocator.Process{}) {
		req.Process = &snowraftv1.HolderProcess{Host: p.Host, ProcessId: p.ID, Kind: p.Kind, Version: p.Version}
	}
	resp, err := g.Workers.AcquireWorker(ctx, req)
	if err != nil {
		return allocator.Grant{}, named(err)
	}
	return grant(resp.GetGrant())
}

// ExtendWindow implements allocator.Granter.
func (g MemberGranter) ExtendWindow(ctx context.Context, r allocator.ExtendRequest) (allocator.Grant, error) {
	resp, err := g.Workers.ExtendWindow(ctx, &snowraftv1.ExtendWindowRequest{
		Layout: r.Layout, Worker: r.Worker, Token: r.Token, Nonce: r.Nonce[:], UntilTick: r.Until,
		ClockAtMs: r.NowMillis, WindowMs: r.Window.Milliseconds(), ExtensionId: r.ID,
	})
	if err != nil {
		return allocator.Grant{}, named(err)
	}
	return grant(resp.GetGrant())
}

// ReleaseWorker implements allocator.Granter.
func (g MemberGranter) ReleaseWorker(ctx context.Context, r allocator.ReleaseRequest) error {
	_, err := g.Workers.ReleaseWorker(ctx, &snowraftv1.ReleaseWorkerRequest{
		Layout: r.Layout, Worker: r.Worker, Token: r.Token, Nonce: r.Nonce[:], UntilTick: r.Until, NextTick: r.Next,
	})
	return named(err)
}

func grant(g *snowraftv1.Grant) (allocator.Grant, error) {
	if g == nil {
		return allocator.Grant{}, errors.New("the member answered without a grant")
	}
	return allocator.Grant{
		Worker: g.GetWorker(), Token: g.GetToken(), From: g.GetFromTick(), Until: g.GetUntilTick(),
		ObservedMillis: g.GetObservedClockAtMs(), MaxWindow: time.Duration(g.GetMaxWindowMs()) * time.Millisecond,
	}, nil
}
