package gateway

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/overview"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
)

const (
	// viewWait is the time after which a member counts as silent if it has not sent an overview, or the next overview.
	viewWait = 2 * time.Second
	// viewPause is the pause before another member is watched. It leaves time to notice that a connection has broken.
	viewPause = 50 * time.Millisecond
)

// views serves the overviews of a member that answers.
type views struct {
	snowraftv1.UnimplementedViewServiceServer
	*members
	watches atomic.Int64
	closing context.Context // ends when the gateway shuts down
}

// WatchOverview implements snowraftv1.ViewServiceServer. It watches another member when the present member falls silent, and fails
// if no member sends anything for viewWait after that.
func (v *views) WatchOverview(req *snowraftv1.WatchOverviewRequest, stream grpc.ServerStreamingServer[snowraftv1.WatchOverviewResponse]) error {
	defer v.watches.Add(-1)
	if v.watches.Add(1) > overview.MaxWatches {
		return overview.TooMany()
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	defer context.AfterFunc(v.closing, func() { cancel(wire.ShuttingDown()) })()
	noMember := time.NewTimer(viewWait)
	defer noMember.Stop()
	for {
		heard := false
		err := v.relay(ctx, req, func(resp *snowraftv1.WatchOverviewResponse) error {
			heard = true
			return stream.Send(resp)
		})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !silent(err):
			return err
		case heard:
			noMember.Reset(viewWait)
		}
		select {
		case <-noMember.C:
			return rpc.NewError(rpc.NoLeader, "no member answers gateway "+v.name+"; check the members, and the network to the addresses in --members")
		case <-time.After(viewPause):
		case <-ctx.Done():
		}
	}
}

// relay forwards the overviews of one member until the member falls silent.
func (v *views) relay(ctx context.Context, req *snowraftv1.WatchOverviewRequest, send func(*snowraftv1.WatchOverviewResponse) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(viewWait, func() { cancel(errSilent) })
	defer idle.Stop()
	stream, err := snowraftv1.NewViewServiceClient(v.conn).WatchOverview(v.onBehalf(ctx), req)
	for err == nil {
		var resp *snowraftv1.WatchOverviewResponse
		if resp, err = stream.Recv(); err == nil {
			idle.Reset(viewWait)
			err = send(resp)
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return answered(err)
}

// errSilent is the error of a member that sends no overviews.
var errSilent = rpc.NewError(rpc.NoLeader, "the member sends nothing")

// silent reports whether an error means that no member answers or that the member shuts down. Other errors are answers of a
// member.
func silent(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	code := rpc.FromError(err).Code
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}
