package frontend

import (
	"context"
	"sync"
	"time"
)

// Drain turns readiness off, stops accepting calls and waits for those in flight, at most until
// ctx ends.
func (f *Front) Drain(ctx context.Context) {
	f.draining.Store(true)
	f.drain(ctx, drainTimeout)
}

// End stops everything, after what is behind the ports has ended.
func (f *Front) End() {
	_ = f.http.Close()
	f.Finish(nil)
	f.wg.Wait()
}

// drain waits for at most budget: for calls over Redis's protocol and HTTP first, since they
// use gRPC, and for half of it, so that one client that dawdles there does not cut off the calls
// over gRPC.
func (f *Front) drain(ctx context.Context, budget time.Duration) {
	defer f.inner.close()
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	f.drainOthers(ctx, budget/2)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		f.grpc.GracefulStop()
	}()
	select {
	case <-stopped:
		return
	case <-ctx.Done():
	}
	f.grpc.Stop() // long streams
	<-stopped
}

// drainOthers does so for Redis's protocol and HTTP, at the same time: none of them takes
// calls while another waits for its own.
func (f *Front) drainOthers(ctx context.Context, budget time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	f.gate.closing.Store(true)
	var others sync.WaitGroup
	others.Go(f.gate.shut)
	if f.redis != nil {
		others.Go(func() { _ = f.redis.Close(ctx) }) // fails only for requests that ctx cut off
	}
	left := make(chan struct{})
	f.wg.Go(func() {
		defer close(left)
		others.Wait()
	})
	select {
	case <-left:
	case <-ctx.Done():
	}
}
