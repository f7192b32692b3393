package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// A generator whose token may not lease workers, or not read the layout, says so at once, with the scope that is missing.
func TestGeneratorWithoutScope(t *testing.T) {
	t.Parallel()
	for method, refusal := range map[string]*rpc.Error{
		"/AcquireWorker": rpc.NewError(rpc.PermissionDenied, "token 7 lacks the scope worker:lease:default"),
		"/GetLayout":     rpc.NewError(rpc.Unauthenticated, "token 7 is unknown"),
	} {
		synctest.Test(t, func(t *testing.T) {
			<-time.After(time.Until(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC))) // the bubble begins before the layout's epoch
			answer := func(_ context.Context, called string, _, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
				switch {
				case strings.HasSuffix(called, method):
					return refusal.GRPCStatus().Err()
				case strings.HasSuffix(called, "/GetLayout"):
					proto.Merge(reply.(proto.Message), &snowraftv1.GetLayoutResponse{Layout: rpc.Layout(snowflake.Default().Spec())})
					return nil
				}
				return rpc.NewError(rpc.NoLeader, "nothing else answers").GRPCStatus().Err()
			}
			c := newApplication(t, []string{"127.0.0.1:1"}, client.WithDialOptions(grpc.WithChainUnaryInterceptor(answer)))
			g := embed(t, c)
			synctest.Wait()
			began := time.Now()
			_, err := g.Next(t.Context())
			if e := rpc.FromError(err); e.Reason != refusal.Reason || !strings.Contains(err.Error(), refusal.Message) || strings.Contains(err.Error(), "quorum") {
				t.Errorf("%s: %v", method, err)
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("%s: failed after %v", method, took)
			}
			if err := g.WaitReady(t.Context()); time.Since(began) != 0 || (!errors.Is(err, client.ErrPermissionDenied) && !errors.Is(err, client.ErrUnauthenticated)) {
				t.Errorf("%s: WaitReady() = %v after %v", method, err, time.Since(began))
			}
		})
	}
}
