package api

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/trust"
)

// Serve is the interceptor of a member. It serves a call at this member, or forwards it to the leader if only the leader can
// serve it. It never forwards a forwarded call.
func (s *Services) Serve(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	rule := rpc.RuleOf(info.FullMethod)
	if trust.RelayOf(ctx) != "" || !rule.AtLeader() {
		ctx, err := s.changing(ctx, rule)
		if err != nil {
			return nil, err
		}
		return handler(ctx, req)
	}
	message := req.(proto.Message)
	return kernel.WithinRate(trust.PrincipalOf(ctx), rule, message, func() (any, error) { return s.atLeader(ctx, rule.Method, message, handler) })
}

// Accept rejects calls that a member of another cluster forwards: this member may now have the address of that cluster's leader.
func (s *Services) Accept(ctx context.Context, _ string) error {
	if trust.RelayOf(ctx) == "" {
		return nil
	}
	if into := metadata.ValueFromIncomingContext(ctx, rpc.ForwardedInto); len(into) > 0 && into[0] != s.Member.Node().ClusterID() {
		return rpc.NewError(rpc.OtherCluster, "the call was forwarded from another cluster")
	}
	return nil
}

// changing returns the context of a call of a method, with the caller as its actor if the method changes the cluster; see
// [member.Member.Acting]. A request for numbers has an actor only if it is proposed.
func (s *Services) changing(ctx context.Context, rule *rpc.Rule) (context.Context, error) {
	if rule == nil || !rule.GetChanges() || rule.GetWhere() == snowraftv1.MethodRule_WHERE_BY_MODE {
		return ctx, nil
	}
	return s.Member.Acting(ctx, rule.GetRight())
}

// askTimeout is the time that a member waits for the leader's answer to a call that it can answer itself, with less knowledge.
const askTimeout = time.Second

// askLeader returns the leader's answer to a call that changes nothing. If ok is false, this member answers: it leads, the call was
// forwarded, or no leader answers in time.
func askLeader[R proto.Message](ctx context.Context, s *Services, method string, req proto.Message) (reply R, ok bool) {
	node := s.Member.Node()
	leader, known := node.Leader()
	if trust.RelayOf(ctx) != "" || node.IsLeader() || !known || leader.ID == node.ID() {
		return reply, false
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	reply = rpc.RuleOf(method).Reply().(R)
	return reply, s.Invoker.Invoke(ctx, leader, method, req, reply) == nil
}

// atLeader serves a call with handler while this member leads, and otherwise forwards the call to the leader, under the rule of
// its method.
func (s *Services) atLeader(ctx context.Context, method string, req proto.Message, handler grpc.UnaryHandler) (reply any, err error) {
	rule := rpc.RuleOf(method)
	began, aged := time.Now(), rule.Hold(req)
	err = s.Router.AtLeader(ctx, rule.Harmless(req), func(ctx context.Context) (err error) {
		aged(time.Since(began))
		if ctx, err = s.changing(ctx, rule); err == nil {
			reply, err = handler(ctx, req)
		}
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

// lead is atLeader for a call that this member makes. here serves it while this member leads.
func lead[Req, Resp proto.Message](ctx context.Context, s *Services, method string, req Req, here func(context.Context, Req) (Resp, error)) (resp Resp, err error) {
	reply, err := s.atLeader(ctx, method, req, func(ctx context.Context, _ any) (any, error) { return here(ctx, req) })
	if err != nil {
		return resp, err
	}
	return reply.(Resp), nil
}
