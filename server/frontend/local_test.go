package frontend

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/slots"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/trust"
)

// served returns a Server whose local calls reach services.
func served(t *testing.T, auth *Auth) *Server {
	t.Helper()
	s, l := small(t, auth)
	t.Cleanup(func() { _ = l.Close() })
	s.grpc = s.newGRPC()
	t.Cleanup(s.grpc.Stop)
	return s
}

// greedy is an IdService that issues nothing.
type greedy struct {
	snowraftv1.UnimplementedIdServiceServer
}

// Callers without the right to a call are refused at once, even if authorized callers use all memory.
func TestStrangersTakeNoMemoryOverHTTP(t *testing.T) {
	t.Parallel()
	s := served(t, secret())
	snowraftv1.RegisterIdServiceServer(s.local, greedy{})
	synctest.Test(t, func(t *testing.T) {
		c, _ := accepted(t, slots.NewBudget(1, 1, mib, conn.Price), nil)
		c.Charge(mib / 4)
		full := conn.With(t.Context(), c)
		began := time.Now()
		anonymous, _ := s.auth.Tokens.Authenticate(t.Context(), "")
		many := uint32(limits.Count)
		short := webBackend{redisBackend{kernel: s.kernel}}
		for name, call := range map[string]func(ctx context.Context) error{
			"GenerateIds": func(ctx context.Context) error {
				_, err := snowraftv1.NewIdServiceClient(s.local).GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: many})
				return err
			},
			"AppendIDs": func(ctx context.Context) error {
				_, err := short.AppendIDs(ctx, nil, nil, "", many)
				return err
			},
			"Next": func(ctx context.Context) error {
				_, _, err := short.Next(ctx, "orders", uint64(many))
				return err
			},
		} {
			err := call(trust.WithPrincipal(full, anonymous))
			if rpc.FromError(err).Reason != rpc.Unauthenticated || time.Since(began) > 0 {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
			if err := call(full); rpc.FromError(err).Reason != rpc.Unauthenticated {
				t.Errorf("%s without a caller: %v", name, err)
			}
		}
	})
}

// asking is a member whose GetStatus keeps what it saw.
type asking struct {
	snowraftv1.UnimplementedClusterServiceServer
	req    *snowraftv1.GetConfigRequest
	config *snowraftv1.Config
	ctx    context.Context
}

func (a *asking) GetConfig(ctx context.Context, req *snowraftv1.GetConfigRequest) (*snowraftv1.GetConfigResponse, error) {
	a.ctx, a.req = ctx, req
	return &snowraftv1.GetConfigResponse{Config: a.config}, nil
}

// A local call reaches the service with its caller, without the headers of the gateway, and shares no memory with it.
func TestLocalCall(t *testing.T) {
	t.Parallel()
	s := served(t, secret())
	service := &asking{config: &snowraftv1.Config{Generation: 7}}
	snowraftv1.RegisterClusterServiceServer(s.local, service)
	ctx := trust.WithAddress(trust.WithPrincipal(t.Context(), trust.Admin()), "10.0.0.1:4711")
	ctx = metadata.AppendToOutgoingContext(ctx, rpc.ForwardedFor, "7")
	req := &snowraftv1.GetConfigRequest{}
	resp, err := snowraftv1.NewClusterServiceClient(s.local).GetConfig(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.GetConfig(); got.GetGeneration() != 7 || got == service.config || service.req == req {
		t.Errorf("the answer %v or the request is the service's own", got)
	}
	if p := trust.PrincipalOf(service.ctx); p != trust.Admin() || Address(service.ctx) != "10.0.0.1:4711" {
		t.Errorf("the caller is %s at %s", p.Actor(), Address(service.ctx))
	}
	if headers, _ := metadata.FromOutgoingContext(service.ctx); len(headers) > 0 {
		t.Errorf("the call carries the headers %v", headers)
	}
	if _, err := snowraftv1.NewTokenServiceClient(s.local).ListTokens(ctx, &snowraftv1.ListTokensRequest{}); rpc.FromError(err).Reason != rpc.MethodNotAllowed {
		t.Errorf("a service that is not registered: %v", err)
	}
}

// counting is a member whose overviews end after some, or with an error.
type counting struct {
	snowraftv1.UnimplementedViewServiceServer
	most int
	end  error
}

func (c counting) WatchOverview(_ *snowraftv1.WatchOverviewRequest, stream grpc.ServerStreamingServer[snowraftv1.WatchOverviewResponse]) error {
	answer := &snowraftv1.WatchOverviewResponse{Overview: &snowraftv1.Overview{}}
	for i := range c.most {
		answer.Overview.ComposedAtMs = int64(i)
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
	return c.end
}

// A local watch is authorized. It ends with the service, its context, or its receiver.
func TestLocalWatches(t *testing.T) {
	t.Parallel()
	failure := rpc.NewError(rpc.ShuttingDown, "no more")
	for name, c := range map[string]struct {
		service counting
		caller  *trust.Principal
		reads   int // answers that the caller gets before it cancels
		want    func(error) bool
	}{
		"ends":     {counting{most: 2}, trust.Admin(), 2, func(err error) bool { return err == nil }},
		"fails":    {counting{most: 2, end: failure}, trust.Admin(), 2, func(err error) bool { return rpc.FromError(err).Reason == rpc.ShuttingDown }},
		"canceled": {counting{most: 1 << 30}, trust.Admin(), 3, func(err error) bool { return rpc.FromError(err).Code == codes.Canceled }},
		"stranger": {counting{most: 1}, nil, 0, func(err error) bool { return rpc.FromError(err).Reason == rpc.Unauthenticated }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := served(t, secret())
			snowraftv1.RegisterViewServiceServer(s.local, c.service)
			ctx, cancel := context.WithCancel(trust.WithPrincipal(t.Context(), c.caller))
			defer cancel()
			got := 0
			err := s.local.WatchOverview(ctx, func(o *snowraftv1.Overview) error {
				if o.GetComposedAtMs() != int64(got) {
					t.Errorf("overview %d: %v", got, o)
				}
				if got++; c.service.most > got && got == c.reads {
					cancel()
				}
				return nil
			})
			if !c.want(err) || got != c.reads {
				t.Errorf("the watch ended with %v after %d overviews", err, got)
			}
		})
	}
}
