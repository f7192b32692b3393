package frontend

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
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

// Calls that wait leave room for those that don't, and there are only so many of them.
func TestInProcessKindsAreApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newInProcess(newBudget(maxAnswers, maxAnswersOfOne))
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
			t.Errorf("one too many: %+v after %v", e, time.Since(began))
		}
		short, stop := context.WithTimeout(t.Context(), placeWait/2)
		defer stop()
		if e := park(short); e.Code == codes.ResourceExhausted || short.Err() == nil {
			t.Errorf("one too many that left: %+v", e)
		}

		// Who waits for a place gets one that gets free.
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
			t.Errorf("it got a place and was refused: %+v", e)
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
