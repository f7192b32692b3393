package frontend

import (
	"context"
	"sync"
	"time"
)

// Drain turns readiness off, stops accepting calls, and waits for the calls in flight, at most 3 s and at most until ctx
// ends. It then cuts off the remaining calls, except HTTP requests, which End cuts off.
func (s *Server) Drain(ctx context.Context) {
	s.draining.Store(true)
	s.drain(ctx, drainTimeout)
}

// End closes the remaining HTTP connections, waits until all ports have stopped, and closes the channel of Done. The caller
// first ends everything behind the ports.
func (s *Server) End() {
	_ = s.http.Close()
	s.Finish(nil)
	s.wg.Wait()
}

// drain waits at most budget. It waits for calls over Redis's protocol, Thrift and HTTP first. That takes at most half of budget,
// so that a slow client of those protocols does not cut off gRPC calls.
func (s *Server) drain(ctx context.Context, budget time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	s.drainOthers(ctx, budget/2)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.end()
		s.grpc.GracefulStop()
	}()
	select {
	case <-stopped:
		return
	case <-ctx.Done():
	}
	s.grpc.Stop() // long-lived streams
	<-stopped
}

// drainOthers drains Redis's protocol, Thrift and HTTP at the same time, so that no port accepts calls while another drains.
func (s *Server) drainOthers(ctx context.Context, budget time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	s.gate.closing.Store(true)
	var others sync.WaitGroup
	if s.console != nil {
		s.console.Close() // ends the calls by which it follows the cluster
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
