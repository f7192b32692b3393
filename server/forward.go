package server

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
)

// leaderWait is how long a call waits for a leader.
const leaderWait = 2 * time.Second

// forward brings a leader-only call to the leader: this member serves it itself while
// it leads, and else forwards it. A call that was forwarded already is not forwarded again.
func (s *Server) forward(ctx context.Context, req any, method string, handler grpc.UnaryHandler) (any, error) {
	if forwarded(ctx) {
		return handler(ctx, req)
	}
	return s.atLeader(ctx, method, req.(proto.Message), handler)
}

// admit refuses calls that a member of another cluster forwards: its leader's address may
// have become this member's.
func (s *Server) admit(ctx context.Context) error {
	if into := metadata.ValueFromIncomingContext(ctx, rpc.ForwardedInto); len(into) > 0 && into[0] != s.ClusterID() {
		return &rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.OtherCluster, Message: "the call was forwarded from another cluster"}
	}
	return nil
}

// forwarded reports whether another member sends this call.
func forwarded(ctx context.Context) bool {
	return len(metadata.ValueFromIncomingContext(ctx, rpc.ForwardedBy)) > 0
}

// atLeader tries here, by handler, or at the leader until somebody answers as
// the leader.
func (s *Server) atLeader(ctx context.Context, method string, req proto.Message, handler grpc.UnaryHandler) (any, error) {
	rule := rpc.RuleOf(method)
	harmless := rule.Harmless(req)
	began, aged := time.Now(), rule.Hold(req)
	var reply any
	var o outcome
	err := s.hold(ctx, func() (err error) {
		aged(time.Since(began))
		reply, err = s.tryLeader(ctx, rule, req, harmless, handler)
		o.see(err)
		return err
	}, func(err error) bool { return retryable(err, harmless) })
	return reply, o.of(err)
}

// outcome is what the tries of one call tell of it.
type outcome struct{ unknown error } // of a try that may have been done

func (o *outcome) see(err error) {
	if reasonOf(err) == rpc.CommitUnknown {
		o.unknown = err
	}
}

// of is the error of the call, given that of its last try: that nobody leads now, or that the
// leader ends or is too busy, undoes nothing of what an earlier try may have done.
func (o *outcome) of(err error) error {
	if o.unknown != nil && turnedAway(err) {
		return o.unknown
	}
	return err
}

// turnedAway reports whether an error only says that a try was not made, and nothing of those before it.
func turnedAway(err error) bool {
	switch reasonOf(err) {
	case rpc.ShuttingDown, rpc.LimitReached, rpc.ClockSkew, rpc.ClockBehind:
		return true
	default:
		return foundNoLeader(err)
	}
}

// reasonOf is an error's reason, empty without an error.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return rpc.FromError(toStatus(err)).Reason
}

// foundNoLeader reports whether an error says that nobody was found who leads.
func foundNoLeader(err error) bool {
	switch reasonOf(err) {
	case rpc.NotLeader, rpc.NoLeader:
		return true
	default:
		return false
	}
}

// hold tries until there is no error that a leader would mend, for as long as calls
// wait for one.
func (s *Server) hold(ctx context.Context, try func() error, mends func(error) bool) error {
	until := time.Now().Add(leaderWait)
	for {
		changed := s.member.Node().LeaderChanged()
		err := try()
		if errors.Is(err, errReplaced) {
			until = time.Now().Add(leaderWait) // the time up to now was not spent without a leader
		}
		if err == nil || !mends(err) || time.Now().After(until) {
			return err
		}
		// Jitter, so that held calls do not all arrive at the new leader at once.
		pause := time.NewTimer(50*time.Millisecond + rand.N(50*time.Millisecond))
		select {
		case <-changed:
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
		if ctx.Err() != nil {
			return err
		}
	}
}

func (s *Server) tryLeader(ctx context.Context, rule *rpc.Rule, req proto.Message, harmless bool, handler grpc.UnaryHandler) (any, error) {
	node := s.member.Node()
	if node.IsLeader() {
		return handler(ctx, req)
	}
	leader, ok := node.Leader()
	if !ok || leader.ID == node.ID() {
		return nil, member.ErrNoLeader
	}
	conn, err := s.peers.conn(leader)
	if err != nil {
		return nil, err
	}
	if harmless {
		var cancel context.CancelFunc
		ctx, cancel = whileLeading(ctx, node, leader.ID)
		defer cancel()
	}
	reply := rule.Reply()
	if err := callLeader(ctx, conn, rule.Method, req, reply); err != nil {
		if errors.Is(context.Cause(ctx), errReplaced) {
			return nil, errReplaced
		}
		return nil, err
	}
	return reply, nil
}

// errReplaced is that another leader is known before the one that was asked has answered.
var errReplaced = &rpc.Error{
	Code: codes.Unknown, Reason: rpc.CommitUnknown,
	Message: "the leader was replaced before it answered, the outcome is unknown",
}

// leadership is what a [cluster.Node] knows of who leads.
type leadership interface {
	Leader() (cluster.Member, bool)
	LeaderChanged() <-chan struct{}
}

// whileLeading is ctx until another member than this is known to lead; then its cause is
// errReplaced. A leader that hangs, or whose answers do not get through, keeps nobody waiting
// for longer than the others need to replace it.
func whileLeading(ctx context.Context, of leadership, leaderID string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for ctx.Err() == nil {
			changed := of.LeaderChanged()
			if now, ok := of.Leader(); ok && now.ID != leaderID {
				cancel(errReplaced)
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// retryable reports whether a call may be tried again, given whether that is harmless.
func retryable(err error, harmless bool) bool {
	return foundNoLeader(err) || harmless && reasonOf(err) == rpc.CommitUnknown
}
