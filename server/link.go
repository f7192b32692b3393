package server

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/wire"
)

// link is a connection to another member. It turns the errors of calls into errors of the domain. Its stats handler is sending.
type link struct {
	*grpc.ClientConn
	host uint64 // see [cluster.Member]
}

// Invoke calls a method. If the connection cannot be made, nothing was done and the error is that of a missing leader. If the
// connection breaks after the call was sent, the error says that the outcome is unknown.
func (l link) Invoke(ctx context.Context, method string, req, reply any, opts ...grpc.CallOption) error {
	var sent atomic.Bool
	err := l.ClientConn.Invoke(context.WithValue(ctx, sentKey{}, &sent), method, req, reply, opts...)
	if err == nil {
		return nil
	}
	return linkError(err, sent.Load())
}

// linkError returns the error of the domain for a failed request. sent reports whether the request was sent.
func linkError(err error, sent bool) error {
	switch e := wire.FromMember(err); {
	case e.Code == codes.Unimplemented && e.Reason == "":
		return rpc.NewError(rpc.VersionTooLow, "another member's program is too old for this call; upgrade all members, see \"snowraft upgrade\"")
	case e.Code != codes.Unavailable || e.Reason != "":
		return e
	case !sent:
		unsent := rpc.NewError(rpc.NoLeader, "the leader cannot be reached, nothing was sent: "+rpc.Network(e.Message))
		unsent.Cause = member.ErrNoLeader
		return unsent
	default:
		return brokenLink(rpc.Network(e.Message))
	}
}

// brokenLink returns the error of a request that the leader may have served.
func brokenLink(why string) error {
	unknown := rpc.NewError(rpc.CommitUnknown, "the connection to the leader broke, the outcome is unknown: "+why)
	unknown.Cause = cluster.ErrUnknownOutcome
	return unknown
}

// sending notes which calls on a connection were sent. gRPC reports OutHeader when it passes the headers, which come first, to
// the connection. Before that moment no member can have received the call. The code of an error does not distinguish the two
// cases: it is UNAVAILABLE before and after.
type sending struct{}

type sentKey struct{}

// TagRPC implements stats.Handler.
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
