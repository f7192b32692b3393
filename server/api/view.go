package api

import (
	"context"
	"errors"
	"strings"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/overview"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

type views struct {
	snowraftv1.UnimplementedViewServiceServer
	*Services
}

// GetOverview implements snowraftv1.ViewServiceServer.
func (v views) GetOverview(ctx context.Context, _ *snowraftv1.GetOverviewRequest) (*snowraftv1.GetOverviewResponse, error) {
	o, err := v.views.Get(ctx)
	if err != nil {
		return nil, closing(err)
	}
	return &snowraftv1.GetOverviewResponse{Overview: o}, nil
}

// WatchOverview implements snowraftv1.ViewServiceServer. It checks the right of the caller again before each overview, because
// a token may lose its scope while the stream is open.
func (v views) WatchOverview(_ *snowraftv1.WatchOverviewRequest, stream grpc.ServerStreamingServer[snowraftv1.WatchOverviewResponse]) error {
	ctx := stream.Context()
	watch, err := v.views.Watch()
	if err != nil {
		return closing(err)
	}
	defer watch.Close()
	for {
		o, err := watch.Next(ctx)
		if err == nil {
			err = trust.PrincipalOf(ctx).Authorize(trust.RightReadCluster, "")
		}
		if err == nil {
			err = stream.Send(&snowraftv1.WatchOverviewResponse{Overview: o})
		}
		if err != nil {
			return closing(err)
		}
	}
}

// closing returns err, or ShuttingDown if err means that the hub of overviews is closed.
func closing(err error) error {
	if errors.Is(err, overview.ErrClosed) {
		return wire.ShuttingDown()
	}
	return err
}

// outlook implements [overview.Source].
type outlook struct{ *Services }

// Status implements overview.Source.
func (o outlook) Status() *snowraftv1.GetStatusResponse {
	s, _ := (&clusterService{Services: o.Services}).GetStatus(context.Background(), nil) // never fails
	return s
}

// Members implements overview.Source.
func (o outlook) Members() []*snowraftv1.Member {
	var all []*snowraftv1.Member
	for _, m := range o.Member.Node().Members() {
		all = append(all, memberMessage(m))
	}
	return all
}

// Ask implements overview.Source. The member makes the call with its own rights, once for all watching clients. The right of
// each client was checked before.
func (o outlook) Ask(ctx context.Context, m *snowraftv1.Member) (*snowraftv1.GetStatusResponse, error) {
	ctx = trust.WithPrincipal(ctx, trust.Member(o.Member.Node().ID()))
	reply := new(snowraftv1.GetStatusResponse)
	err := o.Invoker.Invoke(ctx, cluster.Member{ID: m.GetId(), API: m.GetApiAddress()},
		snowraftv1.ClusterService_GetStatus_FullMethodName, &snowraftv1.GetStatusRequest{}, reply)
	e := rpc.FromError(err)
	switch unavailable := e.Code == codes.Unavailable; {
	case e.Reason == rpc.OtherCluster, unavailable && strings.Contains(err.Error(), trust.ErrOtherMember.Error()): // gRPC passes on the text only
		err = overview.ErrReplaced
	case unavailable && o.refuses(ctx, m.GetApiAddress()):
		err = overview.ErrRefused
	}
	return reply, err
}

// refuses reports whether an address refuses connections. The error of a call is not reliable for that: the exit of the process
// may have interrupted the call.
func (o outlook) refuses(ctx context.Context, address string) bool {
	conn, err := o.Dial(ctx, "tcp", address)
	if err == nil {
		_ = conn.Close() // nothing was sent
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
