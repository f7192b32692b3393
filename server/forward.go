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
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// leaderWait is how long a call waits for a leader.
const leaderWait = 2 * time.Second

// leaderCall is a call that only the leader serves.
type leaderCall struct {
	reply func() proto.Message
	// repeatable calls do the same when they are done twice, so that one whose
	// outcome is unknown may be tried again.
	repeatable bool
	// prepare, if not nil, makes a request ready to be tried again and again;
	// the function it returns is called before each try.
	prepare func(s *Server, req proto.Message) (again func(), err error)
}

// of is the call with a certain request: what is created by force would, the second time, go
// over what was deleted in between.
func (c leaderCall) of(req proto.Message) leaderCall {
	if create, ok := req.(*snowraftv1.CreateSequenceRequest); ok && create.GetForce() {
		c.repeatable = false
	}
	return c
}

// ageing keeps the caller's clock in a request going while the request is held.
func ageing(_ *Server, req proto.Message) (func(), error) {
	began := time.Now()
	aged := func(now int64) int64 { return now + time.Since(began).Milliseconds() }
	switch r := req.(type) {
	case *snowraftv1.AcquireWorkerRequest:
		now := r.GetNowMs()
		return func() { r.NowMs = aged(now) }, nil
	case *snowraftv1.ExtendWindowRequest:
		now := r.GetNowMs()
		return func() { r.NowMs = aged(now) }, nil
	}
	return func() {}, nil
}

// byID settles which member is meant, so that a repetition means the same one
// and is recognized when the first try removed it.
func byID(s *Server, req proto.Message) (func(), error) {
	if r, ok := req.(*snowraftv1.RemoveMemberRequest); ok && !s.member.IsRemoved(r.GetMember()) {
		m, err := s.member.Node().Member(r.GetMember())
		switch {
		case err == nil:
			r.Member = m.ID
		case !errors.Is(err, cluster.ErrUnknownMember):
			return nil, err
		}
		// Whom this member does not know may be removed already: the leader knows.
	}
	return func() {}, nil
}

func replies[T any, M interface {
	*T
	proto.Message
}]() func() proto.Message {
	return func() proto.Message { return M(new(T)) }
}

var leaderCalls = map[string]leaderCall{
	snowraftv1.IdService_WhoIs_FullMethodName:             {replies[snowraftv1.WhoIsResponse](), true, nil},
	snowraftv1.LayoutService_CreateLayout_FullMethodName:  {replies[snowraftv1.CreateLayoutResponse](), true, nil},
	snowraftv1.WorkerService_AcquireWorker_FullMethodName: {replies[snowraftv1.AcquireWorkerResponse](), false, ageing},
	snowraftv1.WorkerService_ExtendWindow_FullMethodName:  {replies[snowraftv1.ExtendWindowResponse](), false, ageing},
	snowraftv1.WorkerService_ReleaseWorker_FullMethodName: {replies[snowraftv1.ReleaseWorkerResponse](), false, nil},
	snowraftv1.WorkerService_ListWorkers_FullMethodName:   {replies[snowraftv1.ListWorkersResponse](), true, nil},
	// Updates and deletions are not repeated, nor creations by force: what was done in between
	// would be undone.
	snowraftv1.SequenceService_CreateSequence_FullMethodName:    {replies[snowraftv1.CreateSequenceResponse](), true, nil},
	snowraftv1.SequenceService_UpdateSequence_FullMethodName:    {replies[snowraftv1.UpdateSequenceResponse](), false, nil},
	snowraftv1.SequenceService_DeleteSequence_FullMethodName:    {replies[snowraftv1.DeleteSequenceResponse](), false, nil},
	snowraftv1.SequenceService_SetNext_FullMethodName:           {replies[snowraftv1.SetNextResponse](), false, nil},
	snowraftv1.SequenceService_AllocateBlock_FullMethodName:     {replies[snowraftv1.AllocateBlockResponse](), true, nil},
	snowraftv1.SequenceService_ReturnBlock_FullMethodName:       {replies[snowraftv1.ReturnBlockResponse](), false, nil},
	snowraftv1.ClusterService_RemoveMember_FullMethodName:       {replies[snowraftv1.RemoveMemberResponse](), true, byID},
	snowraftv1.ClusterService_TransferLeadership_FullMethodName: {replies[snowraftv1.TransferLeadershipResponse](), false, nil},
	snowraftv1.ClusterService_UpdateConfig_FullMethodName:       {replies[snowraftv1.UpdateConfigResponse](), true, nil},
	snowraftv1.ClusterService_ResetObservedClock_FullMethodName: {replies[snowraftv1.ResetObservedClockResponse](), true, nil},
}

// forward brings a leader-only call to the leader: this member serves it itself while
// it leads, and else forwards it. A call that was forwarded already is not forwarded again.
func (s *Server) forward(ctx context.Context, req any, method string, call leaderCall, handler grpc.UnaryHandler) (any, error) {
	if forwarded(ctx) {
		return handler(ctx, req)
	}
	return s.atLeader(ctx, method, req.(proto.Message), call, handler)
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
func (s *Server) atLeader(ctx context.Context, method string, req proto.Message, call leaderCall, handler grpc.UnaryHandler) (any, error) {
	call = call.of(req)
	again := func() {}
	if call.prepare != nil {
		var err error
		if again, err = call.prepare(s, req); err != nil {
			return nil, err
		}
	}
	var reply any
	var o outcome
	err := s.hold(ctx, func() (err error) {
		again()
		reply, err = s.tryLeader(ctx, method, req, call, handler)
		o.see(err)
		return err
	}, func(err error) bool { return s.retryable(err, call) })
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

func (s *Server) tryLeader(ctx context.Context, method string, req proto.Message, call leaderCall, handler grpc.UnaryHandler) (any, error) {
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
	if call.repeatable {
		var cancel context.CancelFunc
		ctx, cancel = whileLeading(ctx, node, leader.ID)
		defer cancel()
	}
	reply := call.reply()
	if err := callLeader(ctx, conn, method, req, reply); err != nil {
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

// retryable reports whether a call may be tried again.
func (s *Server) retryable(err error, call leaderCall) bool {
	return foundNoLeader(err) || call.repeatable && reasonOf(err) == rpc.CommitUnknown
}
