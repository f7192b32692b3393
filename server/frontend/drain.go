package frontend

import (
	"context"
	"sync"
	"time"
)

// Drain turns readiness off, stops accepting calls and waits for those in flight, at most until
// ctx ends.
func (s *Server) Drain(ctx context.Context) {
	s.draining.Store(true)
	s.drain(ctx, drainTimeout)
}

// End stops everything, after what is behind the ports has ended.
func (s *Server) End() {
	_ = s.http.Close()
	s.Finish(nil)
	s.wg.Wait()
}

// drain waits for at most budget: for calls over Redis's protocol and HTTP first, since they
// use gRPC, and for half of it, so that one client that dawdles there does not cut off the calls
// over gRPC.
func (s *Server) drain(ctx context.Context, budget time.Duration) {
	defer s.inner.close()
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	s.drainOthers(ctx, budget/2)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.carriers.end()
		s.grpc.GracefulStop()
	}()
	select {
	case <-stopped:
		return
	case <-ctx.Done():
	}
	s.grpc.Stop() // long streams
	<-stopped
}

// drainOthers does so for Redis's protocol and HTTP, at the same time: none of them takes
// calls while another waits for its own.
func (s *Server) drainOthers(ctx context.Context, budget time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	s.gate.closing.Store(true)
	var others sync.WaitGroup
	if s.console != nil {
		s.console.Close() // or else its streams would keep the gate
	}
	others.Go(s.gate.shut)
	if s.redis != nil {
		others.Go(func() { _ = s.redis.Close(ctx) }) // fails only for requests that ctx cut off
	}
	if s.thrift != nil {
		others.Go(func() { _ = s.thrift.Close(ctx) }) // fails only for requests that ctx cut off
	}
	left := make(chan struct{})
	s.wg.Go(func() {
		defer close(left)
		others.Wait()
	})
	select {
	case <-left:
	case <-ctx.Done():
	}
}
