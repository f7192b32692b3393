package server

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"

	"github.com/snowraft/snowraft/internal/rpc"
)

// sending tells which calls on a connection were sent. gRPC says so when it hands the headers,
// which are the first of a call, to the connection: what it says nothing of nobody can have
// received. The code of an error does not tell: it is UNAVAILABLE before and after.
type sending struct{}

type sentKey struct{}

// TagRPC implements stats.Handler, as all of these.
func (sending) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC notes that a call is sent.
func (sending) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.OutHeader); !ok {
		return
	}
	if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
		sent.Store(true)
	}
}

// TagConn does nothing.
func (sending) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (sending) HandleConn(context.Context, stats.ConnStats) {}

// callLeader makes a call on a connection that has the handler sending. If the connection can't
// be made nothing was done, which is as if nobody led; if it breaks, that is not known.
func callLeader(ctx context.Context, conn grpc.ClientConnInterface, method string, req, reply any) error {
	var sent atomic.Bool
	err := conn.Invoke(context.WithValue(ctx, sentKey{}, &sent), method, req, reply)
	if err == nil {
		return nil
	}
	switch e := rpc.FromError(err); {
	case e.Code != codes.Unavailable || e.Reason != "":
		return err
	case !sent.Load():
		return &rpc.Error{
			Code: codes.Unavailable, Reason: rpc.NoLeader, RetryAfter: rpc.RetrySoon,
			Message: "the leader can't be reached, nothing was sent to it: " + e.Message,
		}
	default: // the leader may have done it
		return &rpc.Error{
			Code: codes.Unknown, Reason: rpc.CommitUnknown,
			Message: "the connection to the leader broke, the outcome is unknown: " + e.Message,
		}
	}
}
