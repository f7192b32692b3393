package api

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/rpc"
)

// Serve is the interceptor of a member: it serves a call here, or at the leader if only the leader
// can. A call that was forwarded already is not forwarded again.
func (s *Services) Serve(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := s.admit(ctx); err != nil {
		return nil, err
	}
	if forwarded(ctx) || !rpc.RuleOf(info.FullMethod).AtLeader() {
		return handler(ctx, req)
	}
	return s.atLeader(ctx, info.FullMethod, req.(proto.Message), handler)
}

// admit refuses calls that a member of another cluster forwards: its leader's address may
// have become this member's.
func (s *Services) admit(ctx context.Context) error {
	if into := metadata.ValueFromIncomingContext(ctx, rpc.ForwardedInto); len(into) > 0 && into[0] != s.Member.Node().ClusterID() {
		return rpc.NewError(rpc.OtherCluster, "the call was forwarded from another cluster")
	}
	return nil
}

// forwarded reports whether another member sends this call.
func forwarded(ctx context.Context) bool {
	return len(metadata.ValueFromIncomingContext(ctx, rpc.ForwardedBy)) > 0
}

// atLeader serves a call by handler while this member leads, and else forwards it, by the rule of
// its method.
func (s *Services) atLeader(ctx context.Context, method string, req proto.Message, handler grpc.UnaryHandler) (reply any, err error) {
	rule := rpc.RuleOf(method)
	began, aged := time.Now(), rule.Hold(req)
	err = s.Router.AtLeader(ctx, rule.Harmless(req), func(ctx context.Context) (err error) {
		aged(time.Since(began))
		reply, err = handler(ctx, req)
		return err
	}, func(ctx context.Context, leader cluster.Member) error {
		aged(time.Since(began))
		there := rule.Reply()
		reply = there
		return s.Invoker.Invoke(ctx, leader, method, req, there)
	})
	if err != nil {
		return nil, err
	}
	return reply, nil
}
