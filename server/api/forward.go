package api

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// Serve is the interceptor of a member. It serves a call at this member, or forwards it to the leader if only the leader can
// serve it. It never forwards a forwarded call.
func (s *Services) Serve(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	rule := rpc.RuleOf(info.FullMethod)
	relayed := trust.RelayOf(ctx) != ""
	if rule.AtLeader() && rule.GetChanges() && !relayed {
		return s.withinRate(ctx, rule, req.(proto.Message), handler)
	}
	if relayed || !rule.AtLeader() {
		ctx, err := s.changing(ctx, rule)
		if err != nil {
			return nil, err
		}
		return handler(ctx, req)
	}
	return s.atLeader(ctx, info.FullMethod, req.(proto.Message), handler)
}

// withinRate serves a call that may write to the log, within the rate of its caller. The call costs one number, also if it is
// refused. A block costs its numbers, which are spent before it is granted: calls in flight together stay within the rate.
func (s *Services) withinRate(ctx context.Context, rule *rpc.Rule, req proto.Message, handler grpc.UnaryHandler) (any, error) {
	p := trust.PrincipalOf(ctx)
	spent := uint64(1)
	if block, ok := req.(*snowraftv1.AllocateBlockRequest); ok {
		if most := p.Burst(); block.GetCount() > most {
			if block.GetRequestId() != "" {
				return nil, wire.Invalid(fmt.Sprintf("block of %d numbers: the rate of the token allows at most %d at once", block.GetCount(), most))
			}
			block.Count = most
		}
		spent = max(spent, block.GetCount())
	}
	if err := p.Spend(spent); err != nil {
		return nil, err
	}
	used := uint64(1)
	defer func() { p.Refund(spent - used) }()
	reply, err := s.atLeader(ctx, rule.Method, req, handler)
	if err != nil {
		return nil, err
	}
	if block, ok := reply.(*snowraftv1.AllocateBlockResponse); ok {
		used = min(spent, max(used, block.GetBlock().GetCount()))
	}
	return reply, nil
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
