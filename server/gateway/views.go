package gateway

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/overview"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
)

const (
	// viewWait is the time after which a member counts as silent if it has not sent an overview, or the next overview.
	viewWait = 2 * time.Second
	// viewPause is the pause between two attempts to watch a member.
	viewPause = 500 * time.Millisecond
)

// views serves the overviews of a member that answers. If no member answers, it serves an overview that says so.
type views struct {
	snowraftv1.UnimplementedViewServiceServer
	*members
	now     clock.Source
	watches atomic.Int64
	closing context.Context // ends when the gateway shuts down
}

// GetOverview implements snowraftv1.ViewServiceServer.
func (v *views) GetOverview(ctx context.Context, req *snowraftv1.GetOverviewRequest) (*snowraftv1.GetOverviewResponse, error) {
	soon, cancel := context.WithTimeout(ctx, viewWait)
	defer cancel()
	resp := new(snowraftv1.GetOverviewResponse)
	err := v.ask(soon, snowraftv1.ViewService_GetOverview_FullMethodName, req, resp)
	if err == nil || !silent(err) || ctx.Err() != nil {
		return resp, err
	}
	now := v.now().Wall
	return &snowraftv1.GetOverviewResponse{Overview: overview.Unreachable(v.name, now, now, whySilent(err), nil)}, nil
}

// WatchOverview implements snowraftv1.ViewServiceServer. It watches another member when the present member falls silent.
func (v *views) WatchOverview(req *snowraftv1.WatchOverviewRequest, stream grpc.ServerStreamingServer[snowraftv1.WatchOverviewResponse]) error {
	defer v.watches.Add(-1)
	if v.watches.Add(1) > overview.MaxWatches {
		return overview.TooMany()
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	var last *snowraftv1.Overview // last overview of a member; nil for none
	var heard int64               // time of last on the monotonic clock
	retried := false              // one retry without a pause happened since the last overview
	asked := v.now().Wall
	for {
		began := v.now().Mono
		err := v.relay(ctx, req, func(o *snowraftv1.Overview) error {
			last, heard, retried = o, v.now().Mono, false
			return stream.Send(&snowraftv1.WatchOverviewResponse{Overview: o})
		})
		switch {
		case stream.Context().Err() != nil:
			return stream.Context().Err()
		case v.closing.Err() != nil:
			return wire.ShuttingDown()
		case !silent(err):
			return err
		case last != nil && !retried && v.now().Mono-began >= viewPause.Milliseconds(): // another member may answer at once
			retried = true
			continue
		}
		now, since := v.now().Wall, asked
		if last != nil { // the members' clocks are correct
			now, since = last.GetComposedAtMs()+v.now().Mono-heard, last.GetComposedAtMs()
		}
		if err := stream.Send(&snowraftv1.WatchOverviewResponse{Overview: overview.Unreachable(v.name, now, since, whySilent(err), last)}); err != nil {
			return err
		}
		pause := time.NewTimer(viewPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
		case <-v.closing.Done():
			return wire.ShuttingDown()
		}
	}
}

// relay forwards the overviews of one member until the member falls silent.
func (v *views) relay(ctx context.Context, req *snowraftv1.WatchOverviewRequest, send func(*snowraftv1.Overview) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(viewWait, func() { cancel(errSilent) })
	defer silence.Stop()
	defer context.AfterFunc(v.closing, func() { cancel(wire.ShuttingDown()) })()
	stream, err := snowraftv1.NewViewServiceClient(v.conn).WatchOverview(v.onBehalf(ctx), req)
	for err == nil {
		var resp *snowraftv1.WatchOverviewResponse
		if resp, err = stream.Recv(); err == nil {
			silence.Reset(viewWait)
			err = send(resp.GetOverview())
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return answered(err)
}

// whySilent returns an error for people that says why no member answers. It replaces gRPC's errors about broken streams, which
// only readers who know gRPC understand.
func whySilent(err error) error {
	switch e := rpc.FromError(err); {
	case e.Reason != "":
		plain := *e
		plain.Message = strings.TrimPrefix(e.Message, "snowraft: ") // prefix of the client's errors
		return &plain
	case errors.Is(err, context.DeadlineExceeded) || e.Code == codes.DeadlineExceeded:
		return errSilent
	default:
		return rpc.NewError(rpc.NoLeader, "the connection to the member broke")
	}
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
