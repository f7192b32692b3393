package frontend

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// parking is a member whose GetConfig never answers.
type parking struct {
	snowraftv1.UnimplementedClusterServiceServer
}

func (parking) GetConfig(ctx context.Context, _ *snowraftv1.GetConfigRequest) (*snowraftv1.GetConfigResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (parking) GetStatus(context.Context, *snowraftv1.GetStatusRequest) (*snowraftv1.GetStatusResponse, error) {
	return &snowraftv1.GetStatusResponse{}, nil
}

func anyone(context.Context, *rpc.Rule, any) error { return nil }

// Callers without the right to a call are refused at once, even if authorized callers use all places and all memory.
func TestStrangersTakeNoPlacesOverHTTP(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := small(t, secret())
		l, err := s.budget.account(nil).take(t.Context(), maxAnswersOfOne)
		if err != nil {
			t.Fatal(err)
		}
		defer l.keep(0)
		half, err := s.budget.account(nil).take(t.Context(), maxAnswersOfOne)
		if err != nil {
			t.Fatal(err)
		}
		defer half.keep(0)
		defer s.inner.close()
		const method = snowraftv1.IdService_GenerateIds_FullMethodName
		k, err := s.inner.kind(method)
		if err != nil {
			t.Fatal(err)
		}
		for range maxUnderWay {
			k.places <- struct{}{}
		}
		began := time.Now()
		anonymous, _ := s.auth.Tokens.Authenticate(t.Context(), "")
		ctx := trust.WithPrincipal(t.Context(), anonymous)
		many := uint32(limits.Count)
		err = s.inner.Invoke(ctx, method, &snowraftv1.GenerateIdsRequest{Count: many}, &snowraftv1.GenerateIdsResponse{})
		if rpc.FromError(err).Reason != rpc.Unauthenticated || time.Since(began) > 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		short := webBackend{redisBackend{issuer: s.Issuer(nil), server: s}, s.budget}
		_, err = short.AppendIDs(ctx, nil, nil, "", many)
		if rpc.FromError(err).Reason != rpc.Unauthenticated || time.Since(began) > 0 {
			t.Errorf("AppendIDs: %v after %v", err, time.Since(began))
		}
		_, _, err = short.Next(ctx, "orders", uint64(many))
		if rpc.FromError(err).Reason != rpc.Unauthenticated || time.Since(began) > 0 {
			t.Errorf("Next: %v after %v", err, time.Since(began))
		}
	})
}

// Waiting calls leave room for calls of other kinds, and their own number is bounded.
func TestInProcessKindsAreApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newInProcess(newBudget(maxAnswers, maxAnswersOfOne), anyone)
		g := grpc.NewServer(grpc.MaxConcurrentStreams(maxUnderWay))
		snowraftv1.RegisterClusterServiceServer(g, parking{})
		go func() { _ = g.Serve(p.listener) }()
		client := snowraftv1.NewClusterServiceClient(p)
		park := func(ctx context.Context) *rpc.Error {
			_, err := client.GetConfig(ctx, &snowraftv1.GetConfigRequest{})
			return rpc.FromError(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan *rpc.Error, maxUnderWay)
		for range maxUnderWay {
			go func() { ended <- park(ctx) }()
		}
		synctest.Wait()

		began := time.Now()
		if _, err := client.GetStatus(t.Context(), &snowraftv1.GetStatusRequest{}); err != nil || time.Since(began) > 0 {
			t.Errorf("a call of another kind: %v after %v", err, time.Since(began))
		}
		e := park(t.Context())
		if e.Code != codes.ResourceExhausted || e.Reason != rpc.Overloaded || e.RetryAfter <= 0 || time.Since(began) != placeWait {
			t.Errorf("call beyond the limit: %+v after %v", e, time.Since(began))
		}
		short, stop := context.WithTimeout(t.Context(), placeWait/2)
		defer stop()
		if e := park(short); e.Code == codes.ResourceExhausted || short.Err() == nil {
			t.Errorf("canceled call beyond the limit: %+v", e)
		}

		// A waiting caller gets the next free place.
		waiting := make(chan *rpc.Error)
		go func() { waiting <- park(t.Context()) }()
		synctest.Wait()
		cancel()
		for range maxUnderWay {
			<-ended
		}
		<-time.After(2 * placeWait)
		select {
		case e := <-waiting:
			t.Errorf("the waiting call was refused: %+v", e)
		default:
		}
		p.close()
		if e := <-waiting; e.Code == codes.OK {
			t.Error("a call outlived its connection")
		}
		if _, err := client.ListMembers(t.Context(), &snowraftv1.ListMembersRequest{}); rpc.FromError(err).Reason != rpc.ShuttingDown {
			t.Errorf("after the end: %v", err)
		}
		g.Stop()
	})
}

// endless is a member with endless overviews.
type endless struct {
	snowraftv1.UnimplementedViewServiceServer
}

func (endless) WatchOverview(_ *snowraftv1.WatchOverviewRequest, stream grpc.ServerStreamingServer[snowraftv1.WatchOverviewResponse]) error {
	for {
		if err := stream.Send(&snowraftv1.WatchOverviewResponse{}); err != nil {
			return err
		}
	}
}

// A stream over HTTP is authorized. Its place and its caller are released once its context ends.
func TestInProcessStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := rpc.NewError(rpc.Unauthenticated, "no token")
		var verdict error
		p := newInProcess(newBudget(maxAnswers, maxAnswersOfOne), func(_ context.Context, rule *rpc.Rule, _ any) error {
			if rule.GetRight() != trust.RightReadCluster {
				t.Errorf("judged by %v", rule)
			}
			return verdict
		})
		g := grpc.NewServer()
		snowraftv1.RegisterViewServiceServer(g, endless{})
		go func() { _ = g.Serve(p.listener) }()
		defer g.Stop()
		defer p.close()
		client := snowraftv1.NewViewServiceClient(p)
		ctx, cancel := context.WithCancel(trust.WithPrincipal(t.Context(), trust.Admin()))
		stream, err := client.WatchOverview(ctx, &snowraftv1.WatchOverviewRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := stream.Recv(); err != nil {
				t.Fatal(err)
			}
		}
		k, err := p.kind(snowraftv1.ViewService_WatchOverview_FullMethodName)
		if err != nil || len(k.places) != 1 || len(p.crossing.callers) != 1 {
			t.Errorf("%d places, %d callers, %v of an open stream", len(k.places), len(p.crossing.callers), err)
		}
		cancel()
		synctest.Wait()
		if len(k.places) != 0 || len(p.crossing.callers) != 0 {
			t.Errorf("%d places, %d callers after the stream", len(k.places), len(p.crossing.callers))
		}
		verdict = refused
		if _, err := client.WatchOverview(t.Context(), &snowraftv1.WatchOverviewRequest{}); rpc.FromError(err).Reason != rpc.Unauthenticated {
			t.Errorf("a stranger watches: %v", err)
		}
		if len(k.places) != 0 {
			t.Error("a stranger has a place")
		}
	})
}
